// The list of runs, the page of one, the filters, and which of them the address asks for.

const search = { words: "", sort: "ended", most: 50, loaded: 3 };
const figureOf = (account, name) => account.figures.find((figure) => figure.name === name);
const withRuns = () => LEDGER.months.filter(({ name, runs: file, month }) => file && (!month || (name >= chosen.from && name <= chosen.to)));
const time = (text) => (text ? text.slice(0, 16) : DASH);

function valueCell(figure) {
  if (figure.value === null) return el("span", { class: "dash", title: figure.unknown_because ?? "" }, DASH);
  return written(exact(figure.value), places(figure.unit));
}

function drawRuns(place) {
  const files = withRuns(), here = files.slice(0, search.loaded);
  Promise.all(here.map(({ runs: file }) => load(file))).then(() => listRuns(place, files, here), (error) => place.append(el("p", { class: "absent" }, error.message)));
}
function listRuns(place, files, here) {
  const keys = {
    ended: ["newest first", (run) => run.ended_at ?? run.started_at ?? ""],
    cost: ["by cost", (run) => exact(figureOf(run, "effective_cost").value ?? 0)],
    energy: ["by energy", (run) => exact(figureOf(run, "facility_energy_kwh").value ?? 0)],
  };
  const words = search.words.toLowerCase().split(/\s+/).filter(Boolean);
  const text = (run) => [run.training_run_id, run.recorded_id, run.team, run.model_name, run.workload_key, run.accelerator_type, run.state].join(" ").toLowerCase();
  const order = keys[search.sort][1];
  const found = here.flatMap(({ name }) => (runs.get(name) ?? []).map((run) => ({ run, name })))
    .filter(({ run }) => keeps({ team: run.team ?? "", model: run.model_name ?? "", chip: run.accelerator_type ?? "" }) && words.every((word) => text(run).includes(word)))
    .sort((one, other) => { const [a, b] = [order(one.run), order(other.run)]; return a === b ? one.run.training_run_id.localeCompare(other.run.training_run_id) : a < b ? 1 : -1; });
  const currencies = new Set(found.map(({ run }) => run.billing_currency).filter(Boolean));
  const rows = found.slice(0, search.most).map(({ run, name }) => [
    el("a", { href: `#run/${name}/${encodeURIComponent(run.training_run_id)}` }, run.training_run_id), run.team ?? DASH, run.model_name ?? DASH, run.accelerator_type ?? DASH, run.state, time(run.ended_at),
    [valueCell(figureOf(run, "effective_cost")), currencies.size > 1 && run.billing_currency ? el("span", { class: "part" }, run.billing_currency) : null], valueCell(figureOf(run, "facility_energy_kwh")),
    valueCell(figureOf(run, "provider_scope_2_location_based_kgco2e")), figureOf(run, "effective_cost").confidence ?? DASH, run.status.replaceAll("_", " ")]);
  const cut = here.filter(({ run_count }) => run_count > LEDGER.most_runs).map(({ name, run_count }) => `${monthName(name)}: the ${LEDGER.most_runs} costliest of ${run_count}`);
  const box = place.querySelector(".listed") ?? place.appendChild(el("div", { class: "listed" }));
  if (!place.querySelector(".find")) {
    const again = () => listRuns(place, withRuns(), withRuns().slice(0, search.loaded));
    place.insertBefore(el("div", { class: "find" },
      el("label", {}, "Find", el("input", { type: "search", id: "find", value: search.words, oninput: (event) => { search.words = event.target.value; again(); } })),
      el("label", {}, "Order", el("select", { id: "order", onchange: (event) => { search.sort = event.target.value; again(); } }, Object.entries(keys).map(([key, [label]]) => el("option", { value: key, selected: key === search.sort }, label))))), box);
  }
  const buttons = el("div", { class: "choice" },
    found.length > search.most ? el("button", { type: "button", onclick: () => { search.most += 200; redraw("runs"); } }, `Show more of ${found.length}`) : null,
    files.length > here.length ? el("button", { type: "button", onclick: () => { search.loaded += 6; redraw("runs"); } }, "Load runs of earlier months") : null);
  const span = here.length ? here.map(({ name }) => monthName(name)).join(", ") : "none";
  box.replaceChildren(table(`Runs by the month in which they last used machines: ${span}`, [["Run"], ["Team"], ["Model"], ["Accelerator"], ["State"], ["Ended", "UTC"], ["Effective cost", currencies.size === 1 ? [...currencies][0] : "", "number"], ["Energy", "kWh", "number"], ["Scope 2, location-based", "kgCO2e", "number"], ["Cost is known", "confidence"], ["Status"]],
    rows, { id: "run-list", empty: "No run of these months is like that.", why: cut.length ? [[`${cut.join("; ")}; trainledger run ID has every run`, []]] : [] }), buttons);
}

