// What is chosen, and the parts of the page that add it up.

const DATED = LEDGER.months.filter(({ month }) => month);
const OPEN_MONTHS = 12; // loaded at first
const chosen = { from: "", to: "", team: "", model: "", chip: "" };
const PARTS = [
  ["months", "Month by month", drawMonths],
  ["groups", "By team, model and accelerator", drawGroups],
  ["waste", "What was wasted", drawWaste],
  ["rest", "The whole bill", drawRest],
  ["coverage", "How much carries energy and emissions", drawCoverage],
  ["verdicts", "Trainium and TPU", drawVerdicts],
  ["sources", "How fresh it is", drawSources],
  ["runs", "Runs", drawRuns],
];
let groupedBy = "team";
const byId = (id) => document.getElementById(id);
const isNarrowed = () => Boolean(chosen.team || chosen.model || chosen.chip);
const keeps = (cell) => (!chosen.team || cell.team === chosen.team) && (!chosen.model || cell.model === chosen.model) && (!chosen.chip || cell.chip === chosen.chip);
const named = (text) => text || "(not recorded)";

function documents() {
  return DATED.map(({ name }) => name).filter((name) => name >= chosen.from && name <= chosen.to && months.has(name)).sort().map((name) => months.get(name));
}
function currenciesOf(found) {
  const all = new Set();
  for (const totals of found.values()) for (const [currency, cost] of totals.cost) if (cost !== 0n || totals.cost.size === 1) all.add(currency);
  return [...all].sort();
}
function allOf(found) {
  return found.get("all") ?? new Totals();
}

function drawTiles() {
  const docs = documents(), found = addUp(docs, (cell) => (keeps(cell) ? "all" : null)), all = allOf(found);
  const currencies = currenciesOf(found);
  const tiles = (currencies.length ? currencies : [""]).map((currency) => {
    const lost = all.lost.get(currency);
    return currency ? figureTile("Effective cost of runs", costOf(all, currency), [
      `billed: ${amount(all.billed.get(currency) ?? 0n, currency)}`,
      lost ? `of it in attempts that were lost: ${amount(lost, currency)}` : null,
    ]) : tile("Effective cost of runs", DASH, "", ["no run in what is chosen"]);
  });
  byId("tiles").replaceChildren(...tiles,
    figureTile("Energy of the facility, modelled or measured", energyOf(all)),
    figureTile("Provider's Scope 2, location-based", emissionsOf(all, "location")),
    figureTile("Provider's Scope 2, market-based", emissionsOf(all, "market")));
  byId("scope").textContent = LEDGER.words.scope;
  const span = docs.length ? `${monthName(docs[0].month)} to ${monthName(docs[docs.length - 1].month)}` : "no month";
  const narrowed = [chosen.team && `team ${chosen.team}`, chosen.model && `model ${chosen.model}`, chosen.chip && `accelerator ${chosen.chip}`].filter(Boolean);
  byId("selection").textContent = `Shown: ${span}${narrowed.length ? `, ${narrowed.join(", ")}` : ""}. ${all.runMonths} run-months.`;
}

function drawMonths(place) {
  const docs = documents();
  const byFamily = addUp(docs, (cell) => (keeps(cell) ? `${cell.month}|${cell.family}` : null));
  const byMonth = addUp(docs, (cell) => (keeps(cell) ? cell.month : null));
  const currencies = currenciesOf(byMonth), families = new Set();
  const stacked = (valueOf, isWhole) => docs.map(({ month }) => {
    const parts = new Map();
    for (const family of FAMILIES) {
      const value = byFamily.has(`${month}|${family}`) ? valueOf(byFamily.get(`${month}|${family}`)) : 0n;
      if (value) parts.set(family, value) && families.add(family);
    }
    return { name: month, parts, whole: isWhole(byMonth.get(month) ?? new Totals()) };
  });
  const added = (figure) => (figure.parts ? figure.parts.reduce((sum, part) => sum + part.value, 0n) : figure.known);
  const panels = [
    ...currencies.map((currency) => monthBars("Effective cost of runs", currency, stacked((totals) => totals.cost.get(currency) ?? 0n, (totals) => costOf(totals, currency).value !== null))),
    monthBars("Energy of the facility", "kWh", stacked((totals) => totals.energy, (totals) => energyOf(totals).value !== null)),
    monthBars("Provider's Scope 2, location-based", "kgCO2e", stacked((totals) => added(emissionsOf(totals, "location")), (totals) => emissionsOf(totals, "location").value !== null)),
  ];
  const rows = [...docs].reverse().map(({ month }) => {
    const totals = byMonth.get(month) ?? new Totals();
    return [monthName(month), ...currencies.map((currency) => figureCell(costOf(totals, currency))), figureCell(energyOf(totals)), boundsCell(energyOf(totals)),
      figureCell(emissionsOf(totals, "location")), figureCell(emissionsOf(totals, "market")), String(totals.runMonths)];
  });
  const why = byReason(docs.map(({ month }) => [monthName(month), unknownIn(byMonth.get(month) ?? new Totals())]));
  place.append(legend(FAMILIES.filter((family) => families.has(family))), el("div", { class: "chart columns-3" }, el("div", { class: "panels" }, panels)),
    table("Cost, energy and emissions of runs, month by month", [["Month"], ...currencies.map((currency) => ["Effective cost", currency, "number"]), ["Energy", "kWh", "number"], ["plausible bounds", "kWh", "number"],
      ["Scope 2, location-based", "kgCO2e", "number"], ["Scope 2, market-based", "kgCO2e", "number"], ["Runs", "", "number"]], rows, { why, id: "by-month" }));
}

