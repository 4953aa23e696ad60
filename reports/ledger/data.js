"use strict";
// Exact numbers, the files of data, and sums of what is chosen. Amounts arrive as text and are added as whole numbers of
// 10^-12, never as floats, so that a total on this page is that of the marts to its last digit.

const SCALE = 12;
const months = new Map(); // name -> document, of files that arrived
const runs = new Map(); // name -> accounts
const waiting = new Map(); // file -> promise

function exact(text) {
  const [, sign, whole, part = ""] = /^(-?)(\d+)\.?(\d*)$/.exec(String(text));
  return BigInt(sign + whole + part.padEnd(SCALE, "0"));
}

/** Half away from zero, thousands apart: as reports/page/numbers.py writes it. */
function written(value, places) {
  const step = 10n ** BigInt(SCALE - places);
  const rounded = ((value < 0n ? -value : value) + step / 2n) / step;
  const digits = rounded.toString().padStart(places + 1, "0");
  const whole = digits.slice(0, digits.length - places).replace(/\B(?=(\d{3})+$)/g, "\u2009");
  return (value < 0n && rounded ? "\u2212" : "") + whole + (places ? "." + digits.slice(-places) : "");
}

/** Three figures for the eye. */
function brief(value) {
  const digits = (value < 0n ? -value : value).toString().length - SCALE;
  if (value === 0n) return "0";
  if (digits < 3) return written(value, Math.min(3 - digits, SCALE));
  const unit = 10n ** BigInt(SCALE + digits - 3);
  const half = value < 0n ? -unit / 2n : unit / 2n;
  return written(((value + half) / unit) * unit, 0);
}

const LARGER = { kWh: "MWh", kgCO2e: "tCO2e" };
const places = (unit) => (unit in LARGER ? 3 : 2); // grams, watt-hours, cents

/** The number for the eye with its unit: tonnes and MWh from 1,000 on. */
function eye(value, unit) {
  const large = unit in LARGER && (value >= exact(1000) || value <= -exact(1000));
  return large ? [brief(value / 1000n), LARGER[unit]] : [brief(value), unit];
}
const amount = (value, unit) => `${written(value, places(unit)).replaceAll("\u2009", "\u00a0")}\u00a0${unit}`; // in a sentence, on one line
function ratioOf(part, whole) {
  return whole === 0n ? null : Number((part * 1000000n) / whole) / 1000000;
}
function percent(ratio) {
  if (ratio === null) return "\u2013";
  if (ratio >= 0.9995 && ratio < 1) return ">99.9\u202f%";
  return `${(ratio * 100).toFixed(1).replace(/^-(?=0\.0$)/, "").replace("-", "\u2212")}\u202f%`;
}

function takeMonth(document) {
  months.set(document.month, document);
}
/** What is null was left out of the file. */
function takeRuns(name, accounts) {
  const nothing = { value: null, unit: null, low: null, high: null, confidence: null, unknown_because: null };
  runs.set(name, accounts.map((account) => ({ ...account, figures: account.figures.map((figure) => ({ ...nothing, ...figure })) })));
}

/** Load a file of data once; a page opened from a disk may run scripts beside it, and may not fetch. */
function load(file) {
  if (!waiting.has(file)) {
    waiting.set(file, new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = file;
      script.onload = resolve;
      script.onerror = () => reject(new Error(`${file} is not there: this page was replaced by a newer one. Load it again.`));
      document.head.append(script);
    }));
  }
  return waiting.get(file);
}

class Totals {
  cost = new Map(); // currency -> amount
  billed = new Map();
  lost = new Map();
  energy = 0n;
  low = 0n;
  high = 0n;
  runMonths = 0;
  missing = { cost: 0, energy: 0, location: 0, market: 0 };
  versions = new Map(); // provider -> version -> {location, market, runMonths}
  unknown = new Map(); // reason -> run-months
}

function more(map, key, value) {
  map.set(key, (map.get(key) ?? 0n) + value);
}

