// The bell: whether this browser tells its person of what waits while they look elsewhere. Where it can be reached by a push service, that goes on
// when no page is open: sw.js shows it then. What is kept here says who asked for that: another who signs in is told nothing.
"use strict";
const bell = (() => {
  const W = {
    off: "Notify me on this device, also when the page is closed", offHere: "Notify me when something waits", on: "This device is notified, also when the page is closed",
    onHere: "Notifications are on while a chat is open", blocked: "Your browser blocks notifications of this page. Allow them in its settings for this address.",
  };
  const b = document.getElementById("bell"), words = b.querySelector("span");
  const can = "Notification" in window && isSecureContext, reached = can && "serviceWorker" in navigator && "PushManager" in window;
  const get = key => { try { return localStorage.getItem(key); } catch { return null; } };
  const set = (key, value) => { try { localStorage.setItem(key, value); } catch { /* this browser keeps nothing */ } };
  const on = () => can && Notification.permission === "granted" && get("notify") === "on";
  const registered = async () => navigator.serviceWorker && navigator.serviceWorker.getRegistration("/");

  // This policy gives one address whatever it is asked, and the page may have no other (the Content-Security-Policy of guard.go).
  const at = window.trustedTypes ? trustedTypes.createPolicy("worker", { createScriptURL: () => "/sw.js" }).createScriptURL("") : "/sw.js";
  async function subscribe() {
    const { key, user } = await kit.api("GET", "/push");
    await navigator.serviceWorker.register(at);
    const push = (await navigator.serviceWorker.ready).pushManager, ask = () => push.subscribe({ userVisibleOnly: true, applicationServerKey: key });
    const device = await ask().catch(async () => { await leave(); return ask(); }); // it had one for another key
    await kit.api("POST", "/push", device.toJSON());
    set("push", user);
  }
  async function leave() {
    const r = await registered(), device = r && await r.pushManager.getSubscription();
    if (device) await device.unsubscribe();
  }
  // again is for every page: a browser's address may have changed, and a session of this person may be new.
  async function again() {
    if (!reached || !on() || !get("push")) return;
    if ((await kit.api("GET", "/push")).user === get("push")) return subscribe();
    await leave();
    set("notify", "off");
    set("push", "");
  }

  function draw() {
    b.hidden = !can;
    if (!can) return;
    b.setAttribute("aria-pressed", String(on()));
    b.title = Notification.permission === "denied" ? W.blocked : on() ? (get("push") ? W.on : W.onHere) : reached ? W.off : W.offHere;
    b.setAttribute("aria-label", b.title);
    if (words) words.textContent = b.title;
  }
  b.addEventListener("click", async () => {
    const was = on();
    b.disabled = true;
    try {
      if (!was && await Notification.requestPermission() !== "granted") return;
      set("notify", was ? "off" : "on");
      if (!reached) return;
      set("push", "");
      if (!was) await subscribe();
      else { await leave(); await kit.api("DELETE", "/push"); }
    } catch { /* no push service, or no nod: the title says what there is */ } finally {
      b.disabled = false;
      draw();
    }
  });
  draw();
  again().catch(() => {}).then(draw);

  // settle takes the notifications away of questions that wait no more.
  async function settle(open) {
    const r = await registered();
    for (const n of r ? await r.getNotifications() : []) if (!open.has(n.tag)) n.close();
  }
  return { on, settle };
})();
