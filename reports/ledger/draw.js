// Elements, tables and drawings. Text from outside is text: nothing here makes markup of a string.

const SVG = "http://www.w3.org/2000/svg";
const FAMILIES = ["trainium", "inferentia", "tpu", "gpu", "none"];
const FAMILY_WORDS = { trainium: "Trainium", inferentia: "Inferentia", tpu: "TPU", gpu: "GPU", none: "not known", rest: "no run" };
const DASH = "\u2013";

function el(tag, attributes = {}, ...children) {
  const made = attributes.svg ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "svg" || value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat(3).filter((child) => child !== null && child !== undefined));
  return made;
}
const svg = (tag, attributes, ...children) => el(tag, { svg: true, ...attributes }, ...children);

function monthName(name) {
  const [year, month] = name.split("-").map(Number);
  if (!month) return "without a month";
  return `${["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"][month - 1]} ${year}`;
}

/** A figure in a cell: every digit that somebody pays or reports, or a dash with what is known of it. */
function figureCell(figure) {
  if (figure.value !== null) return [written(figure.value, places(figure.unit))];
  const part = figure.known ? el("span", { class: "part" }, `known: ${written(figure.known, places(figure.unit))}`) : null;
  return [el("span", { class: "dash", title: figure.why.join("; ") || "nothing is known" }, DASH), part];
}
function boundsCell(figure) {
  if (figure.value === null) return [DASH];
  return [`${brief(figure.low)}${DASH}${brief(figure.high)}`];
}
function bar(ratio, kind = "") {
  return el("span", { class: `share ${kind}`, "aria-hidden": "true" }, el("i", { style: `width:${Math.max(0, Math.min(1, ratio)) * 100}%` }));
}

/** Reasons with the names of the rows in which they hold, from lists of both. */
function byReason(pairs) {
  const found = new Map();
  for (const [name, reasonsOf] of pairs) for (const reason of reasonsOf) found.set(reason, [...(found.get(reason) ?? []), name]);
  return found;
}

/** heads: [words, unit, kind]; rows: lists of cells, the first of which names the row. */
function table(caption, heads, rows, { footer, why, empty, id } = {}) {
  if (!rows.length) return el("p", { class: "absent" }, empty ?? "Nothing of this in the months that are shown.");
  const kindOf = (kind) => (kind === "number" ? "number" : kind ? kind : null);
  const head = el("tr", {}, heads.map(([words, unit, kind]) => el("th", { scope: "col", class: kindOf(kind) }, words, unit ? el("span", { class: "unit" }, unit) : null)));
  const line = (cells, tag) => el("tr", { class: tag }, cells.map((cell, place) => {
    const kind = kindOf(heads[place][2]);
    return place === 0 ? el("th", { scope: "row" }, cell) : el("td", { class: kind }, cell);
  }));
  const body = el("tbody", {}, rows.map((row) => line(row)), footer ? line(footer, "total") : null);
  const box = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, el("table", { id }, el("caption", {}, caption), el("thead", {}, head), body));
  const lines = [...(why ?? [])].map(([reason, names]) => el("li", {}, names.length ? `${reason}: ${names.join(", ")}` : reason));
  return el("section", { class: "table" }, box, lines.length ? el("ul", { class: "why-list" }, lines) : null);
}

/** Bars by month, families stacked. columns: [{name, parts: Map(family -> amount), whole: boolean}]; amounts of one unit. */
function monthBars(title, unit, columns, note) {
  const heights = columns.map(({ parts }) => [...parts.values()].reduce((sum, one) => sum + (one > 0n ? one : 0n), 0n));
  const greatest = heights.reduce((one, other) => (one > other ? one : other), 0n);
  const [, shownUnit] = eye(greatest, unit);
  const scale = shownUnit === unit ? 1n : 1000n;
  const width = 360, height = 170, base = 140, room = 112;
  const step = width / Math.max(columns.length, 1), wide = Math.min(step * 0.62, 46);
  const drawn = [];
  columns.forEach(({ name, parts, whole }, place) => {
    const middle = step * (place + 0.5);
    let top = base;
    for (const family of [...FAMILIES, "rest"]) {
      const value = parts.get(family) ?? 0n;
      const size = greatest > 0n && value > 0n ? Number((value * 100000n) / greatest) / 100000 * room : 0;
      if (size <= 0) continue;
      top -= size;
      drawn.push(svg("rect", { class: `bar ${family === "rest" ? "rest" : `fam-${family}`}${whole ? "" : " partly"}`, x: (middle - wide / 2).toFixed(1), y: top.toFixed(2), width: wide.toFixed(1), height: size.toFixed(2) }));
    }
    const label = !whole && heights[place] === 0n ? DASH : `${brief(heights[place] / scale)}${whole ? "" : "*"}`;
    if (columns.length <= 8) drawn.push(svg("text", { class: "value", x: middle, y: (top - 6).toFixed(1), "text-anchor": "middle" }, label));
    if (columns.length <= 8 || place % 3 === 0) drawn.push(svg("text", { x: middle, y: base + 17, "text-anchor": "middle" }, monthName(name).slice(0, 3)));
  });
  drawn.push(svg("line", { class: "zero", x1: 0, x2: width, y1: base, y2: base }));
  const words = columns.map(({ name, whole }, place) => `${monthName(name)} ${brief(heights[place] / scale)}${whole ? "" : ", not whole"}`).join("; ");
  const partly = columns.some(({ whole }) => !whole);
  return el("figure", { class: "months" },
    el("p", { class: "chart-title" }, title, el("span", { class: "legend" }, shownUnit)),
    svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${title}, ${shownUnit}: ${words}` }, drawn),
    el("p", { class: "below" }, [partly ? "* a part of the month is not known" : "", note ?? ""].filter(Boolean).join(". ")));
}
function legend(families) {
  return el("p", { class: "legend" }, families.map((family) => [el("span", { class: `key ${family === "rest" ? "rest" : `fam-${family}`}` }), FAMILY_WORDS[family]]));
}

function tile(label, number, unit, lines, why = []) {
  return el("div", { class: "tile" },
    el("p", { class: "tile-label" }, label),
    el("p", { class: "tile-number" }, number, unit ? el("span", { class: "tile-unit" }, `\u00a0${unit}`) : null),
    lines.filter(Boolean).map((line) => el("p", { class: "tile-line" }, line)),
    why.map((line) => el("p", { class: "tile-line why" }, line)));
}
function figureTile(label, figure, lines = []) {
  if (figure.value === null) {
    const parts = (figure.parts ?? []).map((part) => `${part.provider} ${part.version}: ${amount(part.value, figure.unit)}`);
    return tile(label, DASH, "", [figure.known && !parts.length ? `known of it: ${amount(figure.known, figure.unit)}` : null, ...parts, ...lines], figure.why);
  }
  const bounds = figure.low === undefined || figure.low === null ? null : `plausible bounds ${eye(figure.low, figure.unit).join(" ")} to ${eye(figure.high, figure.unit).join(" ")}`;
  return tile(label, ...eye(figure.value, figure.unit), [`exactly ${amount(figure.value, figure.unit)}`, bounds, ...lines]);
}
