// The chat page's script. It draws what the API says and never decides what is true: a click shows that it is being
// recorded, and the message changes when the log's next event arrives. All text becomes DOM through textContent.
"use strict";
(() => {
  // Every sentence of the page, ready to be translated. The card's own come from the server.
  const W = {
    newChat: "New chat", you: "you", queued: "waits until the current turn is done", taken: "taken back",
    states: { working: "working", waiting: "waiting for you", done: "", failed: "failed", stopped: "stopped" },
    recording: "Recording your answer…", result: "Result:", omitted: n => `… ${n} more bytes are not shown here`, cut: "The reply was cut off here.",
    done: "Done.", picture: (tool, size) => `Picture from ${tool}, ${size.toLocaleString("en")} bytes`,
    nothing: "No chat has these words.", copyMessage: "Copy this message", permissions: n => n ? `Permissions · ${n} new` : "Permissions", inbox: n => n ? `Inbox · ${n}` : "Inbox",
  };
  const { el, api, follow, randomId, spans, words, highlight, codeBlock, copier } = kit;
  const $ = id => document.getElementById(id);
  const body = document.body, list = $("messages"), scroll = $("scroll"), say = $("say"), send = $("send");
  const product = body.dataset.product, me = body.dataset.name;
  let chat = null; // {id, source, items}
  let begun = {}; // what is said while there is no chat begins one: its id, once there is one

  // --- what only this person sees ---
  let whisperTimer = 0, whispers = 0;
  function whisper(text) {
    const w = $("whisper");
    w.hidden = !text;
    w.firstElementChild.textContent = text || "";
    w.setAttribute("role", "alert");
    $("whisper-link").hidden = true;
    clearTimeout(whisperTimer);
    if (!text) return;
    whispers++;
    whisperTimer = setTimeout(() => whisper(""), 20000);
  }
  // done puts away what was whispered before something began. What was whispered since is of something else that failed meanwhile.
  function done(since) { if (since === whispers) whisper(""); }
  // notice is a whisper of several lines, which stays until it is put away.
  function notice(lines) {
    whisper(lines.join("\n") || W.done);
    clearTimeout(whisperTimer);
    $("whisper").setAttribute("role", "status");
    $("whisper-link").hidden = false;
  }
  $("whisper").lastElementChild.addEventListener("click", () => whisper(""));

  const { button, row, click, drawAsk, place } = cards({
    list, whisper, focus: attend.focus, details: (c, m) => api("GET", `/chats/${m.chat_id}/details/${c.token}`),
    begin: () => { const since = whispers; return () => done(since); },
    send: (c, m, more) => c.choice === "stop" && !more.check ? api("POST", `/chats/${m.chat_id}/stop`, { turn_id: m.turn_id }) : api("POST", `/chats/${m.chat_id}/clicks`, { token: c.token, choice: c.choice, ...more }),
  });

  // --- blocks ---
  function drawBlock(b, m) {
    switch (b.type) {
      case "text": return el("div", { class: "text" }, b.nodes ? words(b.nodes) : el("p", {}, b.markdown || ""), b.cut ? el("p", { class: "cut" }, W.cut) : null);
      case "code": return codeBlock(b.source || "", b.language);
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
      el("span", { class: "title" }, b.title), b.server_name ? el("span", { class: "server" }, "· " + b.server_name) : null,
      el("span", { class: "detail" }, spans(b.detail))];
    const call = (m.tool_calls || []).find(c => c.tool_call_id === b.tool_call_id);
    const s = el("div", { class: "step", "data-state": b.state, "data-call": b.tool_call_id });
    if (call && b.state !== "waiting") {
      const d = el("details", { "data-fold": "call" }, el("summary", { class: "line" }, line));
      d.addEventListener("toggle", () => {
        if (!d.open || d.childElementCount > 1) return;
        d.append(el("pre", {}, highlight(call.arguments_shown)));
        if (call.result && call.result.content) d.append(el("p", { class: "dim" }, W.result), el("pre", { class: "result" }, call.result.content, call.result.omitted_bytes ? "\n" + W.omitted(call.result.omitted_bytes) : null));
      });
      s.append(d);
    } else s.append(el("div", { class: "line" }, line));
    const seen = call && call.result && call.result.pictures;
    if (seen) s.append(el("div", { class: "pictures" }, seen.map(p => picture(p, W.picture(call.tool_name, p.size)))));
    if (b.choices) s.append(row(b.choices, c => click(c, s, m), true));
    return s;
  }
  // Its room is the same before it is there: nothing moves under the finger.
  function picture(f, alt) {
    const src = `/api/v1/chats/${chat.id}/files/${encodeURIComponent(f.file)}`;
    return el("a", { href: src, target: "_blank", rel: "noopener", title: alt }, el("img", { src, alt, loading: "lazy", decoding: "async" }));
  }
  // --- messages ---
  function drawMine(m) {
    const others = m.name && m.name !== me, seen = (m.files || []).filter(f => /\.(png|jpe?g|gif|webp)$/i.test(f.name));
    return el("li", { class: "mine", dir: "auto", "data-id": m.id, "data-taken": m.taken_back }, others ? el("span", { class: "who" }, m.name) : null, m.text, seen.length ? el("div", { class: "pictures" }, seen.map(f => picture(f, f.name))) : null,
      m.queued ? el("span", { class: "meta" }, "⏳ " + W.queued) : null, m.taken_back ? el("span", { class: "meta" }, W.taken) : null);
  }
  const wordsOf = m => (m.blocks || []).map(b => b.type === "text" ? b.markdown : b.type === "code" ? b.source : "").filter(Boolean).join("\n\n");
  function drawBot(m, old) {
    const li = old || el("li", { class: "bot", "data-id": m.id }, el("div", { class: "head" }), el("div", { class: "blocks" }));
    li.dataset.state = m.state || "working";
    li.setAttribute("aria-busy", String(li.dataset.state === "working")); // what streams is read out once it is whole
    li.shown = m;
    const stop = (m.choices || []).filter(c => c.choice === "stop"), batch = (m.choices || []).filter(c => c.choice !== "stop");
    const headKey = JSON.stringify([m.state, stop]), [head, blocks] = li.children;
    if (head.dataset.key !== headKey) {
      head.dataset.key = headKey;
      head.replaceChildren(el("span", { class: "dot", "aria-hidden": "true" }), el("b", {}, product), el("span", { class: "state" }, W.states[m.state] ?? m.state ?? ""), ["working", "waiting"].includes(li.dataset.state) ? "" : copier(() => wordsOf(li.shown), W.copyMessage) || "", ...stop.map(c => button(c, c => click(c, head, m), true)));
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
  // put draws a message where it stands in the log, whichever arrives first.
  function put(m) {
    const old = chat.items.get(m.id), e = m.role === "user" ? drawMine(m) : drawBot(m, old);
    e.number = m.number;
    if (!old) {
      let before = list.lastElementChild;
      while (before && before.number > m.number) before = before.previousElementSibling;
      if (before) before.after(e); else list.prepend(e);
    } else if (e !== old) old.replaceWith(e);
    chat.items.set(m.id, e);
    $("empty").hidden = true;
    return e;
  }
  function upsert(m) {
    const near = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 120;
    const asked = new Set([...list.querySelectorAll(".ask")].map(a => a.dataset.request));
    const old = chat.items.get(m.id), before = old && old.dataset.state, e = put(m);
    // While something is asked nothing moves under the finger; only a new ask comes into view.
    const asks = [...list.querySelectorAll(".ask")], fresh = asks.some(a => !asked.has(a.dataset.request));
    if (near && (fresh || asks.length === 0)) {
      scroll.scrollTop = scroll.scrollHeight;
      const top = fresh && (e.querySelector(".batch") || e.querySelector(".ask"));
      if (top) scroll.scrollTop -= Math.max(0, scroll.getBoundingClientRect().top + 44 - top.getBoundingClientRect().top);
    }
    attend.changed(m, before);
    if (asks.length !== asked.size || fresh) loadWaiting();
  }

  // --- chats ---
  let listed = 0; // the newest request wins, whichever answer comes last
  async function loadChats() {
    const number = ++listed, query = $("find").value.trim();
    let out;
    try { out = await api("GET", "/chats" + (query ? "?q=" + encodeURIComponent(query) : "")); } catch (err) { return void whisper(err.message); }
    if (number !== listed) return;
    $("chats").replaceChildren(...out.chats.map(c => el("a", { href: "/c/" + c.chat_id, "aria-current": chat && chat.id === c.chat_id ? "page" : null, title: `${c.title}\n${new Date(c.at).toLocaleString()}`,
      onclick: e => { if (e.metaKey || e.ctrlKey || e.shiftKey) return; e.preventDefault(); open(c.chat_id, true); } }, c.title, c.excerpt ? el("small", {}, c.excerpt) : null)));
    if (!out.chats.length && query) $("chats").replaceChildren(el("p", { class: "none", role: "status" }, W.nothing));
    const mine = chat && out.chats.find(c => c.chat_id === chat.id);
    if (mine) $("title").textContent = mine.title;
    loadNews();
    loadWaiting();
  }
  let finding = 0;
  $("find").addEventListener("input", () => { clearTimeout(finding); finding = setTimeout(loadChats, 250); });
  // loadWaiting says how many questions wait for this person, in all chats. It asks: a new chat has no stream that could tell, a hidden page
  // need not know, and one more stream for each tab would take a browser's last connections to us.
  async function loadWaiting() {
    try { $("inbox").textContent = W.inbox((await api("GET", "/inbox?count")).open); } catch { /* the inbox says what is wrong */ }
  }
  setInterval(() => { if (!document.hidden) loadWaiting(); }, 30000);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) loadWaiting(); });
  // loadNews tells an admin, where they are, that tools wait for their word.
  const admin = !!document.querySelector(".chip.admin");
  async function loadNews() {
    if (!admin) return;
    try { $("permissions").textContent = W.permissions((await api("GET", "/settings")).news || 0); } catch { /* the settings say what is wrong */ }
  }
  function close() {
    if (chat && chat.source) chat.source.close();
    chat = null;
    begun = {};
    list.replaceChildren();
    attend.changed();
    $("link").textContent = "";
    $("permissions").href = $("whisper-link").href = "/settings";
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
    const here = chat = { id, source: null, items: new Map() };
    $("permissions").href = $("whisper-link").href = "/settings/c/" + id;
    if (push) history.pushState({}, "", "/c/" + id);
    let c;
    try { c = await api("GET", `/chats/${id}?nodes=1`); } catch (err) {
      if (err.status === 401) return location.reload();
      if (chat === here) { blank(false); whisper(err.message); }
      return;
    }
    if (chat !== here) return; // somebody clicked on
    kit.setSkew(new Date(c.now) - Date.now());
    $("title").textContent = c.title;
    $("empty").hidden = c.messages.length > 0;
    $("log").setAttribute("aria-busy", "true"); // what was said before is not read out
    c.messages.forEach(put);
    const waits = list.querySelector(".batch, .ask");
    if (waits) waits.scrollIntoView({ block: "start" }); else scroll.scrollTop = scroll.scrollHeight;
    $("log").setAttribute("aria-busy", "false");
    attend.changed();
    listen(here, c.seq);
    loadChats();
  }
  function listen(here, seq) {
    let told = ""; // the message that was told last, which a patch changes
    const tell = json => upsert(JSON.parse(told = json));
    here.source = follow(last => `/chats/${here.id}/events?nodes=1&patches=1&after=${last || seq}`, {
      message: e => tell(e.data),
      patch: e => {
        const p = JSON.parse(e.data);
        tell(told.slice(0, p.head) + p.part + told.slice(told.length - p.tail));
      },
      turn_done: loadChats,
    }, text => { $("link").textContent = text; });
  }

  // --- saying something ---
  const kept = "draft of " + me; // in this tab: it outlives the page, and is nobody else's who signs in
  function grow() {
    say.style.height = "auto"; say.style.height = Math.min(say.scrollHeight + 2, innerHeight * .4) + "px";
    try { sessionStorage.setItem(kept, say.value); } catch { /* this browser keeps nothing */ }
  }
  function write(text) { say.value = text; grow(); }
  let draft = null; // what is being sent, with the name it keeps when it has to be sent again
  const outbox = []; // in the order of Enter: the first is on its way
  async function submit() {
    const text = say.value;
    if (!text.trim() && !attach.any()) return;
    outbox.push({ text, files: attach.take(), to: chat || begun }); // wherever one looks when its turn comes
    write(""); // what is typed from here on is the next message
    if (outbox.length > 1) return; // it goes after the one before
    send.disabled = true;
    while (outbox.length) {
      try {
        await deliver(outbox[0]);
        outbox.shift();
      } catch (err) {
        whisper(err.message);
        const back = outbox.splice(0);
        attach.back(back.flatMap(m => m.files));
        write([...back.map(m => m.text), say.value].filter(s => s.trim()).join("\n"));
      }
    }
    send.disabled = false;
  }
  // deliver sends one message to its chat, which it may begin; a command begins none.
  async function deliver({ text, files, to }) {
    if (!draft || draft.text !== text || files.length) draft = { text, delivery: randomId() };
    const since = whispers;
    if (!to.id && !files.length && text.trim().startsWith("/") && await command(text)) return;
    if (!to.id) {
      to.id = (await api("POST", "/chats", {})).chat_id;
      if (begun === to) await open(to.id, true); // else somebody went on to another chat
    }
    if (files.length) draft.files = await attach.upload(to.id, files);
    const out = await api("POST", `/chats/${to.id}/messages`, draft);
    draft = null;
    if (chat && chat.id === to.id) {
      out.lines ? notice(out.lines) : done(since);
      scroll.scrollTop = scroll.scrollHeight;
    }
    loadChats();
  }
  // command does one that was typed before there is a chat; false for what is a message.
  async function command(text) {
    try { notice((await api("POST", "/permissions", { text })).lines); } catch (err) {
      if (err.code === "not_a_command") return false;
      throw err;
    }
    return true;
  }
  attach.onTrouble(whisper);
  $("composer").addEventListener("submit", e => { e.preventDefault(); submit(); });
  say.addEventListener("input", () => { if (!outbox.length) draft = null; grow(); }); // what is changed is another message
  say.addEventListener("keydown", e => { if (e.key === "Enter" && !e.shiftKey && !e.isComposing && e.keyCode !== 229) { e.preventDefault(); submit(); } }); // 229: an input method's, of which Safari tells when it is over
  for (const words of $("suggestions").dataset.list.split("\n").filter(Boolean)) {
    $("suggestions").append(el("li", {}, el("button", { type: "button", class: "suggestion", onclick: () => { write(words); say.focus(); } }, words)));
  }

  // --- the side list ---
  function side(show) {
    $("side").classList.toggle("open", show);
    $("burger").setAttribute("aria-expanded", String(show));
    $("shade").hidden = !show;
    document.querySelector("main").inert = show;
    if (show) $("new").focus();
  }
  $("burger").addEventListener("click", () => side(!$("side").classList.contains("open")));
  $("shade").addEventListener("click", () => side(false));
  addEventListener("keydown", e => {
    if (e.key !== "Escape") return;
    const open = $("side").classList.contains("open");
    side(false);
    whisper("");
    if (open) $("burger").focus();
  });
  $("new").addEventListener("click", e => { if (e.metaKey || e.ctrlKey || e.shiftKey) return; e.preventDefault(); blank(true); });
  addEventListener("popstate", () => { const m = location.pathname.match(/^\/c\/([\w-]+)$/); m ? open(m[1], false) : blank(false); });

  for (const t of document.querySelectorAll("[data-ends]")) {
    const ends = new Date(t.dateTime);
    t.textContent = ends.toLocaleString([], { dateStyle: "medium", timeStyle: ends - Date.now() < 864e5 ? "short" : undefined });
  }
  try { write(sessionStorage.getItem(kept) || ""); } catch { /* nothing is kept */ }
  loadChats();
  if (body.dataset.chat) open(body.dataset.chat, false); else blank(false);
})();
