// Light, dark or the system's, as this browser keeps it. It runs before anything is drawn, so that nothing flashes.
"use strict";
(() => {
  const names = { system: "◐ As the system", light: "☀ Light", dark: "☾ Dark" };
  const kept = () => { try { return localStorage.getItem("theme"); } catch { return null; } };
  const now = () => Object.hasOwn(names, kept()) ? kept() : "system";
  function show() {
    document.documentElement.dataset.theme = now();
    for (const b of document.querySelectorAll(".theme")) b.textContent = names[now()];
  }
  show();
  addEventListener("DOMContentLoaded", show);
  addEventListener("storage", show); // another tab chose
  addEventListener("click", e => {
    if (!e.target.closest(".theme")) return;
    const all = Object.keys(names);
    try { localStorage.setItem("theme", all[(all.indexOf(now()) + 1) % all.length]); } catch { /* this browser keeps nothing */ }
    show();
  });
})();
