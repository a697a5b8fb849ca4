// What the pages share: making elements, asking the API, words about time, and dialogs. All text becomes DOM through textContent.
"use strict";
const kit = (() => {
  // Every sentence of this file, ready to be translated.
  const W = {
    inS: n => `in ${n} s`, inMin: n => `in ${n} min`, overdue: "any moment now", odd: "unusual letters in this address",
    failed: "That did not reach the bot. Check that it still runs, then try again.", big: "This is too large: something before the bot did not let it through.", cancel: "Cancel", close: "Close", copy: "Copy", copied: "Copied", table: "Table", nothing: "There is nothing to show.",
    offline: "Reconnecting…", gone: "Your session has ended. Reload this page to sign in.",
  };
  let skew = 0; // how far the server's clock is ahead

  // --- small tools ---
  function el(tag, props, ...kids) {
    const e = document.createElement(tag);
    for (const [k, v] of Object.entries(props || {})) {
      if (v === undefined || v === null || v === false) continue;
      if (k === "class") e.className = v;
      else if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
      else e.setAttribute(k, v === true ? "" : v);
    }
    e.append(...kids.flat(Infinity).filter(k => k !== null && k !== undefined && k !== ""));
    return e;
  }
  // api asks for something. data is a file, or becomes JSON. What it throws has words for the person, also where nod itself answered nothing.
  async function api(method, path, data) {
    const [kind, body] = data instanceof Blob ? ["application/octet-stream", data] : ["application/json", JSON.stringify(data)];
    let res;
    try {
      res = await fetch("/api/v1" + path, { method, headers: data ? { "Content-Type": kind } : {}, body, redirect: "manual" });
    } catch { throw { code: "offline", message: W.failed }; }
    const status = res.type === "opaqueredirect" ? 401 : res.status; // nod leads nowhere: a proxy does, to where one signs in
    let out = {};
    try { out = await res.json(); } catch { /* said below */ }
    if (!res.ok) throw { status, code: "failed", message: status === 413 ? W.big : W.failed, ...out.error, ...(status === 401 && { message: W.gone }) };
    return out;
  }
  // Without HTTP/2 a browser has six connections to us for all its tabs, and each stream keeps one.
  const tabs = window.BroadcastChannel && performance.getEntriesByType("navigation")[0]?.nextHopProtocol === "http/1.1" ? new BroadcastChannel("streams") : null, tab = randomId();
  // follow hears a stream of events, from its path by the last event's id, until it is closed. on has what hears each; say tells the person how the
  // connection is. An EventSource comes back by itself when it is cut off, but not when it is refused, as a proxy does while a replica starts. A tab
  // that nobody looks at rests once four others were used since.
  function follow(path, on, say) {
    let source = null, again = 0, tries = 0, last = "";
    const later = new Set(), over = new AbortController();
    function used() { later.clear(); if (tabs) tabs.postMessage(tab); }
    function rest() { clearTimeout(again); if (source) source.close(); source = null; }
    function begin() {
      used();
      rest();
      source = new EventSource("/api/v1" + path(last));
      source.onopen = () => { tries = 0; say(""); };
      source.onerror = async () => {
        say(W.offline);
        if (source.readyState !== EventSource.CLOSED) return;
        const refused = source, err = await api("HEAD", path(last)).catch(err => err);
        if (refused !== source) return; // it rests, or began anew
        if (err && err.status === 401) say(W.gone);
        else again = setTimeout(begin, Math.min(30000, 1000 * 2 ** tries++));
      };
      for (const [name, hear] of Object.entries(on)) source.addEventListener(name, e => { last = e.lastEventId || last; hear(e); });
    }
    if (tabs) tabs.addEventListener("message", e => { if (later.add(e.data).size >= 4 && document.hidden) rest(); }, { signal: over.signal });
    document.addEventListener("visibilitychange", () => { if (!document.hidden) source && source.readyState !== EventSource.CLOSED ? used() : begin(); }, { signal: over.signal });
    begin();
    return { close() { over.abort(); rest(); } };
  }
  function randomId() { return Array.from(crypto.getRandomValues(new Uint8Array(16)), b => b.toString(16).padStart(2, "0")).join(""); }
  // --- time ---
  const now = () => Date.now() + skew;
  function timeText(at, until) {
    const d = new Date(at), left = Math.ceil((d - now()) / 1000);
    const sameDay = d.toDateString() === new Date().toDateString();
    const clock = d.toLocaleString([], sameDay ? { hour: "2-digit", minute: "2-digit" } : { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
    return !until || left >= 5400 ? clock : `${clock} (${left <= 0 ? W.overdue : left < 100 ? W.inS(left) : W.inMin(Math.round(left / 60))})`;
  }
  setInterval(() => {
    for (const t of document.querySelectorAll("time[data-until]")) {
      const s = timeText(t.dateTime, true);
      if (t.textContent !== s) t.textContent = s;
    }
  }, 1000);

  // --- pieces ---
  function spans(line) {
    return (line || []).map(s => {
      if (s.strong) return el("strong", {}, s.strong);
      if (s.person) return el("span", { class: "person", title: s.user }, s.person);
      if (s.time) return el("time", { datetime: s.time, "data-until": s.until, title: new Date(s.time).toLocaleString() }, timeText(s.time, s.until));
      return s.text || "";
    });
  }
  // copier is a button that copies what text gives. Without TLS a browser lets no page write to the clipboard.
  function copier(text, about) {
    if (!navigator.clipboard) return null;
    const b = el("button", { type: "button", class: "quiet copy", "aria-label": about || null, onclick: async () => {
      try { await navigator.clipboard.writeText(text()); } catch { return; }
      b.textContent = W.copied;
      setTimeout(() => { b.textContent = W.copy; }, 2000);
    } }, W.copy);
    return b;
  }
  function codeBlock(text, lang) {
    return el("div", { class: "codeblock", dir: "ltr" }, el("div", { class: "codebar" }, el("span", {}, lang), copier(() => text)),
      el("pre", { tabindex: "0" }, lang === "json" ? highlight(text) : colour(text, lang)));
  }
  // words draws a text. Each of its blocks goes the way of its first letter: so do the marks of a list, a quote's bar and a table's columns.
  function words(nodes) {
    const all = markdown(nodes);
    for (const e of all) if (e.dir === "") e.dir = "auto";
    return all;
  }
  function markdown(nodes) { return (nodes || []).map(drawNode); }
  function drawNode(n) {
    const kids = () => markdown(n.c);
    switch (n.t) {
      case "text": return n.s || "";
      case "br": return el("br");
      case "hr": return el("hr");
      case "p": return el("p", {}, kids());
      case "h": return el("h" + Math.min(6, Math.max(3, (n.n || 1) + 2)), {}, kids());
      case "ul": return el("ul", {}, kids());
      case "ol": return el("ol", { start: n.n === 1 ? null : String(n.n || 0) }, kids());
      case "li": return el("li", {}, kids());
      case "quote": return el("blockquote", {}, kids());
      case "pre": return codeBlock(n.s || "", n.lang);
      case "em": return el("em", {}, kids());
      case "strong": return el("strong", {}, kids());
      case "del": return el("del", {}, kids());
      case "code": return el("code", {}, n.s || "");
      case "check": return n.n ? "☑ " : "☐ ";
      case "table": return el("div", { class: "wide", role: "region", "aria-label": W.table, tabindex: "0" }, el("table", {}, kids()));
      case "head": return el("tr", {}, (n.c || []).map(c => el("th", { class: c.align || null, scope: "col" }, markdown(c.c))));
      case "row": return el("tr", {}, (n.c || []).map(c => el("td", { class: c.align || null }, markdown(c.c))));
      case "a": return link(n);
    }
    return n.s || "";
  }
  // A link says where it leads: its host in the form that cannot be mistaken (punycode), always.
  function link(n) {
    let url;
    try { url = new URL(n.href); } catch { return el("span", {}, markdown(n.c)); }
    const where = url.protocol === "mailto:" ? url.pathname : url.host, odd = /(^|\.)xn--/.test(where);
    const a = el("a", { href: url.href, rel: "noopener noreferrer nofollow", target: "_blank" }, markdown(n.c));
    if (a.textContent === where) return a;
    return el("span", {}, a, el("span", { class: odd ? "host odd" : "host", title: odd ? W.odd : null }, ` (${odd ? "⚠ " : ""}${where})`));
  }
  // highlight colours JSON by its tokens. What is not JSON stays plain. Characters that were made visible stand out.
  const tokens = /("(?:[^"\\]|\\[^])*")(\s*:)?|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(true|false|null)/g;
  function highlight(text) {
    const code = el("code", { class: "json" });
    for (const line of text.split(/(?<=\n)/)) paint(code, line);
    return code;
  }
  // A line of a text, which begins with a bar, is no JSON.
  const escaped = (into, text) => text.split(/(\\[ux]\{[0-9A-Fa-f]+\})/).forEach((part, i) => into.append(i % 2 ? el("span", { class: "j-esc" }, part) : part));
  function paint(code, text) {
    if (/^ *│/.test(text)) return escaped(code, text);
    let from = 0;
    for (const m of text.matchAll(tokens)) {
      code.append(text.slice(from, m.index));
      if (m[1] !== undefined) {
        const s = el("span", { class: m[2] ? "j-key" : "j-str" });
        escaped(s, m[1]);
        code.append(s, m[2] || "");
      } else code.append(el("span", { class: m[3] !== undefined ? "j-num" : "j-lit" }, m[0]));
      from = m.index + m[0].length;
    }
    code.append(text.slice(from));
  }

  // colour marks comments, texts, numbers and the words that most languages share: no grammar, so it is never wrong by more than a colour,
  // and takes one pass over what a stranger wrote. A language that is not listed stays plain.
  const keywords = /^(?:and|as|async|await|break|case|catch|class|const|continue|def|default|defer|del|do|done|elif|else|end|enum|esac|except|export|extends|fi|finally|fn|for|from|func|function|go|if|impl|import|in|interface|is|lambda|let|match|mod|mut|new|not|or|package|pass|private|protected|pub|public|raise|range|return|select|static|struct|switch|then|throw|trait|try|type|use|var|void|where|while|with|yield|SELECT|FROM|WHERE|INSERT|INTO|UPDATE|DELETE|SET|VALUES|JOIN|LEFT|ON|GROUP|ORDER|BY|LIMIT|CREATE|TABLE|AND|OR|NOT|AS)$/;
  const literals = /^(?:true|false|null|nil|None|True|False|undefined|NULL|self|this)$/;
  const comments = { "#": "bash sh shell zsh python py ruby rb yaml yml toml dockerfile make makefile perl r", "//": "c cpp c++ cs csharp go golang java javascript js jsx kotlin php rust rs scala swift ts tsx typescript css scss", "--": "sql lua haskell" };
  function colour(text, lang) {
    const code = el("code", {}), mark = Object.keys(comments).find(m => comments[m].split(" ").includes((lang || "").toLowerCase()));
    if (lang === "diff") {
      for (const line of text.split(/(?<=\n)/)) code.append(/^[+-]/.test(line) ? el("span", { class: line[0] === "+" ? "j-str" : "j-out" }, line) : line);
      return code;
    }
    if (!mark) return el("code", {}, text);
    const comment = { "#": "(?<![^\\s])#.*", "//": "\\/\\/.*|\\/\\*[^]*?(?:\\*\\/|$)", "--": "--.*" }[mark];
    const parts = new RegExp(`(${comment})|("(?:[^"\\\\\\n]|\\\\.)*"|'(?:[^'\\\\\\n]|\\\\.)*'|\`[^\`]*\`)|([A-Za-z_$][\\w$]*)|(\\d[\\w.]*)`, "g");
    let from = 0;
    for (const m of text.matchAll(parts)) {
      const kind = m[1] ? "j-com" : m[2] ? "j-str" : m[4] ? "j-num" : keywords.test(m[3]) ? "j-key" : literals.test(m[3]) ? "j-lit" : "";
      if (!kind) continue;
      code.append(text.slice(from, m.index), el("span", { class: kind }, m[0]));
      from = m.index + m[0].length;
    }
    code.append(text.slice(from));
    return code;
  }

  // --- dialogs ---
  // dialog shows one over the page. What it is about may change below; it stays until a person closes it. An answer that comes too
  // late is refused by the server.
  function dialog(kind, title, ...kids) {
    const d = el("dialog", { class: "sheet", "data-dialog": kind, "aria-label": title }, title ? el("h2", {}, title) : null, kids);
    d.addEventListener("close", () => d.remove());
    document.body.append(d);
    d.showModal();
    return d;
  }
  // sure resolves to true when a person confirms exactly this text. Cancel has the focus. Where they are being asked already it is no.
  async function sure(text, label, style) {
    if (document.querySelector("[data-dialog=confirm]")) return false;
    return new Promise(resolve => {
      let yes = false;
      const d = dialog("confirm", "", el("p", { class: "words" }, text), el("div", { class: "choices" },
        el("button", { type: "button", class: "act", "data-act": "cancel", autofocus: true, onclick: () => d.close() }, W.cancel),
        el("button", { type: "button", class: "act", "data-act": "confirm", "data-style": style || null, onclick: () => { yes = true; d.close(); } }, label.replace(/…$/, ""))));
      d.addEventListener("close", () => resolve(yes));
    });
  }
  // details shows something in full: {title, parts: [{name, text, form}]}.
  function details(x) {
    const parts = (x.parts || []).map(p => [p.name ? el("h3", {}, p.name) : null, p.form === "code" ? el("pre", {}, highlight(p.text)) : el("p", { class: "words" }, p.text)]);
    const d = dialog("details", x.title, parts.length ? parts : el("p", {}, W.nothing),
      el("div", { class: "choices" }, el("button", { type: "button", class: "act", "data-act": "close", autofocus: true, onclick: () => d.close() }, W.close)));
  }

  return { el, api, follow, randomId, timeText, spans, words, highlight, codeBlock, copier, dialog, sure, details, setSkew: ms => { skew = ms; } };
})();
