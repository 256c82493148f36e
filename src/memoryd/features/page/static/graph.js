// @ts-check
// The graph as a picture, on a 2D canvas: it needs no graphics card. The positions come from the server.
const h = /** @type {any} */ (window).htmx;
const SHAPES = 4, LABELS = 60, FEW = 24, FAR = 1500; // labels at once, and while everything is visible; nodes above which communities replace them from afar
const CLOSE = 24, NEAR = 12, CLEAR = 2.5; // scales: that of a small graph at most, up to which others are magnified; and how much more than at first shows the names of relations
const EDGE = 40, NAMES = 100, BELOW = 70, NARROW = 640, ABOVE = 150; // pixels around the picture: for names, for what is below it and, if it is narrow, above it

let ended = new AbortController();
/** @typedef {{seen: number, names: string[], labels: Record<number, string>, types: string[], type: number[], community: number[], x: number[], y: number[], born: number[], died: number[], edges: number[], relations: string[], relation: number[], edge_born: number[], edge_died: number[], complete: boolean}} Picture */

export async function draw(again = false) {
  const box = /** @type {HTMLElement} */ (document.getElementById("picture"));
  if (!box || (box.dataset.drawn && !again)) return;
  box.dataset.drawn = "1";
  delete box.dataset.empty; delete box.dataset.ready;
  box.querySelector(":scope > canvas")?.remove();
  document.getElementById("types")?.replaceChildren();
  document.getElementById("redraw")?.setAttribute("hidden", "");
  ended.abort();
  ended = new AbortController();
  const base = document.body.dataset.base, canvas = document.createElement("canvas");
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", "The graph. The list of nodes shows the same as text.");
  box.prepend(canvas);
  const answer = await fetch(`${base}/graph.json`);
  if (!answer.ok) return;
  const figures = await answer.json();
  if (!canvas.isConnected) return; // redrawn meanwhile
  box.dataset.seen = figures.seen;
  picture(box, canvas, figures, String(base));
}

document.addEventListener("memoryd:graph", () => draw(true));

