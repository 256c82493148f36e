// @ts-check
// Text that is being typed is not lost, and the keyboard focus stays where it was.

// Enter and Escape choose characters while an input method composes a word, as in Japanese; Safari reports that only by the key code.
document.addEventListener("keydown", (event) => { if (event.isComposing || event.keyCode === 229) event.stopImmediatePropagation(); }, true);

// text that is not stored yet ---------------------------------------------------------------------------------------

const typed = (/** @type {ParentNode} */ within) => [...within.querySelectorAll("textarea")].filter((area) => area.value !== area.defaultValue || area.form?.querySelector('[role="alert"]')); // or it was refused
export const unsaved = (/** @type {ParentNode} */ within) => typed(within).length > 0;

addEventListener("beforeunload", (event) => { if (unsaved(document)) event.preventDefault(); });
document.addEventListener("htmx:beforeOnLoad", (event) => {
  const { elt, xhr } = /** @type {any} */ (event).detail;
  if (xhr.status < 400) for (const area of elt.matches("form") ? typed(elt) : []) area.defaultValue = area.value;
});
document.addEventListener("htmx:confirm", (event) => {
  const { elt, target } = /** @type {any} */ (event).detail;
  const lost = typed(target).some((area) => !area.form?.contains(elt)); // a form's own buttons need no question
  if (lost && !confirm("Your text is not stored. Discard it?")) event.preventDefault();
});

// keyboard focus ---------------------------------------------------------------------------------------------------

const cards = () => /** @type {HTMLElement[]} */ ([...document.querySelectorAll(".card[tabindex]")]);
let left = /** @type {{id: string | undefined, at: number, panel: boolean} | null} */ (null);
let wanted = ""; // the memory that is about to appear
export const aim = (/** @type {string} */ id) => { wanted = id; };
document.addEventListener("htmx:beforeSwap", (event) => {
  const { target, requestConfig: { elt } } = /** @type {any} */ (event).detail, place = target.closest("article, #results, #panel, #main"), focused = document.activeElement;
  // a list that was requested before the user began to correct a memory in it, or requested another one
  const correcting = target.querySelector('.editing, [data-do="edit"].htmx-request') || unsaved(target);
  const another = target.matches("#results, #main") && document.querySelector("#busy.htmx-request, a.htmx-request");
  const late = elt.matches("body, #toast") ? correcting || another : elt.closest("#search") && correcting && !focused?.closest("#search");
  if (late) /** @type {any} */ (event).detail.shouldSwap = false;
  // a search from before the view changed would replace that view's address with its own
  else target.querySelector("#search")?.dispatchEvent(new CustomEvent("htmx:abort", { bubbles: true, detail: {} }));
  if (late || /** @type {any} */ (event).detail.boosted || !place?.contains(focused)) return;
  const card = /** @type {HTMLElement | null} */ (focused?.closest("article.card") ?? null), all = [...document.querySelectorAll("article.card")];
  left = { id: card?.dataset.id, at: card ? all.indexOf(card) : target.id === "more" ? all.length : place.id === "results" ? 0 : -1, panel: place.id === "panel" };
});
document.addEventListener("htmx:afterSettle", (event) => {
  const all = cards(), made = wanted && all.find((card) => card.dataset.id === wanted);
  if (made) { wanted = ""; if (!document.querySelector("#replaceable")) made.focus(); }
  if (document.activeElement !== document.body) { left = null; return; }
  if (left?.id && !all.length && document.querySelector("main[data-record]")) return; // its record comes back as a deleted one; this is another part of the page
  const near = left && left.at >= 0 ? all[Math.min(left.at, all.length - 1)] : null, card = left && (all.find((card) => card.dataset.id === left?.id) || near);
  // not a field: the keys, such as that for undo, go on working
  const place = /** @type {HTMLElement | null} */ (left || /** @type {any} */ (event).detail.boosted ? document.querySelector(left?.panel ? "#panel" : left ? "#results" : "#main") || document.querySelector("#main") : null);
  if (card) card.focus();
  else if (place) { place.tabIndex = -1; place.focus({ preventScroll: true }); }
  left = null;
});