/** The page of one run: the month in its address says where to look first. */
async function showRun(name, id) {
  const ordered = [...LEDGER.months.filter((one) => one.name === name), ...LEDGER.months.filter((one) => one.name !== name)].filter((one) => one.runs);
  for (const one of ordered) {
    await load(one.runs);
    const account = runs.get(one.name).find((run) => run.training_run_id === id);
    if (account) return drawRun(account);
  }
  byId("run").replaceChildren(back(), el("h2", {}, id), el("p", { class: "absent" }, `This page has no run ${id}. It has the costliest of each month; trainledger run ${id} asks the whole ledger.`));
}
const back = () => el("p", {}, el("a", { href: "#runs" }, "\u2190 all runs"));

/** Confidence of a cost or an emission, or what energy rests on. */
function restsOn(confidence) {
  const { bases, power } = LEDGER.words;
  const words = [...new Set(confidence.split(", ").map((one) => bases[one] ?? power[one] ?? `confidence ${one}`))];
  return words.join(", ");
}

function drawRun(run) {
  document.title = `${run.training_run_id}: what it cost`;
  const words = LEDGER.words, own = (text) => (text === undefined ? [] : text);
  const facts = [run.model_name && `model ${run.model_name}`, run.team && `team ${run.team}`, run.workload_key && `workload ${run.workload_key}`, run.accelerator_type && `on ${run.chip_count ?? ""} chips of ${run.accelerator_type}`, run.region_id && `in ${run.region_id}`].filter(Boolean);
  const span = run.ended_at ? `${time(run.started_at)} to ${time(run.ended_at)} UTC` : run.started_at ? `from ${time(run.started_at)} UTC on: it goes on, and trainledger run ${run.training_run_id} has an estimate of what it cost so far` : "no record of its time";
  const tiles = run.figures.map((figure) => {
    const value = figure.value === null ? null : exact(figure.value);
    const bounds = figure.low === null ? {} : { low: exact(figure.low), high: exact(figure.high) };
    return figureTile(words.figures[figure.name], { value, known: null, unit: figure.unit, why: value === null ? [figure.unknown_because ?? "not known"] : [], ...bounds }, [figure.confidence ? restsOn(figure.confidence) : null]);
  });
  const money = (row) => `${written(exact(row.effective_cost), 2)}\u00a0${row.billing_currency}`;
  const evidence = [
    ...own(run.costs).map((row) => [`${money(row)} of ${row.cost_component.replaceAll("_", " ")}`, words.rules[row.attribution_rule] ?? row.attribution_rule, row.attribution_confidence]),
    ...own(run.energy).filter((row) => row.facility_energy_kwh).map((row) => [amount(exact(row.facility_energy_kwh), "kWh"), `${words.bases[row.energy_basis]}, ${percent(row.least_telemetry_coverage_ratio)} of its chip time observed`, words.power[row.power_confidence]]),
    ...own(run.emissions).map((row) => [`emissions of ${row.provider_name}`, row.provider_model_version ? `the provider's model ${row.provider_model_version}, divided among runs; ${row.status.replaceAll("_", " ")}` : "nothing published", row.allocation_confidence ?? DASH]),
  ];
  const sources = [
    ...own(run.bills).map((row) => [`bill ${row.source_name}`, [row.sub_account_id, row.service_code, row.region_id].filter(Boolean).join(" "), money(row)]),
    ...own(run.attempts).map((row) => [`record of ${row.record_system}`, `attempt ${row.attempt_id}: ${row.state}, ${time(row.started_at)} to ${time(row.ended_at)}`, row.lost_hours ? `${written(exact(row.lost_hours), 2)} hours lost` : row.lost_because ?? ""]),
    ...own(run.telemetry).map((row) => [`telemetry ${row.source_name}`, `${row.hosts} ${row.hosts === 1 ? "machine" : "machines"}`, `${row.matched_samples} samples`]),
    ...own(run.factors).filter((row) => row.factor_id).map((row) => [`factor ${row.factor_id}`, row.source, `${row.factor_kgco2e_per_kwh} kgCO2e/kWh`]),
  ];
  const cell = (value, digits) => (value === undefined ? DASH : written(exact(value), digits));
  const monthRows = own(run.months).map((row) => [monthName(row.usage_month), [cell(row.effective_cost, 2), row.billing_currency ? el("span", { class: "part" }, row.billing_currency) : null], cell(row.facility_energy_kwh, 3), cell(row.provider_scope_2_location_based_kgco2e, 3), cell(row.provider_scope_2_market_based_kgco2e, 3), row.status.replaceAll("_", " "), row.unknown_because ?? ""]);
  const part = (title, ...content) => [el("h2", {}, title), ...content];
  byId("run").replaceChildren(back(), el("h1", { tabindex: "-1" }, run.training_run_id), el("p", { class: "facts-line" }, facts.join(", ")), el("p", { class: "facts-line" }, `${run.state}, ${span}`), el("p", { class: "facts-line" }, words.statuses[run.status]),
    ...part("What it cost, used and emitted", el("div", { class: "tiles" }, tiles), el("p", { class: "scope-note" }, words.scope)),
    ...part("What would make it better", run.advice ? el("ul", { class: "better" }, run.advice.map((line) => el("li", {}, line))) : el("p", { class: "good" }, "Everything of it is known as well as it can be.")),
    ...part("How that is known", table("Each figure and what it rests on", [["Figure"], ["By", "", "wordy"], ["Confidence"]], evidence)),
    ...part("From what", table("Bills, records, telemetry and factors", [["Source"], ["What", "", "wordy"], ["How much", "", "number"]], sources)),
    ...(monthRows.length ? part("By month", table("The run month by month", [["Month"], ["Effective cost", "", "number"], ["Energy", "kWh", "number"], ["Scope 2, location-based", "kgCO2e", "number"], ["Scope 2, market-based", "kgCO2e", "number"], ["Status"], ["Not known", "", "wordy"]], monthRows)) : []));
  byId("run").querySelector("h1").focus();
}

