// The inbox: what waits for this person in all chats, as the cards that stand there. The server says what is on it; this script draws it.
"use strict";
(() => {
  const W = {
    none: "Nothing waits for you. What nod asks you anywhere appears here by itself.",
    open: n => n === 1 ? "One question waits for you." : `${n} questions wait for you.`, more: n => ` The first ${n} are shown; the others follow as these are answered.`,
    asks: "asks", go: s => s === "web" ? "Open the chat" : "Open the message there",
  };
  const { el, api, follow, setSkew } = kit;
  const $ = id => document.getElementById(id);
  const list = $("asks"), said = $("said"), product = document.body.dataset.product;

  function whisper(text) {
    said.hidden = !text;
    said.firstElementChild.textContent = text || "";
  }
  said.lastElementChild.addEventListener("click", () => whisper(""));
  addEventListener("keydown", e => { if (e.key === "Escape") whisper(""); });

  const focus = card => { card.tabIndex = -1; card.focus(); };
  const { drawAsk, place } = cards({
    list, whisper, focus: box => focus(box.querySelector(".ask")), begin: () => () => whisper(""), details: c => api("GET", `/asks/${c.token}/details`),
    send: (c, m, more) => api("POST", "/inbox/clicks", { token: c.token, choice: c.choice, ...more }),
  });
  function draw(a) {
    const where = a.link ? el("a", { href: a.link, target: a.surface === "web" ? null : "_blank", rel: "noopener noreferrer", title: W.go(a.surface) }, a.where) : el("span", {}, a.where);
    return el("li", {}, el("p", { class: "where dim" }, where, " · ", el("span", { class: "person", title: a.user }, a.name), " ", W.asks), drawAsk(a.card, a));
  }

  // settle takes no click for a moment: a card may have moved under the finger.
  let settling = 0;
  function settle() {
    list.classList.add("moved");
    clearTimeout(settling);
    settling = setTimeout(() => list.classList.remove("moved"), 600);
  }

  let asks = new Map(), fresh = true;
  const when = a => a.expires_at ? Date.parse(a.expires_at) : Infinity;
  const order = (a, b) => when(a) === when(b) ? Date.parse(a.asked_at) - Date.parse(b.asked_at) || (a.request_id < b.request_id ? -1 : 1) : when(a) - when(b);
  function take(now) {
    setSkew(new Date(now.now) - Date.now());
    for (const id of now.gone || []) asks.delete(id);
    for (const a of now.asks) asks.set(a.request_id, a);
    const at = [...list.children].findIndex(e => e.contains(document.activeElement)), lost = at >= 0 && !asks.has(list.children[at].dataset.key);
    const were = [...list.children].map(e => e.dataset.key);
    place(list, [...asks.values()].sort(order).map(a => ({ key: a.request_id, data: JSON.stringify(a), make: () => draw(a) })));
    if (were.some((key, i) => !list.children[i] || list.children[i].dataset.key !== key)) settle();
    if (lost) { const next = list.children[Math.min(at, list.children.length - 1)]; next ? focus(next.querySelector(".ask")) : $("inbox").focus(); } // on to the next
    const count = now.open ? W.open(now.open) + (now.more ? W.more(asks.size) : "") : W.none;
    if ($("count").textContent !== count) $("count").textContent = count;
    if (!now.more && (fresh || now.gone)) bell.settle(asks); // not when a question comes: it may just be being shown
    fresh = false;
    document.title = (now.open ? `(${now.open}) ` : "") + "Inbox · " + product;
  }
  follow(() => "/inbox/events", { inbox: e => take(JSON.parse(e.data)) }, text => {
    if (text) $("count").textContent = text;
    else { asks = new Map(); fresh = true; } // a stream begins with all there is
  });
})();