/** Totals of the cells that are kept, by the key that each of them gets; a key of null leaves a cell out. */
function addUp(documents, keyOf) {
  const found = new Map();
  const at = (key) => found.get(key) ?? found.set(key, new Totals()).get(key);
  for (const month of documents) {
    const keys = month.cells.map(([team, model, chip, family]) => keyOf({ team, model, chip, family, month: month.month }));
    const rows = (part) => (month[part] ?? []).filter((row) => keys[row[0]] !== null);
    for (const [cell, currency, effective, billed] of rows("costs")) {
      more(at(keys[cell]).cost, currency, exact(effective));
      more(at(keys[cell]).billed, currency, exact(billed));
    }
    for (const [cell, runMonths, energy, low, high, energyUnknown, location, market] of rows("figures")) {
      const totals = at(keys[cell]);
      totals.runMonths += runMonths;
      totals.energy += exact(energy);
      totals.low += exact(low);
      totals.high += exact(high);
      totals.missing.energy += energyUnknown;
      totals.missing.location += location;
      totals.missing.market += market;
    }
    for (const [cell, provider, version, location, market, runMonths] of rows("emissions")) {
      const versions = at(keys[cell]).versions;
      const of = versions.get(provider) ?? versions.set(provider, new Map()).get(provider);
      const sum = of.get(version) ?? of.set(version, { location: 0n, market: 0n, runMonths: 0 }).get(version);
      sum.location += exact(location);
      sum.market += exact(market);
      sum.runMonths += runMonths;
    }
    for (const [cell, reason, count] of rows("unknown")) {
      const totals = at(keys[cell]);
      totals.unknown.set(reason, (totals.unknown.get(reason) ?? 0) + count);
      if (reason.startsWith("cost:")) totals.missing.cost += count;
    }
    for (const [cell, cause, currency, effective] of rows("lost")) {
      if (cause !== "idle") more(at(keys[cell]).lost, currency, exact(effective)); // what is idle is of no run
    }
  }
  return found;
}

function reasons(totals, start) {
  return [...totals.unknown.keys()].filter((reason) => reason.startsWith(start)).map((reason) => `${reason} (${totals.unknown.get(reason)} of ${totals.runMonths} run-months)`);
}
const versionsApart = (provider, versions) => `emissions: versions ${[...versions.keys()].join(" and ")} of the model of ${provider} are not added`;
/** All that is unknown in some totals, without counts. */
function unknownIn(totals) {
  return [...totals.unknown.keys(), ...[...totals.versions].filter(([, versions]) => versions.size > 1).map(([provider, versions]) => versionsApart(provider, versions))];
}

// A figure is {value, known, unit, why}: value is null as soon as a part of it is unknown, known is what there is of it.
function costOf(totals, currency) {
  const known = totals.cost.get(currency) ?? 0n;
  return { value: totals.missing.cost ? null : known, known, unit: currency, why: reasons(totals, "cost:") };
}
function energyOf(totals) {
  const value = totals.missing.energy || !totals.runMonths ? null : totals.energy;
  return { value, known: totals.energy, unit: "kWh", why: reasons(totals, "energy:"), low: totals.low, high: totals.high };
}
/** The provider's Scope 2 by one method. Two versions of a provider's model are never added. */
function emissionsOf(totals, method) {
  const why = reasons(totals, "emissions:");
  const parts = [];
  let broken = totals.missing[method] > 0 || !totals.versions.size;
  for (const [provider, versions] of totals.versions) {
    if (versions.size > 1) {
      broken = true;
      why.push(versionsApart(provider, versions));
    }
    for (const [version, sum] of versions) parts.push({ provider, version, value: sum[method], runMonths: sum.runMonths });
  }
  const known = parts.reduce((sum, part) => sum + part.value, 0n);
  return { value: broken ? null : known, known: broken && [...totals.versions.values()].some((versions) => versions.size > 1) ? null : known, unit: "kgCO2e", why, parts };
}
