// @ts-check
// The behaviour of the page: keys, toasts with an undo, selecting many, the palette, and live news.
/* global htmx */
import { aim, unsaved } from "./editing.js";
import { palette } from "./palette.js";
const h = /** @type {any} */ (window).htmx;
const $ = (/** @type {string} */ s, /** @type {ParentNode} */ root = document) => /** @type {HTMLElement | null} */ (root.querySelector(s));
const $$ = (/** @type {string} */ s) => /** @type {HTMLElement[]} */ ([...document.querySelectorAll(s)]);
const base = () => document.body.dataset.base || "";
const dialog = (/** @type {string} */ id) => /** @type {HTMLDialogElement} */ (document.getElementById(id));
const typing = (/** @type {EventTarget | null} */ e) => e instanceof HTMLElement && e.matches("input:not([type=checkbox]), textarea, select");

// lists -----------------------------------------------------------------------------------------------------------

const cards = () => $$(".card[tabindex]");

function move(/** @type {number} */ by) {
  const all = cards(), at = all.indexOf(/** @type {HTMLElement} */ (document.activeElement?.closest(".card")));
  const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.max(0, Math.min(all.length - 1, at + by))];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

function current() {
  return document.activeElement?.closest(".card") || ($("main[data-record]") ? $(".card") : null);
}

// What a key does with a card; without a button for it, the reason, which the card knows.
function press(/** @type {string} */ what) {
  const card = /** @type {HTMLElement | null | undefined} */ (current()), button = /** @type {HTMLElement | null | undefined} */ (card?.querySelector(`[data-do="${what}"]`));
  if (!button) return why(card ? card.dataset[what] || "This key does nothing here." : cards().length ? "Choose one first: the arrows, or j and k, move in the list." : "There is nothing here to choose.");
  h.process(button); // a key may be pressed before htmx has processed the page
  button.click();
}

function count() {
  const bar = $("[data-many]"), n = $$('#results .choose input:checked').length;
  if (!bar) return;
  bar.hidden = n === 0;
  $("[data-count]", bar)?.replaceChildren(`${n} chosen`);
  $("[data-two]", bar)?.toggleAttribute("hidden", n !== 2);
}

// keys ------------------------------------------------------------------------------------------------------------

const KEYS = {
  "/": () => $("#q, #find, #question, .over input")?.focus(),
  ArrowDown: () => move(1), j: () => move(1), ArrowUp: () => move(-1), k: () => move(-1),
  n: () => $('[data-do="new"]')?.click(), e: () => press("edit"), Delete: () => press("forget"), u: () => { const button = $('#toast [data-do="undo"]'); if (button) button.click(); else why("There is nothing to undo here; the history has everything."); },
  x: () => { const box = /** @type {HTMLInputElement | null} */ (current()?.querySelector(".choose input")); if (box) { box.checked = !box.checked; count(); } else why(current() ? "This cannot be selected for an action on many." : "Choose one first: the arrows, or j and k, move in the list."); },
  Enter: () => { if (document.activeElement?.matches(".card")) /** @type {HTMLElement | null} */ (document.activeElement.querySelector("a.open"))?.click(); else return true; },
  "?": () => dialog("help").showModal(),
};

document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") { event.preventDefault(); return palette(); }
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.key === "Escape" && typing(target)) {
    const cancel = /** @type {HTMLElement | null} */ (target.closest(".editing")?.querySelector('[data-do="cancel"]') ?? null);
    return cancel && !unsaved(/** @type {Element} */ (cancel.closest(".editing"))) ? cancel.click() : target.blur();
  }
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) return target.closest("form")?.requestSubmit();
  if (event.key === "ArrowDown" && target.id === "q") { event.preventDefault(); return move(1); }
  if (typing(target) || document.querySelector("dialog[open]") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (target.closest("#picture") && event.key.startsWith("Arrow")) return;
  const act = /** @type {Record<string, () => unknown>} */ (KEYS)[event.key];
  if (act && act() !== true) event.preventDefault();
});

// clicks ----------------------------------------------------------------------------------------------------------

