// A question as a card, drawn in one way wherever it stands: in its chat, and in the inbox. A click shows that it is being recorded; the card
// changes when the server says so.
"use strict";
// way is how a page answers: list holds its cards, send(choice, message, more) posts a click, details(choice, message) gives all that is known
// of a call, begin() gives what is called once a click was taken, whisper(text) tells the person something, focus(card) is for a card drawn anew.
const cards = way => {
  const { el, spans, highlight, sure, details } = kit;
  const W = {
    moreChars: n => ` … ${n} more characters, in the details`,
    wants: "The server writes (not checked):", more: "More choices",
    recording: "Recording your answer…", reason: "Why not? (optional, the model reads it)", denyNow: "Deny", back: "Back",
    editHint: "The arguments as JSON. Nothing runs by this: the changed call is asked for anew.", editNow: "Ask with these arguments",
  };

  // --- buttons ---
  function button(c, run, small) {
    return el("button", { type: "button", class: small ? "act small" : "act", "data-choice": c.choice, "data-token": c.token, "data-style": c.style || null,
      "aria-label": c.hint ? `${c.label}: ${c.hint}` : null, title: c.hint || null, onclick: () => run(c) }, c.label);
  }
  function row(choices, run, small) {
    return el("div", { class: "choices" }, (choices || []).map(c => button(c, run, small)));
  }
  // mayChoose tells who would be refused, who then neither confirms nor writes for nothing.
  const mayChoose = (c, m) => way.send(c, m, { check: true });
  async function click(c, box, m, reason, args) {
    if (box.dataset.busy === c.choice) return; // the second of a double click
    const done = way.begin();
    try {
      if (c.confirm) {
        await mayChoose(c, m);
        if (!await sure(c.confirm, c.label, c.style)) return;
      }
      box.dataset.busy = c.choice;
      const out = await way.send(c, m, { reason, arguments: args });
      const hidden = (out.decisions || []).map(d => d.hidden).find(Boolean);
      if (hidden) { delete box.dataset.busy; details(hidden); }
      done();
      // The next event redraws the box. Should it be lost, the buttons come back by themselves.
      setTimeout(() => { delete box.dataset.busy; }, 8000);
    } catch (err) {
      delete box.dataset.busy;
      way.whisper(err.message);
    }
  }

  // A checkbox decides nothing: it is recorded, and the card is drawn anew.
  function checkbox(c, m) {
    const box = el("input", { type: "checkbox", "data-choice": c.choice, checked: c.toggle === "on", onchange: async () => {
      box.disabled = true;
      try { await way.send(c, m, {}); } catch (err) {
        box.checked = c.toggle === "on";
        way.whisper(err.message);
      }
      box.disabled = false;
    } });
    return el("label", { class: "tick", title: c.hint || null }, box, c.label);
  }
  async function view(c, m) {
    try { details(await way.details(c, m)); } catch (err) { way.whisper(err.message); }
  }

  // --- the card ---
  // A card, each part once: what is asked for small, the question, the arguments, the facts, the buttons, and small below them who may
  // answer and the warning. All else is behind ⋯.
  function drawAsk(b, m) {
    const card = el("article", { class: b.brief ? "ask brief" : "ask", "data-kind": b.kind, "data-call": b.tool_call_id, "data-request": b.request_id, "aria-live": "polite", "aria-label": b.question || b.header });
    card.append(el("p", { class: "small" }, icon(b.icon), b.header ? el("span", { class: "header" }, b.header) : null, b.header && b.run ? " · " : null, b.run ? el("span", { class: "run" }, b.run) : null));
    card.append(el("h3", { class: "question" }, b.kind === "outcome" ? el("span", { "aria-hidden": "true" }, "❓ ") : null, b.question));
    if (b.says) card.append(el("p", { class: "dim" }, W.wants), el("p", { class: "said" }, b.says));
    card.append(...drawArgs(b.arguments || { json: "{}" }).filter(Boolean));
    if (b.facts) card.append(el("p", { class: "facts" }, spans(b.facts)));
    const run = c => c.choice === "answer" ? wants.open(c.token, fields => way.send(c, m, { fields }), way.whisper) : click(c, card, m);
    const shown = b.choices || [], forms = [reasonForm(b, card, m), editForm(b, card, m)].filter(Boolean);
    const menu = b.more && b.more.length ? el("details", { class: "more", "data-fold": "more" }, el("summary", { "aria-label": W.more, title: W.more }, "⋯"),
      el("div", { class: "menu" }, b.more.map(c => drawMore(c, m, run, forms)))) : null;
    const answers = el("div", { class: "answers" }, row(shown, run), menu);
    if (menu) menu.addEventListener("toggle", () => { if (menu.open) answers.scrollIntoView({ block: "nearest" }); });
    card.append(answers, el("div", { class: "busy", role: "status" }, W.recording), ...forms.map(f => f.form));
    if (b.footer || b.warning || b.review) card.append(el("p", { class: "foot", "aria-live": "off" }, spans(b.footer), b.warning ? el("span", { class: "warning" }, " " + b.warning + " ") : null,
      b.review ? el("span", { class: "review" }, el("strong", {}, b.review)) : null));
    return card;
  }
  // Short arguments stand as rows, others as JSON: once, as they will run. Of a text that is replaced stands what goes and comes.
  function drawArgs(a) {
    const rows = a.rows || [], say = a.say ? el("p", { class: "dim proof" }, a.say) : null;
    if (a.diff) return [el("pre", { class: "args diff" }, a.diff.split("\n").map(l => [el({ "- ": "del", "+ ": "ins" }[(l + " ").slice(0, 2)] || "span", {}, escapes(l)), "\n"])), say];
    if (rows.length && rows.length <= 12 && !a.hidden) return [el("dl", { class: "rows" }, rows.map(r => [el("dt", { class: "mono" }, r.name), el("dd", { class: "mono" }, escapes(r.value), r.hidden ? el("em", {}, W.moreChars(r.hidden)) : null)])), say];
    return [!a.json || a.json === "{}" ? null : el("pre", { class: "args" }, highlight(a.json)), say];
  }
  // A line of the menu: a checkbox, a form that opens on the card, the details, or a choice.
  function drawMore(c, m, run, forms) {
    if (c.toggle) return checkbox(c, m);
    const form = forms.find(f => f.choice === c.choice);
    const act = form ? form.open : c.choice === "view" ? c => view(c, m) : run;
    return el("div", {}, button(c, act, true), c.hint ? el("span", { class: "hint" }, c.hint) : null);
  }
  function formOf(choice, c, card, m, submit, label, kids) {
    const field = kids.find(k => k.matches("input, textarea"));
    const form = el("form", { class: choice, hidden: true, onsubmit: e => { e.preventDefault(); submit(field.value); } }, kids,
      el("button", { type: "submit", class: "act small", "data-choice": choice === "edit" ? "edit" : "deny" }, label), el("button", { type: "button", class: "quiet", onclick: () => { form.hidden = true; } }, W.back));
    return { choice, form, open: async () => {
      card.querySelector(".more").open = false;
      try { await mayChoose(c, m); } catch (err) { return way.whisper(err.message); }
      const now = way.list.querySelector(`[data-request="${card.dataset.request}"] form.${choice}`); // the card may have been drawn anew meanwhile
      if (!now) return;
      now.hidden = false;
      now.querySelector("input, textarea").focus();
    } };
  }
  function reasonForm(b, card, m) {
    const deny = (b.choices || []).find(c => c.choice === "deny");
    return deny && formOf("deny_reason", deny, card, m, why => click(deny, card, m, why), W.denyNow, [el("input", { type: "text", maxlength: "400", "aria-label": W.reason, placeholder: W.reason })]);
  }
  function editForm(b, card, m) {
    const edit = (b.more || []).find(c => c.choice === "edit");
    if (!edit) return null;
    // Characters that are made visible become JSON's own escapes again; a backslash that is one stays.
    const units = h => [...String.fromCodePoint(parseInt(h, 16))].map(ch => ch.length > 1 ? [ch.charCodeAt(0), ch.charCodeAt(1)] : [ch.charCodeAt(0)]).flat();
    const text = (b.arguments.edit || "{}").replace(/\\\\|\\u\{([0-9A-Fa-f]+)\}/g, (m, h) => h ? units(h).map(u => "\\u" + u.toString(16).padStart(4, "0")).join("") : m);
    const field = el("textarea", { class: "mono", rows: String(Math.min(14, text.split("\n").length + 1)), spellcheck: "false", "aria-label": W.editHint });
    field.value = text;
    return formOf("edit", edit, card, m, args => click(edit, card, m, undefined, args), W.editNow, [el("p", { class: "dim" }, W.editHint), field]);
  }
  function escapes(text) { return String(text).split(/(\\[ux]\{[0-9A-Fa-f]+\})/).map((p, i) => i % 2 ? el("span", { class: "j-esc" }, p) : p); }
  // An icon is a symbol or nothing: an address would tell a stranger that somebody looks.
  function icon(s) { return (s && [...s].length <= 3 && !/[\w:/]/.test(s) ? s : "⚠️") + " "; }

  // keep hands what somebody has written over to the same form of the card as it is now, and gives what puts the cursor back.
  function keep(form, same, focused) {
    if (!same) return null;
    const [was, now] = [form, same].map(x => x.querySelector("input, textarea"));
    same.hidden = false;
    now.value = was.value;
    return was === focused && (() => { now.focus(); now.setSelectionRange(was.selectionStart, was.selectionEnd); });
  }
  // place keeps what did not change where it stands: an open fold stays open, a focused button stays focused, what is written stays.
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
          const writing = [...e.querySelectorAll("form:not([hidden])")].map(form => keep(form, fresh.querySelector("form." + form.className), f)).find(Boolean);
          if (spot === e) spot = fresh;
          e.replaceWith(fresh);
          if (e === f || e.querySelector(":scope > .ask") === f && f) way.focus(fresh);
          if (writing) writing();
          if (at) { const same = [...fresh.querySelectorAll("[data-choice]")].find(x => x.dataset.choice === at); if (same) same.focus(); }
        }
        e = fresh;
      }
      if (e === spot) spot = spot.nextElementSibling;
      else box.insertBefore(e, spot);
    }
    had.forEach(e => e.remove());
  }

  return { button, row, click, drawAsk, place };
};