// A second cue besides colour, which not everyone can distinguish.
function shape(/** @type {CanvasRenderingContext2D} */ g, /** @type {number} */ type, /** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ r) {
  const kind = (type + Math.floor(type / 8)) % SHAPES;
  if (kind === 0) { g.moveTo(x + r, y); g.arc(x, y, r, 0, 7); }
  else if (kind === 1) g.rect(x - r * 0.88, y - r * 0.88, r * 1.76, r * 1.76);
  else if (kind === 2) { g.moveTo(x, y - r * 1.2); g.lineTo(x + r * 1.15, y + r * 0.8); g.lineTo(x - r * 1.15, y + r * 0.8); g.closePath(); }
  else { g.moveTo(x, y - r * 1.25); g.lineTo(x + r * 1.25, y); g.lineTo(x, y + r * 1.25); g.lineTo(x - r * 1.25, y); g.closePath(); }
}

/** @param {HTMLElement} box @param {HTMLCanvasElement} canvas @param {Picture} D @param {string} base */
function picture(box, canvas, D, base) {
  const g = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const label = (/** @type {number} */ i) => D.labels[i] || D.names[i], n = D.names.length, m = D.edges.length / 2, degree = new Uint16Array(n), beside = Array.from({ length: n }, () => /** @type {number[]} */ ([]));
  for (let e = 0; e < m; e++) { const a = D.edges[2 * e], b = D.edges[2 * e + 1]; if (D.edge_died[e]) continue; degree[a]++; degree[b]++; beside[a].push(b); beside[b].push(a); }
  const order = [...Array(n).keys()].sort((a, b) => degree[b] - degree[a]), groups = Math.max(0, ...D.community) + 1;
  const off = new Set(), now = Math.floor(Date.now() / 1000);
  let k = 1, ox = 0, oy = 0, whole = 1, untouched = true, asked = false, chosen = -1, second = -1, way = new Set(), time = now;
  const colours = () => { const s = getComputedStyle(document.documentElement), v = (/** @type {string} */ name) => s.getPropertyValue(name).trim(); return { ink: v("--ink"), ink2: v("--ink2"), bg: v("--bg"), edge: v("--edge"), dim: v("--edge-dim"), accent: v("--accent"), types: [0, 1, 2, 3, 4, 5, 6, 7].map((i) => v(`--c${i}`)) }; };
  let C = colours();
  const radius = (/** @type {number} */ i) => 3 + Math.sqrt(degree[i]) * 1.4;
  const there = (/** @type {number} */ i) => !off.has(D.type[i]) && D.born[i] <= time && (!D.died[i] || D.died[i] > time);
  const edgeThere = (/** @type {number} */ e) => D.edge_born[e] <= time && (!D.edge_died[e] || D.edge_died[e] > time) && there(D.edges[2 * e]) && there(D.edges[2 * e + 1]);
  const wide = () => box.clientWidth, high = () => box.clientHeight, dpr = () => window.devicePixelRatio || 1;

  const ask = () => { if (!asked) { asked = true; requestAnimationFrame(paint); } };

  function lines(/** @type {(e: number) => boolean} */ wanted, /** @type {string} */ style, /** @type {number} */ width) {
    g.strokeStyle = style; g.lineWidth = width / k; g.beginPath();
    const left = -ox / k, top = -oy / k, right = (wide() - ox) / k, bottom = (high() - oy) / k;
    for (let e = 0; e < m; e++) {
      const a = D.edges[2 * e], b = D.edges[2 * e + 1];
      if (Math.max(D.x[a], D.x[b]) < left || Math.min(D.x[a], D.x[b]) > right || Math.max(D.y[a], D.y[b]) < top || Math.min(D.y[a], D.y[b]) > bottom) continue;
      if (edgeThere(e) && wanted(e)) { g.moveTo(D.x[a], D.y[a]); g.lineTo(D.x[b], D.y[b]); }
    }
    g.stroke();
  }

  function paint() {
    asked = false;
    const d = dpr();
    g.setTransform(1, 0, 0, 1, 0, 0);
    g.clearRect(0, 0, canvas.width, canvas.height);
    g.setTransform(k * d, 0, 0, k * d, ox * d, oy * d);
    if (n > FAR && k < 0.45 && chosen < 0) return bubbles(d);
    const near = chosen >= 0 ? new Set(way.size ? way : [chosen, ...beside[chosen]]) : null;
    const own = (/** @type {number} */ e) => !!near && (way.size ? way.has(D.edges[2 * e]) && way.has(D.edges[2 * e + 1]) : D.edges[2 * e] === chosen || D.edges[2 * e + 1] === chosen);
    lines((e) => !own(e), near ? C.dim : C.edge, 0.9);
    if (near) lines(own, C.accent, 1.8);
    for (let t = 0; t < D.types.length; t++) {
      g.fillStyle = C.types[t % 8];
      for (const faint of near ? [true, false] : [false]) {
        g.globalAlpha = faint ? 0.18 : 1;
        g.beginPath();
        for (let i = 0; i < n; i++) if (D.type[i] === t && there(i) && (near ? !near.has(i) : false) === faint) shape(g, t, D.x[i], D.y[i], radius(i) / Math.sqrt(k));
        g.fill();
      }
    }
    g.globalAlpha = 1;
    if (chosen >= 0) { g.strokeStyle = C.ink; g.lineWidth = 2 / k; g.beginPath(); g.arc(D.x[chosen], D.y[chosen], radius(chosen) / Math.sqrt(k) + 4 / k, 0, 7); g.stroke(); }
    labels(d, near);
  }

  function labels(/** @type {number} */ d, /** @type {Set<number> | null} */ near) {
    g.setTransform(d, 0, 0, d, 0, 0);
    g.font = "500 12px system-ui, sans-serif"; g.textBaseline = "middle"; g.lineWidth = 3.5; g.lineJoin = "round";
    const boxes = /** @type {number[][]} */ ([]), most = near || n <= FEW ? LABELS : Math.min(LABELS, FEW + 30 * Math.max(0, k / whole - 1));
    for (const i of near ? [chosen, ...[...near].filter((i) => i !== chosen)] : order) {
      if (boxes.length >= most) break;
      const x = D.x[i] * k + ox, y = D.y[i] * k + oy;
      if (!there(i) || x < -40 || y < 0 || x > wide() || y > high()) continue;
      const text = label(i).slice(0, 28), left = x + radius(i) * Math.sqrt(k) * 1.2 + 4, b = [left - 2, y - 9, left + g.measureText(text).width, y + 9];
      if (i !== chosen && boxes.some((o) => b[0] < o[2] && b[2] > o[0] && b[1] < o[3] && b[3] > o[1])) continue;
      boxes.push(b);
      g.strokeStyle = C.bg; g.strokeText(text, left, y);
      g.fillStyle = i === chosen || degree[i] > 8 ? C.ink : C.ink2; g.fillText(text, left, y);
    }
    if (near || n <= FEW || k > CLEAR * whole) named(boxes, near);
  }

  // The name of a relation in its middle, where it is long enough and nothing else is written there.
  function named(/** @type {number[][]} */ boxes, /** @type {Set<number> | null} */ near) {
    g.font = "11px system-ui, sans-serif"; g.textAlign = "center"; g.fillStyle = C.ink2;
    for (let e = 0, most = LABELS; e < m && most > 0; e++) {
      const a = D.edges[2 * e], b = D.edges[2 * e + 1], x = ((D.x[a] + D.x[b]) / 2) * k + ox, y = ((D.y[a] + D.y[b]) / 2) * k + oy;
      if (x < 0 || y < 0 || x > wide() || y > high() || !edgeThere(e) || (near && !(near.has(a) && near.has(b)))) continue;
      const text = D.relations[D.relation[e]].slice(0, 24), half = g.measureText(text).width / 2 + 2, box = [x - half, y - 8, x + half, y + 8];
      const dx = Math.abs(D.x[a] - D.x[b]) * k, dy = Math.abs(D.y[a] - D.y[b]) * k, free = Math.hypot(dx, dy) - (radius(a) + radius(b)) * Math.sqrt(k);
      if (free < (dx > dy ? 2 * half : 20) + 8 || boxes.some((o) => box[0] < o[2] && box[2] > o[0] && box[1] < o[3] && box[3] > o[1])) continue;
      boxes.push(box); most--;
      g.strokeText(text, x, y); g.fillText(text, x, y);
    }
    g.textAlign = "start";
  }

  // From afar a large graph is its communities: one disc each, named after its hub.
  function bubbles(/** @type {number} */ d) {
    const sums = Array.from({ length: groups }, () => ({ x: 0, y: 0, size: 0, hub: -1, types: /** @type {Record<number, number>} */ ({}) }));
    for (const i of order) { if (!there(i)) continue; const s = sums[D.community[i]]; s.x += D.x[i]; s.y += D.y[i]; s.size++; if (s.hub < 0) s.hub = i; s.types[D.type[i]] = (s.types[D.type[i]] || 0) + 1; }
    const between = /** @type {Record<string, number>} */ ({});
    for (let e = 0; e < m; e++) { if (!edgeThere(e)) continue; const a = D.community[D.edges[2 * e]], b = D.community[D.edges[2 * e + 1]]; if (a !== b) { const key = a < b ? `${a} ${b}` : `${b} ${a}`; between[key] = (between[key] || 0) + 1; } }
    const at = (/** @type {number} */ c) => [sums[c].x / sums[c].size, sums[c].y / sums[c].size];
    g.strokeStyle = C.edge;
    for (const [key, count] of Object.entries(between).sort((a, b) => b[1] - a[1]).slice(0, 800)) {
      const [a, b] = key.split(" ").map(Number), [x, y] = at(a), [u, v] = at(b);
      g.lineWidth = Math.min(6, 0.6 + Math.sqrt(count) * 0.5) / k; g.beginPath(); g.moveTo(x, y); g.lineTo(u, v); g.stroke();
    }
    sums.forEach((s, c) => {
      if (!s.size) return;
      const [x, y] = at(c), type = Number(Object.entries(s.types).sort((a, b) => b[1] - a[1])[0][0]);
      g.fillStyle = C.types[type % 8]; g.globalAlpha = 0.85; g.beginPath(); g.arc(x, y, (4 + Math.sqrt(s.size) * 2.2) / Math.sqrt(k) * 0.9, 0, 7); g.fill(); g.globalAlpha = 1;
    });
    g.setTransform(d, 0, 0, d, 0, 0);
    g.font = "600 12px system-ui, sans-serif"; g.textBaseline = "middle"; g.textAlign = "center"; g.lineWidth = 3.5; g.lineJoin = "round";
    sums.map((s, c) => ({ s, c })).filter((one) => one.s.size > 2).sort((a, b) => b.s.size - a.s.size).slice(0, 24).forEach(({ s, c }) => {
      const [x, y] = at(c), text = `${label(s.hub).slice(0, 24)} · ${s.size}`;
      g.strokeStyle = C.bg; g.strokeText(text, x * k + ox, y * k + oy); g.fillStyle = C.ink; g.fillText(text, x * k + ox, y * k + oy);
    });
    g.textAlign = "start";
  }

  function size() { const d = dpr(); canvas.width = wide() * d; canvas.height = high() * d; ask(); }
  function fit() {
    let a = 1e9, b = -1e9, c = 1e9, e = -1e9, any = false;
    for (let i = 0; i < n; i++) if (there(i)) { any = true; a = Math.min(a, D.x[i]); b = Math.max(b, D.x[i]); c = Math.min(c, D.y[i]); e = Math.max(e, D.y[i]); }
    if (!any) return;
    const top = wide() > NARROW ? EDGE : ABOVE, across = wide() - EDGE - NAMES, down = high() - top - BELOW;
    whole = k = Math.min(n <= FEW ? CLOSE : 5, Math.max(1, across) / (b - a + 1), Math.max(1, down) / (e - c + 1));
    ox = EDGE + (across - k * (a + b)) / 2; oy = top + (down - k * (c + e)) / 2;
    untouched = true;
    ask();
  }
  function at(/** @type {PointerEvent} */ event) {
    const r = canvas.getBoundingClientRect(), x = (event.clientX - r.left - ox) / k, y = (event.clientY - r.top - oy) / k;
    let best = -1, nearest = (14 / k) ** 2;
    for (let i = 0; i < n; i++) { const q = (D.x[i] - x) ** 2 + (D.y[i] - y) ** 2; if (q < nearest && there(i)) { nearest = q; best = i; } }
    return best;
  }
  const zoom = (/** @type {number} */ f, x = wide() / 2, y = high() / 2) => { untouched = false; f = Math.min(f, Math.max(NEAR, whole) / k); ox = x - (x - ox) * f; oy = y - (y - oy) * f; k *= f; ask(); };
  const then = () => (time < now ? new Date(time * 1000).toISOString() : "");

  const fetched = () => document.querySelector("#panel .node-name")?.textContent;

  function choose(/** @type {number} */ i, move = false) {
    chosen = i; second = -1; way = new Set();
    if (i >= 0) {
      if (move) { untouched = false; k = Math.max(k, n > FAR ? 1 : 0.9); ox = wide() / 2 - D.x[i] * k; oy = high() / 2 - D.y[i] * k; }
      if (fetched() !== D.names[i] || then()) h.ajax("GET", `${base}/n?name=${encodeURIComponent(D.names[i])}${then() ? `&at=${then()}` : ""}`, { target: "#panel", swap: "innerHTML" });
      history.replaceState(history.state, "", `${base}/graph?node=${encodeURIComponent(D.names[i])}`);
    }
    ask();
  }
  function path(/** @type {number} */ to) {
    second = to;
    h.ajax("GET", `${base}/graph/path?from=${encodeURIComponent(D.names[chosen])}&to=${encodeURIComponent(D.names[to])}`, { target: "#panel", swap: "innerHTML" }).then(() => {
      const names = [...document.querySelectorAll("#panel .path [data-node]")].map((one) => /** @type {HTMLElement} */ (one).dataset.node);
      way = new Set(names.map((name) => D.names.indexOf(String(name))));
      ask();
    });
  }

  // pointers: one drags, two pinch
  const held = /** @type {Map<number, PointerEvent>} */ (new Map());
  let moved = 0;
  canvas.onpointerdown = (event) => { held.set(event.pointerId, event); moved = 0; canvas.setPointerCapture(event.pointerId); };
  canvas.onpointermove = (event) => {
    const before = held.get(event.pointerId);
    if (!before) { canvas.classList.toggle("over-node", at(event) >= 0); return; }
    const others = [...held.values()].filter((one) => one.pointerId !== event.pointerId), r = canvas.getBoundingClientRect();
    if (others.length) {
      const [o] = others, gap = (/** @type {PointerEvent} */ p) => Math.hypot(p.clientX - o.clientX, p.clientY - o.clientY);
      zoom(gap(event) / Math.max(1, gap(before)), (event.clientX + o.clientX) / 2 - r.left, (event.clientY + o.clientY) / 2 - r.top);
    } else { untouched = false; ox += event.clientX - before.clientX; oy += event.clientY - before.clientY; }
    moved += Math.abs(event.clientX - before.clientX) + Math.abs(event.clientY - before.clientY);
    held.set(event.pointerId, event);
    ask();
  };
  canvas.onpointerup = canvas.onpointercancel = (event) => {
    const single = held.size === 1;
    held.delete(event.pointerId);
    if (event.type === "pointerup" && single && moved < 5) { const i = at(event); if (event.shiftKey && chosen >= 0 && i >= 0 && i !== chosen) path(i); else choose(i); }
  };
  canvas.addEventListener("wheel", (event) => { event.preventDefault(); const r = canvas.getBoundingClientRect(); zoom(Math.exp(-event.deltaY / 400), event.clientX - r.left, event.clientY - r.top); }, { passive: false });

  // keys: arrows move to the neighbour in that direction, or move the picture while no node is selected
  canvas.onkeydown = (event) => {
    const way2 = /** @type {Record<string, number[]>} */ ({ ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] })[event.key];
    if (way2 && chosen >= 0) {
      let best = -1, score = 0.2;
      for (const i of beside[chosen]) { if (!there(i)) continue; const dx = D.x[i] - D.x[chosen], dy = D.y[i] - D.y[chosen], s = (dx * way2[0] + dy * way2[1]) / (Math.hypot(dx, dy) || 1); if (s > score) { score = s; best = i; } }
      if (best >= 0) choose(best, true);
    } else if (way2) { untouched = false; ox -= 60 * way2[0]; oy -= 60 * way2[1]; ask(); }
    else if (event.key === "Enter" && chosen < 0 && n) choose(order.find(there) ?? -1, true);
    else if (event.key === "+" || event.key === "=") zoom(1.3);
    else if (event.key === "-") zoom(1 / 1.3);
    else if (event.key === "0") { choose(-1); fit(); }
    else if (event.key === "Escape") choose(-1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  // the legend filters by type
  const legend = /** @type {HTMLElement} */ (document.getElementById("types"));
  D.types.slice(0, 24).forEach((name, t) => {
    const button = document.createElement("button"), swatch = document.createElement("canvas");
    swatch.width = swatch.height = 24;
    swatch.className = "swatch";
    button.type = "button";
    button.append(swatch, name);
    button.setAttribute("aria-pressed", "true");
    button.onclick = () => { off.has(t) ? off.delete(t) : off.add(t); button.setAttribute("aria-pressed", String(!off.has(t))); tell(); ask(); };
    legend.append(button);
  });
  function swatches() {
    legend.querySelectorAll("canvas").forEach((swatch, t) => {
      const s = /** @type {CanvasRenderingContext2D} */ (swatch.getContext("2d"));
      s.clearRect(0, 0, 24, 24); s.fillStyle = C.types[t % 8]; s.beginPath(); shape(s, t, 12, 12, 9); s.fill();
    });
  }

  // search, and the time slider
  const find = /** @type {HTMLInputElement} */ (document.getElementById("find")), names = /** @type {HTMLElement} */ (document.getElementById("names"));
  find.oninput = () => {
    const wanted = find.value.toLowerCase();
    const found = wanted ? order.filter((i) => there(i) && label(i).toLowerCase().includes(wanted)).slice(0, 12) : [];
    names.replaceChildren(...found.map((i) => { const option = document.createElement("option"); option.value = label(i); return option; }));
    const exact = found.find((i) => label(i).toLowerCase() === wanted);
    if (exact !== undefined) choose(exact, true);
  };
  find.onkeydown = (event) => { if (event.key === "Enter") { const i = order.find((i) => there(i) && label(i).toLowerCase().includes(find.value.toLowerCase())); if (i !== undefined) { choose(i, true); canvas.focus(); } } };
  const slider = /** @type {HTMLElement} */ (document.getElementById("time")), range = /** @type {HTMLInputElement} */ (slider.querySelector("input"));
  const first = Math.min(now, ...(n < 50000 ? D.born : D.born.slice(0, 1)));
  slider.hidden = n === 0 || now - first < 120;
  range.oninput = () => {
    time = Number(range.value) >= 1000 ? now : Math.round(first + ((now - first) * Number(range.value)) / 1000);
    const output = slider.querySelector("output");
    if (output) setTimeout(() => { output.textContent = time < now ? new Date(time * 1000).toISOString().slice(0, 10) : "now"; });
    tell();
    ask();
  };
  const list = /** @type {HTMLAnchorElement} */ (document.querySelector(".under a")), plain = list.href;
  range.onchange = () => {
    list.href = then() ? `${plain}?at=${then()}` : plain;
    if (chosen >= 0) choose(there(chosen) ? chosen : -1);
  };
  function tell() {
    let nodes = 0, relations = 0;
    for (let i = 0; i < n; i++) if (there(i)) nodes++;
    for (let e = 0; e < m; e++) if (edgeThere(e)) relations++;
    const some = (/** @type {number} */ number, /** @type {string} */ noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
    const text = n ? `${some(nodes, "node")} · ${some(relations, "relation")}${D.complete ? "" : " (the picture stops there)"}` : "";
    /** @type {HTMLElement} */ (document.getElementById("figures")).textContent = text;
  }
  document.getElementById("panel")?.addEventListener("click", (event) => {
    const name = /** @type {HTMLElement} */ (event.target).closest("[data-node]")?.getAttribute("data-node");
    const i = name ? D.names.findIndex((one, at) => one === name && !D.died[at]) : -1;
    if (i >= 0) { chosen = i; way = new Set(); untouched = false; ox = wide() / 2 - D.x[i] * k; oy = high() / 2 - D.y[i] * k; ask(); }
  }, { signal: ended.signal });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { C = colours(); swatches(); ask(); }, { signal: ended.signal });
  const watch = new ResizeObserver(() => { size(); if (untouched) fit(); });
  watch.observe(box);
  ended.signal.addEventListener("abort", () => watch.disconnect());
  size(); fit(); swatches(); tell();
  if (!n) { box.dataset.empty = "1"; canvas.remove(); return; }
  const name = fetched() || box.dataset.node, wanted = name ? D.names.findIndex((one, at) => one === name && !D.died[at]) : -1;
  if (wanted >= 0) choose(wanted, true);
  box.dataset.ready = "1";
}
