// The settings page's script: it draws the panel that the API makes for this person, and sends what they choose. It knows no setting by
// itself. All text becomes DOM through textContent.
"use strict";
(() => {
  const W = { apply: "Apply", save: "Save", cancel: "Cancel", none: "not set", gone: "The settings could not be read:", again: "Try again", elsewhere: "in another place" };
  const { el, api, spans, sure, dialog } = kit;
  const $ = id => document.getElementById(id);
  const body = document.body, main = $("panel"), chat = body.dataset.chat, product = body.dataset.product;
  let shown = null; // the panel

  // --- reading ---
  const viewNow = () => new URLSearchParams(location.search).get("view") || "";
  const pathOf = view => (chat ? "/settings/c/" + chat : "/settings") + (view ? "?view=" + encodeURIComponent(view) : "");
  let asked = 0; // the newest request wins, whichever answer comes last
  async function load(view, back) {
    const mine = ++asked;
    main.setAttribute("aria-busy", "true");
    try {
      const p = await api("GET", `/settings?view=${encodeURIComponent(view)}` + (chat ? "&chat=" + chat : ""));
      if (mine === asked && !(back && JSON.stringify(p) === JSON.stringify(shown))) draw(p);
    } catch (err) {
      if (err.status === 401) return location.reload();
      if (mine !== asked) return;
      if (shown) say(err.message, true);
      else main.replaceChildren(el("p", { class: "problem" }, `${W.gone} ${err.message}`), el("button", { type: "button", class: "act", onclick: () => load(view) }, W.again));
    }
    if (mine === asked) main.setAttribute("aria-busy", "false");
  }
  function go(view) {
    history.pushState({}, "", pathOf(view));
    say("");
    load(view).then(() => { scrollTo(0, 0); main.focus({ preventScroll: true }); });
  }
  addEventListener("popstate", () => load(viewNow()));
  // What others did meanwhile is there when somebody comes back, unless they are in the middle of something.
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && shown && !document.querySelector("dialog, .pick[data-changed]")) load(shown.view, true);
  });

  // --- doing ---
  // act sends what was chosen. It throws what the server refuses.
  async function act(token, text) {
    const mine = ++asked; // what is still being read is older than what this does
    main.setAttribute("aria-busy", "true");
    try {
      const out = await api("POST", "/settings", { view: shown.view, token, text, chat });
      say(out.say);
      if (mine !== asked) return; // somebody went on to another view
      if (!out.panel) return await load(shown.view);
      if (out.panel.view !== shown.view) history.pushState({}, "", pathOf(out.panel.view));
      draw(out.panel, token);
    } finally { main.setAttribute("aria-busy", "false"); }
  }
  async function choose(a, token) {
    if (a.confirm && !await sure(a.confirm, a.label, a.style)) return;
    try { await act(token); } catch (err) {
      if (err.status === 401) return location.reload();
      say(err.message, true);
      if (err.status < 500) await load(shown.view); // what was offered may have changed
    }
  }

  // --- drawing ---
  function draw(p, token) {
    const kept = new Map([...main.querySelectorAll("details[open]")].map(d => [d.dataset.fold, true]));
    shown = p;
    document.title = `${p.title} · ${product}`;
    $("tabs").replaceChildren(...(p.tabs || []).map(t => el("a", { href: pathOf(t.view), "aria-current": t.current ? "page" : null, title: t.hint || null, onclick: e => follow(e, t.view) }, tabLabel(t.label))));
    const open = $("tabs").querySelector("[aria-current]");
    if (open) $("tabs").scrollLeft = open.offsetLeft - 24;
    main.replaceChildren(el("h1", {}, p.title), (p.banner || []).length ? el("div", { class: "warn", role: "note" }, p.banner.map(l => el("p", {}, spans(l)))) : "", ...p.sections.map(s => section(s, p.title)));
    for (const d of main.querySelectorAll("details")) if (kept.has(d.dataset.fold)) d.open = true;
    if (!token) return;
    const same = [...main.querySelectorAll("[data-token], [data-tokens]")].find(e => e.dataset.token === token || (e.dataset.tokens || "").split(" ").includes(token));
    (same || main).focus({ preventScroll: !!same });
  }
  // A number in brackets at a label's end stands out: "Tools (3 new)".
  function tabLabel(label) {
    const m = label.match(/^(.*\S)\s+\(([^()]*\d[^()]*)\)$/);
    return m ? [el("span", {}, m[1] + " "), el("span", { class: "badge" }, m[2])] : label;
  }
  function follow(e, view) {
    if (e.metaKey || e.ctrlKey || e.shiftKey) return;
    e.preventDefault();
    go(view);
  }
  function section(s, above) {
    const rows = s.rows.length ? el("ul", { class: "rows-list" }, s.rows.map(row)) : s.empty ? el("p", { class: "none" }, s.empty) : null;
    return el("section", {}, s.title ? el("h2", { class: s.title === above ? "hide" : null }, s.title) : null, s.note ? el("p", { class: "dim" }, s.note) : null, rows);
  }
  function row(r) {
    const li = el("li", {}, el("div", { class: "about" }, el("p", { class: "line" }, spans(r.line)), (r.details || []).map(l => el("p", { class: "dim" }, spans(l)))));
    const about = ((r.line || []).find(x => x.strong) || {}).strong;
    if (r.acts && r.acts.length) li.append(el("div", { class: "acts" }, r.acts.map(a => drawAct(a, about))));
    return li;
  }
  const named = a => ({ title: a.hint || null, "aria-label": a.hint && a.hint !== a.label ? `${a.label}: ${a.hint}` : null, "data-style": a.style || null });
  // about is what the row is about, in its own words: a label need not say it to the eye again. Its name keeps it.
  function drawAct(a, about) {
    switch (a.kind) {
      case "do": return el("button", { type: "button", class: "act small", "data-token": a.token, ...named(a), onclick: () => choose(a, a.token) }, a.label);
      case "go": return el("a", { class: "act small", href: pathOf(a.view), ...named(a), onclick: e => follow(e, a.view) }, a.label);
      case "fill": return el("button", { type: "button", class: "act small", "data-token": a.token, ...named(a), "aria-label": a.hint && a.hint !== a.label ? `${a.label}: ${a.hint}` : a.label, onclick: () => fill(a) }, shorter(a.label, about).replace(/…?$/, "…"));
      case "pick": return pick(a, about);
    }
    return a.href ? el("a", { class: "act small", href: a.href, ...named(a) }, a.label) : el("span", { class: "dim" }, `${a.label} (${W.elsewhere})`);
  }
  const shorter = (label, about) => about && label.endsWith(": " + about) ? label.slice(0, -about.length - 2) : label;
  // A choice takes effect by its button, not while somebody looks through the list with the arrow keys.
  function pick(a, about) {
    const options = a.options || [], now = options.find(o => o.current);
    const select = el("select", { "aria-label": a.hint && a.hint !== a.label ? `${a.label}: ${a.hint}` : a.label, "data-tokens": options.map(o => o.token).join(" ") },
      now ? null : el("option", { value: "", selected: true }, W.none), options.map(o => el("option", { value: o.token, selected: o === now }, o.label)));
    const apply = el("button", { type: "submit", class: "act small", hidden: true }, W.apply);
    const box = el("form", { class: "pick", onsubmit: e => { e.preventDefault(); if (!apply.hidden) choose(a, select.value); } }, el("label", {}, el("span", { class: a.label === about ? "hide" : null }, a.label), select), apply);
    select.addEventListener("change", () => {
      apply.hidden = select.value === (now ? now.token : "");
      box.toggleAttribute("data-changed", !apply.hidden);
    });
    return box;
  }
  function fill(a) {
    const long = a.max > 120 || a.value && a.value.length > 60;
    const field = el(long ? "textarea" : "input", { id: "fill", maxlength: a.max || null, placeholder: a.like || null, rows: long ? "4" : null, autocomplete: "off", spellcheck: "false" });
    field.value = a.value || "";
    const problem = el("p", { class: "problem", role: "alert", hidden: true }), save = el("button", { type: "submit", class: "act", "data-act": "send" }, W.save);
    const d = dialog("fill", a.label.replace(/…$/, ""), el("form", { class: "want", onsubmit: async e => {
      e.preventDefault();
      if (a.confirm && !await sure(a.confirm, a.label, a.style)) return;
      save.disabled = true;
      try { await act(a.token, field.value); d.close(); } catch (err) {
        problem.textContent = err.message;
        problem.hidden = save.disabled = false;
        save.disabled = false;
      }
    } }, el("label", { for: "fill" }, a.hint || a.label), a.like ? el("p", { class: "dim" }, a.like) : null, field, problem,
      el("div", { class: "choices" }, el("button", { type: "button", class: "act", "data-act": "cancel", onclick: () => d.close() }, W.cancel), save)));
    field.focus();
  }

  // --- saying ---
  let timer = 0;
  function say(text, bad) {
    const s = $("said");
    s.hidden = !text;
    s.toggleAttribute("data-bad", !!bad);
    s.firstElementChild.textContent = text || "";
    clearTimeout(timer);
    if (text) timer = setTimeout(() => say(""), 20000);
  }
  $("said").lastElementChild.addEventListener("click", () => say(""));
  addEventListener("keydown", e => { if (e.key === "Escape" && !document.querySelector("dialog")) say(""); });

  load(viewNow());
})();
