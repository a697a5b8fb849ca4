// The page's script. It draws what the API says and never decides what is true: a click shows that it is being
// recorded, and the message changes when the log's next event arrives. All text becomes DOM through textContent.
"use strict";
(() => {
  // Every sentence of the page, ready to be translated. The card's own come from the server.
  const W = {
    newChat: "New chat", you: "you", queued: "waits until the current turn is done", taken: "taken back",
    states: { working: "working", waiting: "waiting for you", done: "", failed: "failed", stopped: "stopped" },
    args: n => n === 0 ? "no arguments" : `arguments (${n})`, full: "shown in full", digest: "digest",
    hidden: (n, all) => `${n} of ${all} characters are not shown here`, moreChars: n => ` … ${n} more characters, in the arguments below`,
    escaped: n => `${n} hidden character${n > 1 ? "s" : ""} made visible`, redacted: n => `${n} value${n > 1 ? "s" : ""} masked as secret`,
    modelSaid: "The model wrote (not checked):", describes: "The server describes this tool (not checked):", impact: "Impact:",
    about: "About this tool", trusted: "marked trusted", untrusted: "not marked trusted; its words are not checked",
    recording: "Recording your answer…", reason: "Why not? (optional, the model reads it)", denyReason: "Deny with a reason…", denyNow: "Deny", back: "Back",
    editHint: "The arguments as JSON. Nothing runs by this: the changed call is asked for anew.", editNow: "Ask with these arguments",
    result: "Result:", omitted: n => `… ${n} more bytes are not shown here`, offline: "Reconnecting…", gone: "Signed out. Reload this page.", cut: "The reply was cut off here.",
    inS: n => `in ${n} s`, inMin: n => `in ${n} min`, overdue: "any moment now", needs: "needs your answer",
    failed: "That did not reach the bot. Check that it still runs, then try again.", more: "More choices", odd: "unusual letters in this address",
  };
  const $ = id => document.getElementById(id);
  const body = document.body, list = $("messages"), scroll = $("scroll"), say = $("say"), send = $("send");
  const product = body.dataset.product, me = body.dataset.name;
  let chat = null; // {id, source, items, skew}

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
  async function api(method, path, data) {
    let res;
    try {
      res = await fetch("/api/v1" + path, { method, headers: data ? { "Content-Type": "application/json" } : {}, body: data ? JSON.stringify(data) : undefined });
    } catch { throw { code: "offline", message: W.failed }; }
    let out = {};
    try { out = await res.json(); } catch { /* said below */ }
    if (!res.ok) throw Object.assign({ status: res.status }, out.error || { code: "failed", message: W.failed });
    return out;
  }
  function randomId() { return Array.from(crypto.getRandomValues(new Uint8Array(16)), b => b.toString(16).padStart(2, "0")).join(""); }
  let whisperTimer = 0;
  function whisper(text) {
    const w = $("whisper");
    w.hidden = !text;
    w.firstElementChild.textContent = text || "";
    clearTimeout(whisperTimer);
    if (text) whisperTimer = setTimeout(() => whisper(""), 20000);
  }
  $("whisper").lastElementChild.addEventListener("click", () => whisper(""));

  // --- time ---
  const now = () => Date.now() + (chat ? chat.skew : 0);
  function timeText(at, until) {
    const d = new Date(at), left = Math.ceil((d - now()) / 1000);
    if (until && left <= 0) return W.overdue;
    if (until && left < 100) return W.inS(left);
    if (until && left < 5400) return W.inMin(Math.round(left / 60));
    const sameDay = d.toDateString() === new Date().toDateString();
    return d.toLocaleString([], sameDay ? { hour: "2-digit", minute: "2-digit" } : { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
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
      case "pre": return el("pre", {}, n.lang === "json" ? highlight(n.s || "") : el("code", {}, n.s || ""));
      case "em": return el("em", {}, kids());
      case "strong": return el("strong", {}, kids());
      case "del": return el("del", {}, kids());
      case "code": return el("code", {}, n.s || "");
      case "check": return n.n ? "☑ " : "☐ ";
      case "table": return el("table", {}, kids());
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
    let from = 0;
    for (const m of text.matchAll(tokens)) {
      code.append(text.slice(from, m.index));
      if (m[1] !== undefined) {
        const s = el("span", { class: m[2] ? "j-key" : "j-str" });
        m[1].split(/(\\[ux]\{[0-9A-Fa-f]+\})/).forEach((part, i) => s.append(i % 2 ? el("span", { class: "j-esc" }, part) : part));
        code.append(s, m[2] || "");
      } else code.append(el("span", { class: m[3] !== undefined ? "j-num" : "j-lit" }, m[0]));
      from = m.index + m[0].length;
    }
    code.append(text.slice(from));
    return code;
  }

  // --- buttons ---
  const answers = ["allow_chat", "allow_once", "deny", "happened", "run_again", "leave"];
  function button(c, run, small) {
    return el("button", { type: "button", class: small ? "act small" : "act", "data-choice": c.choice, "data-token": c.token, "data-style": c.style || null,
      "aria-label": c.hint ? `${c.label}: ${c.hint}` : null, title: c.hint || null, onclick: () => run(c) }, c.label);
  }
  // Drawn in reverse: the style sheet turns the row around, so the eye reads Allow … Deny and Tab reaches Deny first.
  function row(choices, run, small) {
    return el("div", { class: "choices" }, [...(choices || [])].reverse().map(c => button(c, run, small)));
  }
  async function click(c, box, m, reason, args) {
    const here = chat;
    if (box) box.dataset.busy = c.choice;
    try {
      if (c.choice === "stop") await api("POST", `/chats/${here.id}/stop`, { turn_id: c.token || m.turn_id });
      else await api("POST", `/chats/${here.id}/clicks`, { token: c.token, choice: c.choice, reason, arguments: args });
      whisper("");
      // The next event redraws the box. Should it be lost, the buttons come back by themselves.
      setTimeout(() => { if (box) delete box.dataset.busy; }, 8000);
    } catch (err) {
      if (box) delete box.dataset.busy;
      whisper(err.message);
    }
  }

  // --- blocks ---
  function drawBlock(b, m) {
    switch (b.type) {
      case "text": return el("div", { class: "text" }, b.nodes ? markdown(b.nodes) : el("p", {}, b.markdown || ""), b.cut ? el("p", { class: "cut" }, W.cut) : null);
      case "code": return el("pre", {}, b.language === "json" ? highlight(b.source || "") : el("code", {}, b.source || ""));
      case "step": return drawStep(b, m);
      case "ask": return drawAsk(b, m);
    }
    const n = el("div", { class: "note" }, el("span", {}, spans(b.line)));
    (b.choices || []).forEach(c => n.append(button(c, c => click(c, n, m), true)));
    return n;
  }
  // What a tool was given and gave stays visible behind its line, also for calls that never asked.
  function drawStep(b, m) {
    const line = [el("span", { class: "mark", "aria-hidden": "true" }, b.mark), el("span", { class: "hide" }, (b.mark_word || b.state) + ": "),
      el("span", { class: "title mono" }, b.title), b.server_name ? el("span", { class: "server" }, "· " + b.server_name) : null,
      el("span", { class: "detail" }, spans(b.detail))];
    const call = (m.tool_calls || []).find(c => c.tool_call_id === b.tool_call_id);
    const s = el("div", { class: "step", "data-state": b.state, "data-call": b.tool_call_id });
    if (call && b.state !== "waiting") {
      const d = el("details", { "data-fold": "call" }, el("summary", { class: "line" }, line));
      d.addEventListener("toggle", () => {
        if (!d.open || d.childElementCount > 1) return;
        d.append(el("pre", {}, highlight(JSON.stringify(call.arguments, null, 2))));
        if (call.result && call.result.content) d.append(el("p", { class: "dim" }, W.result), el("pre", { class: "result" }, call.result.content, call.result.omitted_bytes ? "\n" + W.omitted(call.result.omitted_bytes) : null));
      });
      s.append(d);
    } else s.append(el("div", { class: "line" }, line));
    if (b.choices) s.append(row(b.choices, c => click(c, s, m), true));
    return s;
  }
  function drawAsk(b, m) {
    const a = b.arguments || { json: "{}" }, rows = a.rows || [], server = b.server || {};
    const card = el("article", { class: "ask", "data-kind": b.kind, "data-call": b.tool_call_id, "data-request": b.request_id, "aria-live": "polite", "aria-label": b.header });
    card.append(el("header", {}, el("h3", {}, b.kind === "outcome" ? el("span", { "aria-hidden": "true" }, "❓ ") : null, b.header),
      el("div", { class: "chips" }, (b.facts || []).map(f => el("span", { class: "chip", "data-kind": f.kind, "data-label": f.label }, (f.symbol ? f.symbol + " " : "") + f.label)))));
    if (b.run) card.append(el("p", { class: "run" }, b.run));
    if (b.kind !== "outcome" || rows.length) {
      if (rows.length) card.append(el("dl", { class: "rows" }, rows.map(r => [el("dt", { class: "mono" }, r.name), el("dd", { class: "mono" }, escapes(r.value), r.hidden ? el("em", {}, W.moreChars(r.hidden)) : null)])));
      const proof = [a.hidden ? W.hidden(a.hidden, a.chars) : W.full, a.escaped ? W.escaped(a.escaped) : "", a.redacted ? W.redacted(a.redacted) : "", a.digest ? W.digest + " " + a.digest.slice(0, 8) + "…" : ""].filter(Boolean).join(" · ");
      card.append(el("details", { class: "args", "data-fold": "args" }, el("summary", {}, W.args(rows.length), el("span", { class: "proof", title: a.digest }, " · " + proof)), el("pre", {}, highlight(a.json))));
    }
    if (b.question) card.append(el("p", { class: "question" }, b.question));
    if (b.impact) card.append(el("p", { class: "dim" }, W.impact + " " + b.impact));
    if (b.model_said) card.append(el("p", { class: "dim" }, W.modelSaid), el("p", { class: "said" }, b.model_said));
    if (b.because) card.append(el("p", { class: "dim" }, spans(b.because)));
    if (server.name) card.append(el("p", { class: "dim server" }, `${icon(server.icon)} ${server.name}${server.description ? ": " + server.description : ""} (${server.trusted ? W.trusted : W.untrusted})`));
    if (b.describes) card.append(el("details", { "data-fold": "about" }, el("summary", {}, W.about), el("p", { class: "dim" }, W.describes), el("p", { class: "said" }, b.describes)));
    if (b.warning) card.append(el("p", { class: "warning" }, b.warning));
    if (b.review) card.append(el("p", { class: "review" }, el("strong", {}, b.review)));
    const run = c => click(c, card, m);
    card.append(row((b.choices || []).filter(c => answers.includes(c.choice)), run), el("div", { class: "busy", role: "status" }, W.recording));
    const deny = (b.choices || []).find(c => c.choice === "deny");
    const more = [...(b.choices || []).filter(c => !answers.includes(c.choice)), ...(b.more || [])].filter(c => !["deny", "deny_reason", "view", "edit"].includes(c.choice)); // the details are on the card, and the forms have their own buttons
    const foot = el("div", { class: "foot", "aria-live": "off" }, el("span", { class: "line" }, spans(b.footer)));
    if (deny) {
      const field = el("input", { type: "text", maxlength: "400", "aria-label": W.reason, placeholder: W.reason });
      const form = el("form", { class: "reason", hidden: true, onsubmit: e => { e.preventDefault(); click(deny, card, m, field.value); } },
        field, el("button", { type: "submit", class: "act small", "data-choice": "deny" }, W.denyNow), el("button", { type: "button", class: "quiet", onclick: () => { form.hidden = true; } }, W.back));
      card.append(form);
      foot.append(el("button", { type: "button", class: "act small", "data-act": "reason", onclick: () => { form.hidden = false; field.focus(); } }, W.denyReason));
    }
    const edit = (b.more || []).find(c => c.choice === "edit");
    if (edit) {
      // Characters that the card makes visible become JSON's own escapes again.
      const units = h => [...String.fromCodePoint(parseInt(h, 16))].map(ch => ch.length > 1 ? [ch.charCodeAt(0), ch.charCodeAt(1)] : [ch.charCodeAt(0)]).flat();
      const text = a.json.replace(/\\u\{([0-9A-Fa-f]+)\}/g, (_, h) => units(h).map(u => "\\u" + u.toString(16).padStart(4, "0")).join(""));
      const field = el("textarea", { class: "mono", rows: String(Math.min(14, text.split("\n").length + 1)), spellcheck: "false", "aria-label": W.editHint });
      field.value = text;
      const form = el("form", { class: "edit", hidden: true, onsubmit: e => { e.preventDefault(); click(edit, card, m, undefined, field.value); } }, el("p", { class: "dim" }, W.editHint), field,
        el("button", { type: "submit", class: "act small", "data-choice": "edit" }, W.editNow), el("button", { type: "button", class: "quiet", onclick: () => { form.hidden = true; } }, W.back));
      card.append(form);
      foot.append(el("button", { type: "button", class: "act small", "data-act": "edit", onclick: () => { form.hidden = false; field.focus(); } }, edit.label));
    }
    more.forEach(c => foot.append(button(c, run, true)));
    card.append(foot);
    return card;
  }
  function escapes(text) { return String(text).split(/(\\[ux]\{[0-9A-Fa-f]+\})/).map((p, i) => i % 2 ? el("span", { class: "j-esc" }, p) : p); }
  // An icon is a symbol or nothing: an address would tell a stranger that somebody looks.
  function icon(s) { return s && [...s].length <= 3 && !/[\w:/]/.test(s) ? s : "⚙"; }

  // --- messages ---
  function drawMine(m) {
    const others = m.name && m.name !== me;
    return el("li", { class: "mine", "data-id": m.id, "data-taken": m.taken_back }, others ? el("span", { class: "who" }, m.name) : null, m.text,
      m.queued ? el("span", { class: "meta" }, "⏳ " + W.queued) : null, m.taken_back ? el("span", { class: "meta" }, W.taken) : null);
  }
  function drawBot(m, old) {
    const li = old || el("li", { class: "bot", "data-id": m.id }, el("div", { class: "head" }), el("div", { class: "blocks" }));
    li.dataset.state = m.state || "working";
    const stop = (m.choices || []).filter(c => c.choice === "stop"), batch = (m.choices || []).filter(c => c.choice !== "stop");
    const headKey = JSON.stringify([m.state, stop]), [head, blocks] = li.children;
    if (head.dataset.key !== headKey) {
      head.dataset.key = headKey;
      head.replaceChildren(el("span", { class: "dot", "aria-hidden": "true" }), el("b", {}, product), el("span", { class: "state" }, W.states[m.state] ?? m.state ?? ""), ...stop.map(c => button(c, c => click(c, head, m), true)));
    }
    const parts = (m.blocks || []).map((b, i) => ({ key: b.request_id ? "ask-" + b.request_id : b.tool_call_id ? "step-" + b.tool_call_id : `${b.type}-${i}`, data: JSON.stringify([b, b.type === "step" ? (m.tool_calls || []).find(c => c.tool_call_id === b.tool_call_id) : 0]), make: () => drawBlock(b, m) }));
    if (batch.length) {
      const at = parts.findIndex(p => p.key.startsWith("ask-"));
      parts.splice(at < 0 ? parts.length : at, 0, { key: "batch", data: JSON.stringify(batch), make: () => {
        const d = el("div", { class: "batch" });
        d.append(row(batch, c => click(c, d, m)), el("div", { class: "busy", role: "status" }, W.recording));
        return d;
      } });
    }
    place(blocks, parts);
    return li;
  }
  // place keeps what did not change where it stands: an open fold stays open, a focused button stays focused.
  function place(box, parts) {
    const had = new Map([...box.children].map(e => [e.dataset.key, e]));
    let spot = box.firstElementChild;
    for (const p of parts) {
      let e = had.get(p.key);
      had.delete(p.key);
      if (!e || e.data !== p.data) {
        const fresh = p.make();
        fresh.dataset.key = p.key;
        fresh.data = p.data;
        if (e) {
          for (const d of e.querySelectorAll("details[open]")) { const same = fresh.querySelector(`details[data-fold="${d.dataset.fold}"]`); if (same) same.open = true; }
          const f = document.activeElement, at = e.contains(f) && f.dataset.choice ? f.dataset.choice : "";
          if (spot === e) spot = fresh;
          e.replaceWith(fresh);
          if (at) { const same = [...fresh.querySelectorAll("button")].find(x => x.dataset.choice === at); if (same) same.focus(); }
        }
        e = fresh;
      }
      if (e === spot) spot = spot.nextElementSibling;
      else box.insertBefore(e, spot);
    }
    had.forEach(e => e.remove());
  }
  // Messages stand in the order of the log, whichever arrives first.
  function insert(e, number) {
    e.number = number;
    const next = [...list.children].reverse().find(x => x.number < number);
    if (next) next.after(e); else list.prepend(e);
  }
  function upsert(m) {
    const near = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 120;
    const asked = new Set([...list.querySelectorAll(".ask")].map(a => a.dataset.request));
    let e = chat.items.get(m.id);
    if (m.role === "user") {
      const fresh = drawMine(m);
      if (e) { fresh.number = e.number; e.replaceWith(fresh); } else insert(fresh, m.number);
      e = fresh;
    } else {
      const old = e;
      e = drawBot(m, old);
      if (!old) insert(e, m.number);
    }
    chat.items.set(m.id, e);
    $("empty").hidden = true;
    // While something is asked nothing moves under the finger; only a new ask comes into view.
    const asks = [...list.querySelectorAll(".ask")], fresh = asks.some(a => !asked.has(a.dataset.request));
    if (near && (fresh || asks.length === 0)) {
      scroll.scrollTop = scroll.scrollHeight;
      const top = fresh && (e.querySelector(".batch") || e.querySelector(".ask"));
      if (top) scroll.scrollTop -= Math.max(0, scroll.getBoundingClientRect().top + 44 - top.getBoundingClientRect().top);
    }
    document.title = asks.length ? `● ${W.needs} · ${product}` : product;
  }

  // --- chats ---
  async function loadChats() {
    let out;
    try { out = await api("GET", "/chats"); } catch (err) { return void whisper(err.message); }
    $("chats").replaceChildren(...out.chats.map(c => el("a", { href: "/c/" + c.chat_id, "aria-current": chat && chat.id === c.chat_id ? "page" : null,
      onclick: e => { if (e.metaKey || e.ctrlKey || e.shiftKey) return; e.preventDefault(); open(c.chat_id, true); } }, c.title)));
    const mine = chat && out.chats.find(c => c.chat_id === chat.id);
    if (mine) $("title").textContent = mine.title;
  }
  function close() {
    if (chat && chat.source) chat.source.close();
    chat = null;
    list.replaceChildren();
    $("link").textContent = "";
    document.title = product;
    whisper("");
    side(false);
  }
  function blank(push) {
    close();
    if (push) history.pushState({}, "", "/");
    $("title").textContent = W.newChat;
    $("empty").hidden = false;
    for (const a of document.querySelectorAll(".chats a[aria-current]")) a.removeAttribute("aria-current");
    say.focus();
  }
  async function open(id, push) {
    close();
    const here = chat = { id, source: null, items: new Map(), skew: 0 };
    if (push) history.pushState({}, "", "/c/" + id);
    let c;
    try { c = await api("GET", `/chats/${id}?nodes=1`); } catch (err) {
      if (err.status === 401) return location.reload();
      if (chat === here) { blank(false); whisper(err.message); }
      return;
    }
    if (chat !== here) return; // somebody clicked on
    here.skew = new Date(c.now) - Date.now();
    $("title").textContent = c.title;
    $("empty").hidden = c.messages.length > 0;
    c.messages.forEach(upsert);
    scroll.scrollTop = scroll.scrollHeight;
    listen(here, c.seq);
    loadChats();
  }
  function listen(here, seq) {
    const src = here.source = new EventSource(`/api/v1/chats/${here.id}/events?nodes=1&after=${seq}`);
    src.onopen = () => { if (chat === here) $("link").textContent = ""; };
    src.onerror = () => {
      if (chat !== here) return;
      $("link").textContent = src.readyState === EventSource.CLOSED ? W.gone : W.offline;
    };
    src.addEventListener("message", e => { if (chat === here) upsert(JSON.parse(e.data)); });
    src.addEventListener("turn_done", () => { if (chat === here) loadChats(); });
  }

  // --- saying something ---
  function grow() { say.style.height = "auto"; say.style.height = Math.min(say.scrollHeight + 2, innerHeight * .4) + "px"; }
  let draft = null; // what is being sent, with the name it keeps when it has to be sent again
  async function submit() {
    const text = say.value;
    if (!text.trim() || send.disabled) return;
    if (!draft || draft.text !== text) draft = { text, delivery: randomId() };
    send.disabled = true;
    try {
      let here = chat;
      if (!here) {
        const made = await api("POST", "/chats", {});
        await open(made.chat_id, true);
        here = chat;
      }
      await api("POST", `/chats/${here.id}/messages`, draft);
      if (say.value.trim() === text.trim()) { say.value = ""; grow(); }
      draft = null;
      whisper("");
      scroll.scrollTop = scroll.scrollHeight;
      loadChats();
    } catch (err) { whisper(err.message); }
    send.disabled = false;
  }
  $("composer").addEventListener("submit", e => { e.preventDefault(); submit(); });
  say.addEventListener("input", grow);
  say.addEventListener("keydown", e => { if (e.key === "Enter" && !e.shiftKey && !e.isComposing) { e.preventDefault(); submit(); } });
  for (const b of document.querySelectorAll(".suggestion")) b.addEventListener("click", () => { say.value = b.textContent; grow(); say.focus(); });

  // --- the side list ---
  function side(show) {
    $("side").classList.toggle("open", show);
    $("burger").setAttribute("aria-expanded", String(show));
    $("shade").hidden = !show;
  }
  $("burger").addEventListener("click", () => side(!$("side").classList.contains("open")));
  $("shade").addEventListener("click", () => side(false));
  addEventListener("keydown", e => { if (e.key === "Escape") { side(false); whisper(""); } });
  $("new").addEventListener("click", e => { if (e.metaKey || e.ctrlKey || e.shiftKey) return; e.preventDefault(); blank(true); });
  addEventListener("popstate", () => { const m = location.pathname.match(/^\/c\/([\w-]+)$/); m ? open(m[1], false) : blank(false); });

  loadChats();
  if (body.dataset.chat) open(body.dataset.chat, false); else blank(false);
})();