function drawFilters() {
  const cells = [...months.values()].flatMap((month) => month.cells);
  const values = (place) => [...new Set(cells.map((cell) => cell[place]).filter(Boolean))].sort();
  const names = DATED.map(({ name }) => name).sort();
  const select = (key, label, options) => el("label", {}, label, el("select", { id: key, onchange: (event) => { chosen[key] = event.target.value; refresh(); } }, options.map(([value, words]) => el("option", { value, selected: value === chosen[key] }, words))));
  const all = (list) => [["", "all"], ...list.map((value) => [value, value])];
  byId("filters").replaceChildren(
    select("from", "From", names.map((name) => [name, monthName(name)])), select("to", "To", names.map((name) => [name, monthName(name)])),
    select("team", "Team", all(values(0))), select("model", "Model", all(values(1))), select("chip", "Accelerator", all(values(2))),
    el("button", { type: "button", onclick: () => { reset(); refresh(); } }, "Show all"));
}
function reset() {
  const names = DATED.map(({ name }) => name).sort();
  Object.assign(chosen, { from: names[Math.max(0, names.length - OPEN_MONTHS)] ?? "", to: names[names.length - 1] ?? "", team: "", model: "", chip: "" });
}
/** Load the months that are chosen, write the choice into the address, draw. */
async function refresh() {
  try {
    await Promise.all(DATED.filter(({ name }) => name >= chosen.from && name <= chosen.to).map(({ month }) => load(month)));
  } catch (error) {
    byId("selection").textContent = error.message;
    return;
  }
  const address = new URLSearchParams(Object.entries(chosen).filter(([, value]) => value));
  history.replaceState(null, "", `#${address}`);
  drawFilters();
  redraw();
}

async function route() {
  const asked = decodeURIComponent(location.hash.slice(1));
  const [kind, name, ...id] = asked.split("/");
  const isRun = kind === "run" && id.length > 0;
  document.body.classList.toggle("one-run", isRun);
  document.title = "The ledger of training runs";
  byId("all").hidden = isRun;
  byId("run").hidden = !isRun;
  if (isRun) {
    window.scrollTo(0, 0);
    return showRun(name, id.join("/")).catch((error) => byId("run").replaceChildren(back(), el("p", { class: "absent" }, error.message)));
  }
  if (asked.includes("=")) Object.assign(chosen, Object.fromEntries([...new URLSearchParams(asked)].filter(([key]) => key in chosen)));
  const drawn = byId("tiles").children.length > 0;
  if (!drawn || asked.includes("=") || !asked) {
    if (!asked) reset();
    await refresh();
  }
  if (asked && !asked.includes("=")) byId(asked)?.scrollIntoView();
}

const written_at = LEDGER.build.finished_at ?? "";
const days = Math.floor((Date.now() - Date.parse(`${written_at.replace(" ", "T")}Z`)) / 86400000);
byId("vintage").textContent = `Published ${written_at.slice(0, 16)} UTC${days > 0 ? `, ${days} ${days === 1 ? "day" : "days"} ago` : ""}. Build ${LEDGER.build.build_id}.`;
byId("missing").textContent = `Costs, energy and emissions of runs are not shown: ${LEDGER.missing}. PUBLICATION.json has the reason.`;
byId("missing").hidden = !LEDGER.missing;
byId("parts").append(...PARTS.map(([id, title]) => el("li", {}, el("a", { href: `#${id}` }, title))));
byId("foot").textContent = "Sums of the published tables, added up in this page to their last digit; trainledger sql repeats each of them, trainledger trace leads to its rows.";
reset();
window.addEventListener("hashchange", route);
route();
