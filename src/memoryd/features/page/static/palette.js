// @ts-check
// Go to anything: a combobox. The views are there at once; what the server finds follows.
const $ = (/** @type {string} */ s) => /** @type {HTMLElement} */ (document.querySelector(s));
const PAUSE = 90; // milliseconds after the last letter
/** @typedef {{kind?: string, title: string, address: string}} Goal */

let asked = new AbortController(), waits = 0;
export function palette() {
  const text = /** @type {HTMLInputElement} */ ($("#palette-text")), list = $("#palette-list"), box = /** @type {HTMLDialogElement} */ ($("#palette"));
  const base = document.body.dataset.base, views = /** @type {HTMLAnchorElement[]} */ ([...document.querySelectorAll(".top nav a")]);
  let chosen = 0, moved = false, goals = /** @type {Goal[]} */ ([]), found = /** @type {Goal[]} */ ([]);

  function show() {
    const wanted = text.value.trim(), before = moved ? goals[chosen]?.address : undefined;
    goals = views.map((a) => ({ title: a.textContent || "", address: a.getAttribute("href") || "" })).filter((one) => one.title.toLowerCase().includes(wanted.toLowerCase())).concat(found);
    if (wanted && base) goals.push({ title: `Search memories: ${wanted}`, address: `${base}?q=${encodeURIComponent(wanted)}` }, { title: `Recall as an agent: ${wanted}`, address: `${base}/recall?q=${encodeURIComponent(wanted)}` });
    goals.push({ title: "Workspaces", address: "/ui/" });
    chosen = Math.max(0, goals.findIndex((one) => one.address === before));
    list.replaceChildren(...goals.map((one, at) => {
      const item = document.createElement("li"), kind = document.createElement("span");
      item.id = `goal-${at}`;
      item.setAttribute("role", "option");
      if (one.kind) { kind.className = "kind"; kind.textContent = one.kind; item.append(kind, " "); }
      item.append(one.title);
      item.onclick = () => leave(at);
      return item;
    }));
    choose(chosen);
  }
  function choose(/** @type {number} */ at) {
    chosen = (at + goals.length) % goals.length;
    [...list.children].forEach((item, place) => item.setAttribute("aria-selected", String(place === chosen)));
    text.setAttribute("aria-activedescendant", `goal-${chosen}`);
    list.children[chosen].scrollIntoView({ block: "nearest" });
  }
  const leave = (/** @type {number} */ at) => { box.close(); location.assign(goals[at].address); };

  function ask() {
    asked.abort();
    clearTimeout(waits);
    moved = false;
    const wanted = text.value.trim();
    if (!wanted) found = [];
    show();
    if (!wanted || !base) return;
    const now = asked = new AbortController();
    waits = setTimeout(() => fetch(`${base}/find?q=${encodeURIComponent(wanted)}`, { signal: now.signal }).then((answer) => answer.ok ? answer.json() : []).then((goals) => {
      found = goals;
      show();
      $("#palette-found").textContent = `${found.length} found`;
    }).catch(() => {}), PAUSE); // it was superseded, or the server is gone: what needs no server stays
  }

  text.value = "";
  text.oninput = ask;
  text.onkeydown = (event) => {
    const by = /** @type {Record<string, number>} */ ({ ArrowDown: 1, ArrowUp: -1 })[event.key];
    if (by) { moved = true; choose(chosen + by); } else if (event.key === "Enter") leave(chosen); else return;
    event.preventDefault();
  };
  box.onclose = () => asked.abort();
  $("#palette-found").textContent = "";
  if (!box.open) box.showModal();
  show();
}
