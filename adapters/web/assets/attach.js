// Files beside what is being written: picked, pasted or dropped on the field, and sent with the next message.
"use strict";
const attach = (() => {
  const W = { remove: name => `Do not send ${name}`, tooMany: n => `A message may have up to ${n} files.`, tooBig: n => `${n} is bigger than 10 MB.` };
  const most = 10, biggest = 10 << 20; // as the server says
  const { el, api } = kit;
  const $ = id => document.getElementById(id);
  let files = [], complain = () => {};
  function draw() {
    const chips = $("files");
    chips.hidden = !files.length;
    chips.replaceChildren(...files.map(f => {
      const b = el("button", { type: "button", class: "quiet", "aria-label": W.remove(f.name) }, "✕");
      b.addEventListener("click", () => { files = files.filter(x => x !== f); draw(); $("say").focus(); });
      return el("li", {}, el("span", {}, f.name), b);
    }));
  }
  function add(list) {
    for (const f of list) {
      if (f.size > biggest) complain(W.tooBig(f.name));
      else if (files.length >= most) complain(W.tooMany(most));
      else files.push(f);
    }
    draw();
  }
  // take empties the list and gives what was in it; back puts that into it again.
  function take() { const all = files; files = []; draw(); return all; }
  // upload sends them, and gives what the message says of each.
  async function upload(chat, all) {
    const sent = [];
    for (const f of all) sent.push(await api("POST", `/chats/${chat}/files?name=${encodeURIComponent(f.name)}`, f));
    return sent;
  }
  $("attach").addEventListener("click", () => $("pick").click());
  $("pick").addEventListener("change", () => { add($("pick").files); $("pick").value = ""; $("say").focus(); });
  $("say").addEventListener("paste", e => { if (e.clipboardData.files.length) { e.preventDefault(); add(e.clipboardData.files); } });
  $("composer").addEventListener("dragover", e => e.preventDefault());
  $("composer").addEventListener("drop", e => { if (e.dataTransfer.files.length) { e.preventDefault(); add(e.dataTransfer.files); } });
  return { take, back: all => { files = [...all, ...files]; draw(); }, upload, any: () => files.length > 0, onTrouble: f => { complain = f; } };
})();