function drawGroups(place) {
  const words = { team: "Team", model: "Model", chip: "Accelerator" };
  const found = addUp(documents(), (cell) => (keeps(cell) && (cell.team || cell.model || cell.chip) ? cell[groupedBy] : null));
  const currencies = currenciesOf(found), first = currencies[0];
  const sorted = [...found].filter(([, totals]) => totals.runMonths).sort(([one, a], [other, b]) => {
    const [x, y] = [a.cost.get(first) ?? 0n, b.cost.get(first) ?? 0n];
    return x === y ? one.localeCompare(other) : x < y ? 1 : -1;
  });
  const greatest = sorted.length ? sorted[0][1].cost.get(first) ?? 0n : 0n;
  const rows = sorted.map(([name, totals]) => [
    [named(name), bar(ratioOf(totals.cost.get(first) ?? 0n, greatest) ?? 0)],
    ...currencies.flatMap((currency) => [figureCell(costOf(totals, currency)), written(totals.lost.get(currency) ?? 0n, 2)]),
    figureCell(energyOf(totals)), boundsCell(energyOf(totals)), figureCell(emissionsOf(totals, "location")), figureCell(emissionsOf(totals, "market")),
  ]);
  const why = byReason(sorted.map(([name, totals]) => [named(name), unknownIn(totals)]));
  const choice = el("div", { class: "choice", role: "group", "aria-label": "Grouped by" }, Object.entries(words).map(([key, label]) =>
    el("button", { type: "button", "aria-pressed": String(key === groupedBy), onclick: () => { groupedBy = key; redraw("groups"); byId("groups").querySelector('[aria-pressed="true"]').focus(); } }, label)));
  place.append(choice, table(`Runs by ${words[groupedBy].toLowerCase()}`, [[words[groupedBy]], ...currencies.flatMap((currency) => [["Effective cost", currency, "number"], ["of it lost", currency, "number"]]),
    ["Energy", "kWh", "number"], ["plausible bounds", "kWh", "number"], ["Scope 2, location-based", "kgCO2e", "number"], ["Scope 2, market-based", "kgCO2e", "number"]], rows, { why, id: "by-group" }));
}

function drawWaste(place) {
  const docs = documents(), causes = new Map();
  const at = (cause, currency) => causes.get(`${cause}|${currency}`) ?? causes.set(`${cause}|${currency}`, { cause, currency, cost: 0n, energy: 0n, unknown: 0 }).get(`${cause}|${currency}`);
  for (const month of docs) {
    for (const [cell, cause, currency, cost, energy, unknown] of month.lost ?? []) {
      const [team, model, chip] = month.cells[cell];
      if (!keeps({ team, model, chip })) continue;
      const sum = at(cause, currency);
      sum.cost += exact(cost); sum.energy += exact(energy); sum.unknown += unknown;
    }
    for (const [currency, reason, cost] of isNarrowed() ? [] : month.residuals ?? []) {
      if (reason !== "unused_commitment") continue;
      const sum = at("unused commitment", currency);
      sum.cost += exact(cost); sum.unknown += 1;
    }
  }
  const words = { idle: "idle: machines kept ready that no run held", failed: "failed: work after the last checkpoint", interrupted: "interrupted: work after the last checkpoint", "unused commitment": "commitments that nothing used" };
  const sorted = [...causes.values()].sort((one, other) => (one.currency === other.currency ? (one.cost < other.cost ? 1 : -1) : one.currency < other.currency ? -1 : 1));
  const greatest = sorted.reduce((most, { cost }) => (cost > most ? cost : most), 0n);
  const rows = sorted.map(({ cause, currency, cost, energy, unknown }) => [
    [words[cause] ?? cause, bar(ratioOf(cost, greatest) ?? 0)], currency, written(cost, 2),
    cause === "unused commitment" ? "none: no machine ran" : unknown ? [DASH] : written(energy, 3)]);
  place.append(table("Money and energy that made nothing", [["Cause"], ["Currency"], ["Effective cost", "", "number"], ["Energy", "kWh", "number"]], rows, { id: "by-cause" }));
}