document.addEventListener("click", (event) => {
  const what = /** @type {HTMLElement} */ (event.target).closest("[data-do]")?.getAttribute("data-do");
  if (what === "undo") undo(/** @type {HTMLElement} */ (event.target));
  if (what === "help") dialog("help").showModal();
  if (what === "dismiss") $("#toast")?.replaceChildren();
  if (what === "close") dialog("dialog").close();
  if (what === "redraw") document.dispatchEvent(new Event("memoryd:graph"));
  if (what === "cancel") put(/** @type {HTMLElement} */ (event.target));
  if (what === "none") { $$("#results .choose input").forEach((box) => { /** @type {HTMLInputElement} */ (box).checked = false; }); count(); }
});
document.addEventListener("change", (event) => { if (/** @type {HTMLElement} */ (event.target).closest(".choose")) count(); });
document.addEventListener("input", (event) => {
  const range = /** @type {HTMLInputElement} */ (event.target), shown = range.type === "range" && range.closest("div")?.querySelector("output");
  if ("time" in range.dataset) $("output", /** @type {HTMLElement} */ (range.parentElement))?.replaceChildren(range.value === range.max ? "now" : `${new Date(Number(range.value) * 1000).toISOString().slice(0, 16).replace("T", " ")} UTC`);
  if (shown) shown.textContent = String(Number(range.value));
});

// The form of a new memory comes from a button, to which it goes back.
function put(/** @type {HTMLElement} */ button) {
  const place = button.closest("#new");
  if (!place || (unsaved(place) && !confirm("Your text is not stored. Discard it?"))) return;
  place.replaceChildren();
  $('[data-do="new"]')?.focus();
}

// By hand, so that it works as soon as it is visible; from the toast, because htmx queues only the last request of the body.
function undo(/** @type {HTMLElement} */ button) {
  const { path = "/restore", ...values } = JSON.parse(button.dataset.undo || "{}");
  button.remove();
  const panel = path === "/n" && $("#panel"); // the answer is the node after the change
  h.ajax("POST", base() + path, { values, source: "#toast", target: panel || "#toast", swap: panel ? "innerHTML" : "none" }).then(() => { if (path === "/n" && $("main[data-fresh]")) refresh(); });
}

// Enter searches by meaning: drop the search by words that still waits for the next letter.
let meant = /** @type {string | null} */ (null);
document.addEventListener("submit", (event) => { if (/** @type {HTMLElement} */ (event.target).id === "search") meant = /** @type {HTMLInputElement} */ ($("#q")).value; });
document.addEventListener("htmx:confirm", (event) => {
  const q = /** @type {HTMLInputElement} */ (event.target);
  if (q.id === "q" && q.value === meant) event.preventDefault(); else if (q.id === "q") meant = null;
});

// answers ---------------------------------------------------------------------------------------------------------

let fading = 0;
document.addEventListener("htmx:afterSettle", (event) => {
  clearTimeout(fading);
  const toast = $("#toast");
  if (toast?.firstElementChild && !$(".bad", toast)) fading = setTimeout(() => { if (!toast.matches(":hover, :focus-within")) toast.replaceChildren(); }, 20000);
  if (/** @type {any} */ (event).detail.target?.id === "dialog" && !dialog("dialog").open && $("#dialog form")) dialog("dialog").showModal();
  const view = $("main[data-view]")?.dataset.view || (location.pathname.replace(base(), "").split("/")[1] || "memories");
  $$(".top nav a").forEach((a) => { a.dataset.view === (view === "m" ? "memories" : view === "n" ? "graph" : view) ? a.setAttribute("aria-current", "page") : a.removeAttribute("aria-current"); });
  there();
  $(".editing textarea")?.matches(":focus") || /** @type {HTMLElement | null} */ ($(".editing textarea[autofocus]"))?.focus();
  count();
});
// On a phone the list of views is wider than the screen.
const there = () => { const nav = $(".top nav"), a = /** @type {HTMLElement | null} */ ($('.top nav a[aria-current="page"]')); if (nav && a) nav.scrollLeft = a.offsetLeft - nav.offsetLeft - (nav.clientWidth - a.clientWidth) / 2; };
there();
dialog("dialog").addEventListener("close", () => $("#dialog")?.replaceChildren());

document.addEventListener("memoryd:changed", (event) => {
  const asked = dialog("dialog").open, ids = /** @type {any} */ (event).detail.ids || [];
  dialog("dialog").close();
  if (asked) return refresh();
  const missing = ids.filter((/** @type {string} */ id) => {
    const card = $(`article[data-id="${CSS.escape(id)}"]`);
    if (card && !$("main[data-record]")) renew(`${base()}/m/${encodeURIComponent(id)}/card`, () => $(`article[data-id="${CSS.escape(id)}"]`));
    return !card;
  });
  if (missing.length || ids.length > 1 || $("main[data-record]") || $("main[data-fresh]")) refresh();
});

