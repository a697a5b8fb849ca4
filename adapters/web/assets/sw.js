// The page's worker shows what is pushed, also while no page is open. It keeps nothing and answers no request: nothing here works without nod.
"use strict";
addEventListener("activate", e => e.waitUntil(clients.claim()));
let last = Promise.resolve(); // one after the other: Chromium takes what is not displayed yet for closed, when it is asked what there is
addEventListener("push", e => e.waitUntil(last = last.catch(() => {}).then(() => show(e.data.json()))));
addEventListener("notificationclick", e => {
  e.notification.close();
  e.waitUntil(open(e.notification.data));
});
// The browser may give itself another address while no page is there that would say so (bell.js).
addEventListener("pushsubscriptionchange", e => e.waitUntil((async () => {
  const { key } = await (await fetch("/api/v1/push")).json();
  if (!key) return; // the session is over
  const device = await registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
  await fetch("/api/v1/push", { method: "POST", body: JSON.stringify(device) });
})()));

// Pages that the browser keeps to go back to are not among these, as they would be among those that are not ours to control.
const windows = () => clients.matchAll({ type: "window" });
const path = c => new URL(c.url).pathname;

async function show(m) {
  // Whoever looks at the question is not told of it. Browsers let that pass while a page of ours is in front, but for Apple's, which would take
  // the permission away: https://developer.apple.com/documentation/usernotifications/sending-web-push-notifications-in-web-apps-and-browsers
  const device = await registration.pushManager.getSubscription(), apple = device && new URL(device.endpoint).hostname.endsWith(".push.apple.com");
  const seen = !apple && (await windows()).some(c => c.focused && c.visibilityState === "visible" && ["/inbox", m.to].includes(path(c)));
  if (!seen) await registration.showNotification(m.title, { body: m.body, tag: m.tag, data: m.to, icon: "/assets/icon.svg" });
  await settle(m.tag);
}

// settle takes away what is answered by now. What has just come may not be in the list yet. The next to be shown waits for it, so not for long.
async function settle(fresh) {
  const answer = await fetch("/api/v1/inbox", { signal: AbortSignal.timeout(3000) }).catch(() => null), now = answer && answer.ok ? await answer.json() : { more: 1 };
  if (now.more) return;
  const waits = new Set([fresh, ...now.asks.map(a => a.request_id)]);
  for (const n of await registration.getNotifications()) if (!waits.has(n.tag)) n.close();
}

async function open(to) {
  const there = (await windows()).find(c => path(c) === to);
  return there ? there.focus() : clients.openWindow(to);
}