function drawRest(place) {
  if (isNarrowed()) return void place.append(el("p", { class: "absent" }, "What no run carries has no team and no model: choose all of them to see it."));
  const currencies = new Map();
  for (const month of documents()) {
    for (const [, currency, total, of_runs, rest, held] of month.bill ?? []) {
      const sum = currencies.get(currency) ?? currencies.set(currency, { total: 0n, runs: 0n, rest: 0n, held: 0n, reasons: new Map() }).get(currency);
      sum.total += exact(total); sum.runs += exact(of_runs); sum.rest += exact(rest); sum.held += exact(held);
    }
    for (const [currency, reason, cost] of month.residuals ?? []) if (currencies.has(currency)) more(currencies.get(currency).reasons, reason, exact(cost));
  }
  for (const [currency, sum] of [...currencies].sort()) {
    const line = (words, cost) => [[words, bar(ratioOf(cost, sum.total) ?? 0)], written(cost, 2), percent(ratioOf(cost, sum.total))];
    const rows = [line("runs", sum.runs), ...[...sum.reasons].sort(([, one], [, other]) => (one < other ? 1 : -1)).map(([reason, cost]) => line(LEDGER.words.residuals[reason] ?? reason, cost))];
    if (sum.held) rows.push(line("in quarantine", sum.held));
    place.append(table(`Where the bill of ${currency} went`, [["Part"], ["Effective cost", currency, "number"], ["Share", "", "number"]], rows, { footer: ["the whole bill", written(sum.total, 2), "100.0\u2009%"], id: `bill-${currency}` }));
  }
}

function drawCoverage(place) {
  const rows = [...documents()].reverse().flatMap(({ month, coverage }) => (coverage ?? []).map(([provider, currency, cost, withEnergy, withCarbon]) => {
    const [energy, carbon] = [withEnergy, withCarbon].map((part) => ratioOf(exact(part), exact(cost)));
    return [monthName(month), provider, `${written(exact(cost), 2)}\u00a0${currency}`, [percent(energy), bar(energy ?? 0, "of-all")], [percent(carbon), bar(carbon ?? 0, "of-all")]];
  }));
  place.append(table("Of the whole bill, the share by cost that carries energy, and emissions of the provider", [["Month"], ["Provider"], ["The whole bill", "", "number"], ["with energy", "", "number"], ["with emissions", "", "number"]], rows));
}

function drawVerdicts(place) {
  const kpis = [["cost_per_run", "Cost per run"], ["energy_kwh_per_million_tokens", "Energy per 1M useful tokens"], ["location_based_gco2e_per_million_tokens", "Location-based emissions per 1M useful tokens"]];
  const workloads = new Map();
  for (const row of LEDGER.verdicts) workloads.set(row.workload_key, { ...workloads.get(row.workload_key), [row.kpi]: row });
  const number = (value) => Number(value).toPrecision(3);
  const verdict = (row) => {
    if (!row) return DASH;
    const ratio = row.geometric_mean_ratio === null ? "" : `ratio ${number(row.geometric_mean_ratio)}${row.ratio_low === null ? "" : ` (${number(row.ratio_low)}${DASH}${number(row.ratio_high)})`}, `;
    return [el("strong", {}, row.verdict.replaceAll("_", " ")), el("span", { class: "part" }, `${ratio}${row.pair_count} ${row.pair_count === 1 ? "pair" : "pairs"}`)];
  };
  const rows = [...workloads].map(([workload, of]) => [workload, ...kpis.map(([kpi]) => verdict(of[kpi])), of.cost_per_run?.reason ?? ""]);
  const span = LEDGER.verdicts.length ? `, runs that ended from ${LEDGER.verdicts[0].window_start} to before ${LEDGER.verdicts[0].window_end}` : "";
  place.append(table(`Verdicts over matched pairs${span}`, [["Workload"], ...kpis.map(([, words]) => [words]), ["Of the cost: why", "", "wordy"]], rows, {
    empty: "The publication has no comparison.", why: [["Ratio: TPU divided by Trainium over the pairs of these dates, with their 98 % interval. Cost per run: to its target, or of fixed work. A named side took less, over half quarters of registered pairs; assumed watts decide nothing. The quarterly report has every figure that is compared", []]] }));
}

function drawSources(place) {
  const rows = LEDGER.sources.map((row) => [row.source_name, row.kind, row.newest_partition ?? DASH, row.published_at ? row.published_at.slice(0, 16) : DASH, row.landed_at ? row.landed_at.slice(0, 16) : DASH, String(row.deliveries),
    row.quarantined ? el("span", { class: "stale" }, String(row.quarantined)) : "0"]);
  place.append(table("Sources and their newest deliveries", [["Source"], ["Kind"], ["Newest part"], ["Published by the provider", "UTC"], ["Landed here", "UTC"], ["Deliveries that count", "", "number"], ["In quarantine", "", "number"]], rows));
}

function redraw(only) {
  if (!only) drawTiles();
  for (const [id, title, draw] of PARTS) {
    if (only && only !== id) continue;
    const place = byId(id) ?? byId("all").appendChild(el("section", { class: "chapter", id, "aria-label": title }));
    place.replaceChildren(el("h2", {}, title));
    draw(place);
  }
}