document.addEventListener("memoryd:made", (event) => { aim(/** @type {any} */ (event).detail.id); refresh(); });

// A card is gone: what counts it follows. A long list stays where it is, unless an undo, whose button is in the toast, left the card there.
document.addEventListener("memoryd:gone", (event) => { if (/** @type {HTMLElement} */ (event.target).id === "toast" || $("main[data-record], main[data-fresh], #results .count") || !cards().length) refresh(); });

function refresh() {
  renew("", () => {
    const place = $("#results[data-live]") || $("#main"); // the search field next to a list keeps what is being typed
    return place && !$(".editing") && !unsaved(place) ? place : null;
  });
}

// One after the other: a request that waited inside htmx would keep its target, which the one before may have replaced.
let renewed = Promise.resolve();
function renew(/** @type {string} */ path, /** @type {() => Element | null} */ place) {
  const next = () => { const target = place(); return target && h.ajax("GET", path || location.pathname + location.search, { target, swap: "outerHTML" }); };
  renewed = renewed.then(next).catch(() => {}); // htmx has shown what failed
}

// Without an answer there is no status: say so, and that nothing was lost.
for (const name of ["htmx:sendError", "htmx:timeout"]) document.addEventListener(name, () => tell("memoryd does not answer. Your text is still here; try again once it runs."));

function tell(/** @type {string} */ text) {
  const box = document.createElement("div");
  box.className = "toast bad";
  box.textContent = text;
  $("#toast")?.replaceChildren(box);
}

// Beside what is there: an undo stays.
function why(/** @type {string} */ text) {
  const box = document.createElement("div");
  box.className = "toast why";
  box.textContent = text;
  $("#toast .why")?.remove();
  $("#toast")?.append(box);
  setTimeout(() => box.remove(), 8000);
}

// news ------------------------------------------------------------------------------------------------------------

// Only in a visible tab: a browser allows six connections to a server, for all tabs together.
let stream = /** @type {EventSource | null} */ (null), known = 0;
// What this tab has changed is no news to it; for a moment, since its answer may be later than the stream.
const own = new Set(), mine = (/** @type {string} */ id) => { own.add(id); setTimeout(() => own.delete(id), 5000); };
document.addEventListener("htmx:beforeRequest", (event) => { const { elt, requestConfig: { verb } } = /** @type {any} */ (event).detail; if (verb === "post") mine(elt.closest("article.card")?.dataset.id); });
document.addEventListener("memoryd:changed", (event) => /** @type {any} */ (event).detail.ids?.forEach(mine));
function listen() {
  if (document.hidden) stream?.close();
  if (!base() || document.hidden || (stream && stream.readyState !== EventSource.CLOSED)) return;
  known = 0;
  const seen = $("[data-seen]")?.dataset.seen;
  stream = new EventSource(`${base()}/events${seen ? `?after=${seen}` : ""}`);
  stream.onmessage = (event) => {
    const news = JSON.parse(event.data), picture = $("#picture");
    const changed = picture && news.graph && Number(event.lastEventId) > Number(picture.dataset.seen);
    if (changed && picture.dataset.empty) document.dispatchEvent(new Event("memoryd:graph"));
    else if (changed) $("#redraw")?.removeAttribute("hidden"); // redrawing automatically would make the picture jump
    known += news.ids.filter((/** @type {string} */ id) => !own.delete(id)).length;
    document.body.dispatchEvent(new Event("memoryd:news"));
    const results = $('#results[data-live="yes"]');
    if (!results || /** @type {HTMLInputElement | null} */ ($("#q"))?.value || Number(event.lastEventId) <= Number(results.dataset.seen)) { known = 0; return; }
    if (scrollY < 200 && !$(".editing") && !document.querySelector("dialog[open]") && !document.activeElement?.closest(".card") && !$("#results :checked")) { known = 0; return refresh(); }
    if (!known) return;
    let button = $(".news");
    if (!button) {
      button = document.createElement("button");
      button.className = "news";
      button.onclick = () => { known = 0; refresh(); scrollTo(0, 0); };
      results.prepend(button);
    }
    button.textContent = `${known} new or changed: show`;
  };
}
listen();
document.addEventListener("visibilitychange", listen);

// the graph's module is loaded when the graph is shown
const drawn = () => { if ($("#picture") && !$("#picture canvas")) import("./graph.js").then((module) => module.draw()); };
document.addEventListener("htmx:afterSettle", drawn);
drawn();
