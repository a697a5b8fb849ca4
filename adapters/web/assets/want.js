// What a tool's server wants of a person while it runs: a form to fill in, or an address to open. It is fetched for the one person who
// may answer, shown in a dialog, and never kept.
"use strict";
const wants = (() => {
  const { el, api, dialog } = kit;
  const W = {
    writes: "The server writes (not checked):", send: "Send", cancel: "Cancel", done: "Done", open: "Open the page", optional: "optional", none: "—",
    form: s => `${s} asks you`, url: s => `${s} wants you to open an address`, missing: "Choose at least one.",
  };

  // open fetches what is wanted and shows it. send takes the answer's fields; it throws what the server refuses. say tells the person
  // what went wrong where no dialog is open.
  async function open(token, send, say) {
    try {
      const w = await api("GET", `/asks/${token}/want`);
      if (w.kind === "url") address(w, send);
      else form(w, send);
    } catch (err) { say(err.message); }
  }

  function form(w, send) {
    const inputs = (w.fields || []).map(field), problem = el("p", { class: "problem", role: "alert", hidden: true });
    const submit = el("button", { type: "submit", class: "act", "data-act": "send" }, W.send);
    const f = el("form", { class: "want", novalidate: true, onsubmit: async e => {
      e.preventDefault();
      const bad = inputs.filter(i => !i.check());
      if (bad.length) return bad[0].focus();
      submit.disabled = true;
      try {
        await send(Object.fromEntries(inputs.filter(i => i.given()).map(i => [i.name, i.value()])));
        d.close();
      } catch (err) {
        problem.textContent = err.message;
        problem.hidden = false;
        submit.disabled = false;
      }
    } }, inputs.map(i => i.box), problem, buttons(() => d.close(), submit));
    const d = dialog("form", W.form(w.server_name), el("p", { class: "warning" }, w.warning), said(w), f);
    if (inputs.length) inputs[0].focus();
  }

  const said = w => w.message ? [el("p", { class: "dim" }, W.writes), el("p", { class: "said" }, w.message)] : null;
  function buttons(cancel, ...kids) {
    return el("div", { class: "choices" }, el("button", { type: "button", class: "act", "data-act": "cancel", onclick: cancel }, W.cancel), kids);
  }

  // field is one value of a form: its box on the page, whether it is filled in as it should be, and what it comes to.
  let counted = 0;
  function field(x) {
    const id = `want-${++counted}`, wrong = el("p", { class: "problem", id: id + "-wrong", hidden: true });
    const label = [x.title, x.required || x.type === "boolean" ? null : el("span", { class: "optional" }, ` (${W.optional})`)];
    const about = x.description ? el("p", { class: "dim", id: id + "-about" }, x.description) : null;
    const described = { "aria-describedby": (about ? id + "-about " : "") + id + "-wrong" };
    const told = say => { wrong.textContent = say; wrong.hidden = !say; return !say; };
    if (x.many) {
      const had = (x.default || "").split("\n");
      const ticks = (x.options || []).map(o => el("input", { type: "checkbox", value: o.value, checked: had.includes(o.value) }));
      const all = () => ticks.filter(t => t.checked).map(t => t.value);
      return { name: x.name, given: () => all().length > 0, value: () => all().join("\n"), check: () => told(x.required && !all().length ? W.missing : ""), focus: () => ticks[0]?.focus(),
        box: el("fieldset", { "data-field": x.name, ...described }, el("legend", {}, label), about, (x.options || []).map((o, i) => el("label", { class: "tick" }, ticks[i], o.label)), wrong) };
    }
    if (x.type === "boolean") {
      const tick = el("input", { type: "checkbox", id, checked: x.default === "true", ...described });
      return { name: x.name, given: () => true, value: () => String(tick.checked), check: () => true, focus: () => tick.focus(),
        box: el("div", { "data-field": x.name }, el("label", { class: "tick" }, tick, label), about) };
    }
    const input = entry(x, id, described);
    return { name: x.name, given: () => input.value !== "", value: () => input.value, focus: () => input.focus(),
      check: () => { const ok = told(input.validationMessage); input.setAttribute("aria-invalid", String(!ok)); return ok; },
      box: el("div", { "data-field": x.name }, el("label", { for: id }, label), about, input, wrong) };
  }
  const types = { email: "email", uri: "url", date: "date" };
  function entry(x, id, more) {
    const same = { id, required: x.required, autocomplete: "off", ...more };
    if (x.options && x.options.length) {
      const known = x.options.some(o => o.value === x.default);
      return el("select", same, known && x.required ? null : el("option", { value: "" }, W.none), x.options.map(o => el("option", { value: o.value, selected: o.value === x.default }, o.label)));
    }
    if (x.type === "number" || x.type === "integer")
      return el("input", { ...same, type: "number", step: x.type === "integer" ? "1" : "any", min: x.min, max: x.max, value: x.default });
    return el("input", { ...same, type: types[x.format] || "text", minlength: x.min, maxlength: x.max, value: x.default, placeholder: x.format === "date-time" ? "2026-03-14T14:02:00Z" : null });
  }

  // An address stands there as text first, with its host standing out. Nothing looks at it before the person does.
  function address(w, send) {
    const a = w.address, problem = el("p", { class: "problem", role: "alert", hidden: true });
    const done = el("button", { type: "button", class: "act", "data-act": "send", onclick: async () => {
      done.disabled = true;
      try { await send(); d.close(); } catch (err) {
        problem.textContent = err.message;
        problem.hidden = done.disabled = false;
      }
    } }, W.done);
    const d = dialog("url", W.url(w.server_name),
      el("p", { class: "address mono" }, a.before, el("strong", {}, a.host), a.after), a.warning ? el("p", { class: "problem" }, a.warning) : null,
      el("p", { class: "warning" }, w.warning), said(w), problem,
      buttons(() => d.close(), a.url ? el("a", { class: "act", href: a.url, target: "_blank", rel: "noreferrer noopener" }, W.open) : null, done));
  }

  return { open };
})();
