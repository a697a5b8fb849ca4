// What calls for a person. A question that opens gets the focus, has keys and a way back to it; a page that nobody looks at says in its
// title that something waits, and by a notification where its person asked for that. Nothing here answers by itself.
"use strict";
const attend = (() => {
  const W = {
    needs: "needs your answer", ended: s => ({ failed: "could not finish", stopped: "was stopped" })[s] || "is done",
    jump: n => n === 1 ? "A question waits" : `${n} questions wait`,
  };
  const settle = 1000; // ms from a question taking the focus to its keys: what is typed meanwhile was meant for the message field
  const long = 60000; // ms of a turn whose end is worth a notification
  const $ = id => document.getElementById(id);
  const scroll = $("scroll"), list = $("messages"), say = $("say"), jump = $("jump"), product = document.body.dataset.product;
  const asks = () => [...list.querySelectorAll(".ask")];
  const cardOf = e => e instanceof Element ? e.closest(".ask") : null;

  // --- focus ---
  // Whoever writes, reads a dialog or stands on something is left alone.
  const free = () => { const f = document.activeElement; return f === document.body || f === scroll || f === $("send") || f === say && !say.value.trim(); };
  const inSight = card => {
    const r = card.getBoundingClientRect(), s = scroll.getBoundingClientRect();
    return Math.min(r.bottom, s.bottom) - Math.max(r.top, s.top) >= Math.min(r.height, 120);
  };
  // On a phone the message field would bring its keyboard.
  function home() { (matchMedia("(pointer: coarse)").matches ? scroll : say).focus({ preventScroll: true }); }
  let held = null; // what of the messages had the focus, until something else has it
  let moving = false, away = false, arming = 0;
  addEventListener("blur", () => { away = true; }); // whoever comes back to this window may have their fingers elsewhere
  // focus puts a question itself under the focus, never one of its buttons.
  function focus(card) {
    card.tabIndex = -1;
    moving = true;
    card.focus({ preventScroll: true });
    moving = false;
  }
  function arm(card) {
    card.dataset.keys = "on"; // the style sheet shows them
    [...card.querySelectorAll(".choices > button")].slice(0, 3).forEach((b, i) => b.setAttribute("aria-keyshortcuts", String(i + 1)));
  }
  addEventListener("focusin", e => {
    const card = cardOf(e.target);
    clearTimeout(arming);
    for (const a of asks()) if (a !== card) delete a.dataset.keys;
    held = list.contains(e.target) ? e.target : null;
    if (card && (moving || away)) arming = setTimeout(() => { if (cardOf(document.activeElement) === card) arm(card); }, settle);
    else if (card) arm(card);
    away = false;
  });
  list.addEventListener("focusout", e => { const card = cardOf(e.target); if (card && !card.contains(e.relatedTarget)) delete card.dataset.keys; });
  list.addEventListener("keydown", e => {
    const card = cardOf(e.target);
    if (!card || e.ctrlKey || e.metaKey || e.altKey || e.isComposing || e.target.matches("input:not([type=checkbox]), textarea, select")) return;
    const n = ["1", "2", "3"].indexOf(e.key);
    if (e.key === "Escape") home();
    else if (n >= 0 && card.dataset.keys) {
      e.preventDefault();
      const b = card.querySelectorAll(".choices > button")[n];
      if (!inSight(card)) show(card);
      else if (b && !e.repeat && !card.dataset.busy) b.click();
    } else if (e.key.length === 1 && e.key !== " " && e.target === card) say.focus(); // the letter goes with the focus
  });

  // --- the way back to it ---
  function look() {
    const open = asks(), away = open.length && !open.some(inSight) ? open[0] : null;
    jump.hidden = !away;
    if (away) jump.textContent = (away.getBoundingClientRect().top < scroll.getBoundingClientRect().top ? "↑ " : "↓ ") + W.jump(open.length);
  }
  function show(card) {
    card.scrollIntoView({ block: "start" });
    focus(card);
    look();
  }
  jump.addEventListener("click", () => { const a = asks()[0]; if (a) show(a); });
  scroll.addEventListener("scroll", look, { passive: true });
  addEventListener("resize", look);

  // --- notifications ---
  function ring(title, tag) {
    if (!document.hidden || !bell.on()) return;
    try {
      const n = new Notification(title, { body: $("title").textContent, tag, silent: true });
      n.onclick = () => { window.focus(); n.close(); if (asks().length) show(asks()[0]); };
    } catch { /* phones have the name and not the thing: there the worker notifies */ }
  }

  // --- what changed ---
  let told = new Set(); // the questions that were there
  // changed is called when messages were drawn. m is the one, as data, and before its state until then; none of both for a whole chat.
  function changed(m, before) {
    const open = asks(), fresh = open.filter(a => !told.has(a.dataset.request));
    told = new Set(open.map(a => a.dataset.request));
    document.title = open.length ? `(${open.length}) ${W.needs} · ${product}` : product;
    if (m) for (const a of fresh) ring(`${product}: ${a.getAttribute("aria-label") || W.needs}`, a.dataset.request);
    if (m && m.end && ["working", "waiting"].includes(before) && new Date(m.end.at) - new Date(m.at) >= long) ring(`${product} ${W.ended(m.state)}`, m.id);
    const seen = fresh.find(inSight);
    if (seen && free()) focus(seen);
    else if (held && !held.isConnected && document.activeElement === document.body) { // it was answered, or went by its press: on to the next question, or back
      const next = open.find(inSight);
      if (next) focus(next); else home();
    }
    look();
  }

  return { changed, focus };
})();
