"use strict";
// The page follows one stream: each message has the parts that have changed. What is shown depends on what runs.

const body = document.body, view = document.getElementById("view"), by = (id) => document.getElementById(id);
const query = new URLSearchParams(location.search);
const now = {}; // the parts of the state
const charts = new Map();
let told = "", playing = false, frame = 0;
const dirty = new Set();

const metricSpecs = {
  accuracy: { title: "Accuracy", caption: "On test records: mean over agents; the band goes from the worst agent to the best.", percent: true, y: "accuracy", lead: true },
  loss: { title: "Loss", caption: "On test records: mean over agents, with the band over agents.", y: "loss" },
  epsilon: { title: "Epsilon spent", caption: "Of the agent that has spent most, from its ledger. The curve is the guarantee.", y: "epsilon", upper: true, limit: () => now.head.setup?.budget?.epsilon },
  consensus_distance: { title: "Consensus distance", caption: "How far the agents' models are from their mean. Logarithmic.", y: "distance", log: true },
  samples_per_second: { title: "Samples a second", caption: "Expected samples of all agents.", y: "samples a second" },
};

function spec(name) {
  const known = metricSpecs[name];
  if (known) return { key: name, ...known };
  if (name.startsWith("bound ")) return { key: name, title: `${name.slice(6)}: what is proved of the claim`, caption: "Lower bound over claim, as observations grow. At 1 the claim is reached, above it is refuted. Only the last one is a verdict.", y: "lower bound over claim", unit: "observations", limit: () => 1, limitWord: "the claim" };
  return { key: name, title: name.replaceAll("_", " "), caption: "Mean over agents, with the band over agents.", y: name.replaceAll("_", " ") };
}

function duration(s) {
  s = Math.max(0, Math.round(s));
  if (s < 90) return s + " s";
  if (s < 5400) return Math.round(s / 60) + " min";
  if (s < 172800) return (s / 3600).toFixed(1) + " h";
  return (s / 86400).toFixed(1) + " days";
}

const bytes = (n) => (n < 1e6 ? (n / 1e3).toFixed(1) + " kB" : n < 1e9 ? (n / 1e6).toFixed(1) + " MB" : (n / 1e9).toFixed(2) + " GB");
const clock = (t) => new Date(t).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const moment = (t) => (Date.now() - new Date(t) < 864e5 ? clock(t) : new Date(t).toLocaleDateString("en-CA") + " " + clock(t));
const plural = (n, word) => `${Number(n).toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;
const agentName = (i) => now.head?.setup?.agents?.names?.[i] ?? String(i);
const className = (c) => now.head?.setup?.agents?.classes?.[c] ?? String(c);

// ---- layout: sections are made once, and filled when their part changes

const sections = new Map();
function section(name, make) {
  if (!sections.has(name)) sections.set(name, make());
  return sections.get(name);
}
function card(title, caption, ...inside) {
  const id = "h-" + title.toLowerCase().replace(/[^a-z]+/g, "-");
  return el("section", { class: "card", "aria-labelledby": id }, el("h2", { id }, title), caption ? el("p", { class: "caption" }, caption) : null, ...inside);
}
function hero() { return section("hero", () => { const x = el("div", { class: "hero" }); view.prepend(x); return x; }); }
function cards() { return section("cards", () => { const x = el("div", { class: "cards" }); view.append(x); return x; }); }

// place puts a card where its rank says, whatever came first.
const ranks = ["members", "bounds", "grid", "scatter", "own", "accuracy", "rmse", "graph", "loss", "epsilon", "consensus_distance", "", "split", "samples_per_second"];
function place(card, name) {
  const rank = ranks.indexOf(name) < 0 ? ranks.indexOf("") : ranks.indexOf(name);
  card.dataset.rank = String(rank);
  const after = [...cards().children].find((c) => Number(c.dataset.rank) > rank || (Number(c.dataset.rank) === rank && c.dataset.name > name));
  card.dataset.name = name;
  cards().insertBefore(card, after ?? null);
}

function figure(key, label) {
  return section("figure-" + key, () => {
    const value = el("p", { class: "value" }), under = el("p", { class: "under" });
    const c = el("section", { class: "card figure", "aria-label": label }, el("p", { class: "label" }, label), value, under);
    const all = ["accuracy", "loss", "epsilon", "speed"];
    c.dataset.rank = String(all.indexOf(key));
    hero().insertBefore(c, [...hero().children].find((x) => Number(x.dataset.rank) > all.indexOf(key)) ?? null);
    return { card: c, value, under };
  });
}

// ---- the head

function head() {
  const h = now.head, b = h.begin;
  if (!b) return;
  by("what").textContent = b.what === "node" ? "federation" : b.what;
  by("name").textContent = b.name;
  document.title = `${h.done && h.of ? Math.floor((100 * h.done) / h.of) + " % · " : ""}${b.name} · sotto`;
  const words = { running: "running", paused: "paused", stopping: "stopping", done: "finished", interrupted: "interrupted", failed: "failed" };
  by("state").dataset.state = h.state;
  by("state-word").textContent = words[h.state] ?? h.state;
  if (told && told !== h.state) by("said").textContent = `${b.name} is ${words[h.state] ?? h.state}`;
  told = h.state;
  if (silent()) {
    by("state").dataset.state = "late";
    by("state-word").textContent = "no word";
  }
  const s = h.setup;
  if (s) {
    const n = s.agents.number;
    by("about").textContent = [s.algorithm, s.model.name && `${s.model.name} with ${s.model.parameters.toLocaleString("en")} parameters`, s.dataset && `on ${s.dataset}`,
      b.what === "node" ? plural(n, "member") : plural(n, "agent"), s.graph.name && `${s.graph.name} graph`].filter(Boolean).join(", ");
  }
  by("progress").hidden = !h.of && !h.done;
  const share = h.of ? Math.min(100, (100 * h.done) / h.of) : h.end ? 100 : 0;
  by("fill").style.width = share + "%";
  by("bar").setAttribute("aria-valuenow", share.toFixed(0));
  by("done").textContent = h.of ? `${b.unit} ${h.done.toLocaleString("en")} of ${h.of.toLocaleString("en")}` : plural(h.done, b.unit);
  const took = (new Date(h.last) - new Date(h.began)) / 1000;
  by("left").textContent = h.end ? `· took ${duration(took)}` : silent() ? "" : h.state === "running" && h.left > 0 ? `· about ${duration(h.left)} left` : h.state === "paused" ? "· paused" : "";
  const age = (Date.now() - new Date(h.last)) / 1000;
  if (now.watched && !h.end && age >= 5) by("left").textContent += ` · last word ${duration(age)} ago`;
  by("foot").replaceChildren(b.command ? el("code", {}, b.command) : "", b.dir ? el("span", { class: "quiet" }, `  in ${h.end?.dir || b.dir}`) : "");
  controls(h);
  notes(h);
}

function controls(h) {
  const mine = body.dataset.control === "true" && !h.end;
  by("pause").hidden = by("stop").hidden = !mine;
  by("pause").textContent = h.state === "paused" ? "Resume" : "Pause";
  by("stop").disabled = by("pause").disabled = h.state === "stopping";
  by("replay").hidden = !h.end || body.dataset.plays !== "true" || playing;
}

function notes(h) {
  const all = [];
  const sim = h.setup?.noise === "simulated";
  if (h.end?.state === "done" && h.end.text) all.push(el("p", { class: "notice" }, h.end.text));
  if (h.end && h.end.state !== "done") all.push(el("p", { class: "notice bad" }, `${h.end.state === "failed" ? "It failed" : "It was interrupted"}: ${h.end.text || ""}`));
  if (h.end?.page && h.end.state === "done") all.push(el("p", { class: "notice" }, { run: "All figures of the finished run, with its privacy statement: ", audit: "What was found, in full: " }[h.begin.what] ?? "All of it, in one file: ", el("a", { href: "staying" + location.search }, "the page that stays"), "."));
  if (sim) all.push(el("p", { class: "quiet" }, "Noise is simulated: its streams come from the seed, so this run protects nobody. Epsilon is what the same run with secret noise would cost."));
  for (const t of h.notes || []) all.push(el("p", { class: "notice" }, t));
  for (const f of h.end?.facts || []) all.push(el("p", { class: "quiet" }, `${f.name}: `, el("code", {}, f.value)));
  by("notes").hidden = all.length === 0;
  by("notes").replaceChildren(...all);
}

// silent is whether what should run gives no sign of life.
const silent = () => !now.head.end && Boolean(now.watched?.silent || now.watched?.gone);

// watched says what is known of the files that the events come from.
let warned = "";
function watched() {
  const w = now.watched || {}, all = (w.faults || []).map((text) => `Not all could be read: ${text}.`);
  if (w.replaced) all.push(`At ${clock(w.replaced)} other files were in the place of those that were shown. These are the new ones.`);
  if (w.gone) all.push("The directory is gone. Figures below are the last ones.");
  if (w.silent) all.push(`No word since ${moment(w.silent)}. It may have been killed.`);
  by("watched").hidden = all.length === 0;
  if (warned === (warned = all.join())) return;
  by("watched").replaceChildren(...all.map((text) => el("p", { class: "notice bad" }, text)));
}

// ---- a run

function run() {
  const e = now.evaluation, b = now.head.setup?.budget;
  if (e?.metrics.accuracy) {
    const a = e.metrics.accuracy, f = figure("accuracy", "Accuracy");
    f.value.replaceChildren(number(a.mean, true), el("small", {}, "%"));
    f.under.textContent = `worst agent ${number(a.min, true)}, best ${number(a.max, true)}`;
  } else if (e?.metrics.loss) {
    const a = e.metrics.rmse ?? e.metrics.loss, f = figure("loss", e.metrics.rmse ? "Root mean squared error" : "Loss");
    f.value.textContent = number(a.mean);
    f.under.textContent = `best agent ${number(a.min)}, worst ${number(a.max)}`;
  }
  if (now.spent && b) odometer(now.spent.upper, b.epsilon, b, now.spent);
  if (now.time) {
    const f = figure("speed", "Samples a second");
    f.value.textContent = now.time.samples_per_second >= 1e4 ? Math.round(now.time.samples_per_second / 1000).toLocaleString("en") + " k" : number(now.time.samples_per_second);
    f.under.textContent = now.traffic ? `${bytes(now.traffic.bytes)} sent by all agents` : "";
  }
  if (now.time) split();
  if (now.head.setup?.graph && now.head.setup.agents.number > 1) graph();
}

function odometer(spent, budget, b, s) {
  const f = figure("epsilon", "Epsilon spent, at most");
  const infinite = budget === "inf" || !(budget > 0);
  f.value.replaceChildren(spent >= .01 ? up(spent, 2) : atMost(spent, 2), el("small", {}, infinite ? "no budget" : `of ${number(budget)}`));
  if (infinite) { f.under.textContent = "without privacy"; return; }
  const bar = section("odometer", () => {
    const fill = el("div", { class: "spent" }), to = el("div", { class: "to", title: "projected at the end" });
    const x = el("div", { class: "odometer", role: "meter", "aria-label": "Epsilon spent of its budget", "aria-valuemin": "0" }, fill, to);
    f.card.insertBefore(x, f.under);
    return { x, fill, to };
  });
  const max = Math.max(budget, s?.projected || 0, spent);
  bar.fill.style.width = (100 * spent) / max + "%";
  bar.x.setAttribute("aria-valuemax", String(budget));
  bar.x.setAttribute("aria-valuenow", String(spent));
  const p = s?.projected;
  bar.to.hidden = !p;
  if (p) bar.to.style.left = (100 * p) / max + "%";
  const at = b.delta ? ` at delta ${b.delta.toExponential(0).replace("e-", "e−")}` : "";
  const left = spent === null ? "not known" : budget - spent > budget / 200 ? `${atLeast(budget - spent)} left` : "all of it is spent";
  f.under.textContent = (p && !now.head.end ? `${atMost(p)} at the end` : left) + at + (b.unit ? `, for one ${b.unit}` : "") + (b.after ? `, after ${plural(b.after, "record")} of the ledger` : "");
}

const splitParts = [["gradients", "Gradients"], ["noise", "Noise and charges"], ["mixing", "Mixing and messages"], ["evaluation", "Evaluation"], ["rest", "Accounting, files"]];
function split() {
  const parts = section("split", () => {
    const bar = el("div", { class: "split", "aria-hidden": "true" }), keys = el("ul", { class: "keys" });
    place(card("Where time goes", "Since the run began, in seconds of the wall's clock.", bar, keys), "split");
    return { bar, keys };
  });
  const t = now.time, sum = splitParts.reduce((n, [k]) => n + t[k], 0) || 1;
  parts.bar.replaceChildren(...splitParts.map(([k], i) => { const x = el("span", { class: "c" + i }); x.style.flexGrow = String(t[k] / sum); return x; }));
  parts.keys.replaceChildren(...splitParts.map(([k, w], i) => el("li", {}, el("span", { class: "swatch c" + i, "aria-hidden": "true" }), w, el("b", {}, `${Math.round((100 * t[k]) / sum)}\u00a0%`))));
}

// The graph: links by what they carry and lose, agents by what they know. Each class is a piece of an agent's ring, filled as far as it is known.
function graph() {
  const s = now.head.setup, n = s.agents.number, links = s.graph.links || [];
  const g = section("graph", () => {
    const box = el("div", { class: "graph" }), read = el("p", { class: "read" }), rows = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Who knows what, numbers" });
    const details = el("details", { on: { toggle: () => knowsTable() } }, el("summary", {}, "Numbers"), rows);
    const c = card("Who knows what", " ", box, read, details);
    place(c, "graph");
    return { box, read, rows, details, caption: c.querySelector(".caption") };
  });
  g.caption.textContent = (now.knows ? "Each agent's ring has a piece for every class, filled as far as its model knows it." : "Agents and their links.") + (links.length ? " The more bytes a link has carried, the wider it is. One that loses messages is orange, the stronger the more it loses; one that delivers late is dashed." : "");
  const unnamed = links.length === 0 && n * (n - 1) > 4000; // there may be more than the 2,000 that a stream names
  if (n > 300 || unnamed) {
    g.box.replaceChildren(el("p", { class: "quiet" }, `${plural(n, "agent")} on a ${s.graph.name} graph: ${n > 300 ? "too many" : "no links"} to draw.`));
    return;
  }
  const large = n > 64, W = 560, R = large ? 4 : Math.max(12, Math.min(42, 250 / Math.sqrt(n) / 1.6)), pad = R + 26;
  const at = s.graph.at?.length === n ? s.graph.at.map(([x, y]) => [pad + x * (W - 2 * pad), pad + (1 - y) * (W * .82 - 2 * pad)])
    : [...Array(n).keys()].map((i) => [W / 2 + (W / 2 - pad) * Math.sin((2 * Math.PI * i) / n), (W * .82) / 2 - ((W * .82) / 2 - pad) * Math.cos((2 * Math.PI * i) / n)]);
  const svg = el("svg", { svg: true, viewBox: `0 0 ${W} ${W * .82}`, role: "group", "aria-label": `${s.graph.name} graph of ${plural(n, "agent")} and ${plural(links.length, "link")}` });
  const busiest = Math.max(1, ...(now.traffic?.bytes_by_link || [0]));
  links.forEach(([i, j], k) => {
    if (!at[i] || !at[j]) return; // of an agent that is not there
    const c = carried(k), share = c.bytes / busiest;
    const line = el("line", { svg: true, x1: at[i][0], y1: at[i][1], x2: at[j][0], y2: at[j][1], class: "tie" + (c.bytes ? " used" : "") + (c.lost ? " lossy" : "") + (c.late ? " late" : ""),
      "stroke-width": (c.bytes ? (large ? .4 + share : 1 + 3 * share) : large ? .5 : 1).toFixed(2) },
      el("title", { svg: true }, `${agentName(i)} – ${agentName(j)}: ${c.words}`));
    if (c.lost) line.style.setProperty("--loss", Math.round(100 * Math.min(1, .4 + 2 * c.loss)) + "%");
    svg.append(line);
  });
  for (let i = 0; i < n; i++) svg.append(agent(i, at[i], R, now.knows?.percent?.[i], g));
  const focus = document.activeElement?.dataset?.agent;
  g.box.replaceChildren(svg);
  if (focus !== undefined) g.box.querySelector(`[data-agent="${focus}"]`)?.focus();
  if (now.traffic) g.read.textContent = `${now.traffic.sent.toLocaleString("en")} messages, ${bytes(now.traffic.bytes)}, ${now.traffic.dropped.toLocaleString("en")} lost, ${now.traffic.late.toLocaleString("en")} late`;
  if (g.details.open) knowsTable();
}

// carried is what link k has carried, in both directions.
function carried(k) {
  const [lost, late, sent] = now.traffic?.by_link?.[k] || [0, 0, 0], b = now.traffic?.bytes_by_link?.[k] || 0, loss = lost / Math.max(1, sent, lost);
  const words = sent ? `${plural(sent, "message")}, ${bytes(b)}, ${lost.toLocaleString("en")} lost (${(100 * loss).toFixed(lost ? 1 : 0)} %), ${late.toLocaleString("en")} late` : lost ? `${lost} lost` : "a link";
  return { sent, bytes: b, lost, late, loss, words };
}

function agent(i, [x, y], R, percent, g) {
  const words = percent ? `${agentName(i)} knows ${percent.map((p, c) => `${className(c)} ${p < 0 ? "–" : p + " %"}`).join(", ")}` : agentName(i);
  const a = el("g", { svg: true, class: "agent", transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`, role: "img", tabindex: percent ? "0" : undefined, "aria-label": words, "data-agent": String(i) });
  const tell = () => { if (percent) g.read.textContent = words; };
  a.addEventListener("focus", tell); a.addEventListener("pointerenter", tell);
  a.append(el("circle", { svg: true, class: "hub", r: R }));
  if (percent && R > 6) percent.forEach((p, c) => {
    const k = percent.length, gap = .06, from = (2 * Math.PI * c) / k + gap, to = (2 * Math.PI * (c + 1)) / k - gap;
    const r0 = R * .52, r1 = r0 + (R * .42 * Math.max(0, p)) / 100;
    if (p > 1) a.append(el("path", { svg: true, class: "arc", d: arc(r0, r1, from, to) }));
  });
  if (R > 6) {
    a.append(el("text", { svg: true }, String(i)));
    if (agentName(i) !== String(i)) a.append(el("text", { svg: true, class: "name", y: (R + 13).toFixed(1) }, agentName(i)));
  }
  return a;
}

function arc(r0, r1, a, b) {
  const p = (r, t) => `${(r * Math.sin(t)).toFixed(2)} ${(-r * Math.cos(t)).toFixed(2)}`, big = b - a > Math.PI ? 1 : 0;
  return `M${p(r0, a)}L${p(r1, a)}A${r1.toFixed(2)} ${r1.toFixed(2)} 0 ${big} 1 ${p(r1, b)}L${p(r0, b)}A${r0.toFixed(2)} ${r0.toFixed(2)} 0 ${big} 0 ${p(r0, a)}Z`;
}

function knowsTable() {
  const g = sections.get("graph"), rows = now.knows?.percent, links = now.head.setup.graph.links || [], all = [];
  if (!g?.details.open) return;
  const table = (caption, names, body) => el("table", {}, el("caption", {}, caption), el("thead", {}, el("tr", {}, ...names.map((t) => el("th", { scope: "col" }, t)))), el("tbody", {}, ...body));
  if (rows) all.push(table("Accuracy by class", ["agent", ...rows[0].map((_, c) => className(c) + " (%)")], rows.map((r, i) => el("tr", {}, el("th", { scope: "row" }, agentName(i)), ...r.map((p) => el("td", {}, p < 0 ? "–" : String(p)))))));
  if (now.traffic?.by_link?.length) all.push(table("Traffic by link" + (links.length > mostRows ? `, the first ${mostRows} of ${links.length}` : ""), ["link", "messages", "bytes", "lost", "late"], links.slice(0, mostRows).map(([i, j], k) => {
    const c = carried(k);
    return el("tr", {}, el("th", { scope: "row" }, `${agentName(i)} – ${agentName(j)}`), ...[c.sent, c.bytes, c.lost, c.late].map((x) => el("td", {}, x.toLocaleString("en"))));
  })));
  g.rows.replaceChildren(...(all.length ? all : [el("p", { class: "quiet" }, "No accuracy by class and no traffic by link here.")]));
}

// ---- a sweep, a search, a study

const cells = new Map();
function sweep() {
  const all = [...cells.values()], score = now.grid?.score ? "score" : "accuracy", done = all.filter((c) => c.state === "done");
  const has = (c) => typeof c.figures?.[score] === "number";
  const measure = done.some(has) ? score : "loss", better = measure === "loss" ? -1 : 1;
  const scored = done.filter((c) => typeof c.figures?.[measure] === "number").sort((a, b) => better * (b.figures[measure] - a.figures[measure]));
  const percent = measure === "accuracy" || (measure === "score" && now.grid.score === "accuracy"), best = scored[0];
  const axes = now.grid?.axes || [], unit = now.head.begin.unit;
  const f = figure("cells", unit === "trial" ? "Trials done" : "Cells done");
  f.value.replaceChildren(String(now.head.done), el("small", {}, now.head.of ? `of ${now.head.of}` : ""));
  f.under.textContent = plural(all.filter((c) => c.state === "running").length, unit) + " running";
  if (best) {
    const b = figure("best", "Best so far");
    b.value.replaceChildren(number(best.figures[measure], percent), el("small", {}, percent ? "% accuracy" : measure));
    b.under.textContent = axes.map((a, k) => `${short(a)} ${plain(best.values[k])}`).join(", ");
  }
  grid(axes, measure, percent, best, scored);
  if (new Set(done.filter(has).map((c) => c.figures.epsilon?.toPrecision?.(2))).size > 1) scatter(done.filter((c) => typeof c.figures.epsilon === "number" && has(c)), measure, percent);
}

const short = (key) => (key === "algorithm.name" ? "algorithm" : key.slice(key.lastIndexOf(".") + 1).replace("target_", "").replaceAll("_", " "));
const plain = (v) => String(v).replaceAll('"', "").replaceAll("'", "");
const link = (c) => `./?s=${body.dataset.s || 0}&cell=${c.cell}`;

function grid(axes, measure, percent, best, scored) {
  const unit = now.head.begin.unit;
  const g = section("grid", () => {
    const box = el("div", {}), rows = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Cells, numbers" });
    const c = card(unit === "trial" ? "Trials" : "Grid", "A tile is one run: choose it to see it. The bar below it is its place between the worst and the best.", box, el("details", { on: { toggle: () => dirty.add("cells") && plan() } }, el("summary", {}, "Numbers"), rows));
    c.classList.add("wide");
    place(c, "grid");
    return { box, rows, card: c };
  });
  const values = scored.map((c) => c.figures[measure]), low = Math.min(...values), high = Math.max(...values);
  const list = now.grid?.cells?.length ? now.grid.cells.map((v, i) => cells.get(i) ?? { cell: i, state: "waiting", values: v }) : [...cells.values()].sort((a, b) => a.cell - b.cell);
  varies = new Set(axes.map((_, k) => k).filter((k) => new Set(list.map((c) => c.values?.[k])).size > 1));
  const groups = new Map(), split = axes.length > 1 && 2 * new Set(list.map((c) => c.values?.[0])).size <= list.length; // several tiles in each
  for (const c of list.slice(0, 2000)) {
    const name = split && c.values ? `${short(axes[0])} ${plain(c.values[0])}` : "";
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(c);
  }
  g.box.replaceChildren(...[...groups].map(([name, of]) => el("div", { class: "group" }, name ? el("h3", {}, name) : null, el("ul", { class: "cells" }, ...of.map((c) => el("li", {}, tile(c, axes, split ? 1 : 0, measure, percent, low, high, c === best)))))));
  if (!g.card.querySelector("details").open) return;
  g.rows.replaceChildren(el("table", {}, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "cell"), ...axes.map((a) => el("th", { scope: "col", class: "text" }, short(a))), ...["state", measure + (percent ? " (%)" : ""), "epsilon", "seconds"].map((t) => el("th", { scope: "col" }, t)))),
    el("tbody", {}, ...list.slice(0, 1000).map((c) => el("tr", {}, el("th", { scope: "row" }, String(c.cell)), ...axes.map((_, k) => el("td", { class: "text" }, plain(c.values?.[k] ?? ""))), el("td", {}, c.state), el("td", {}, number(c.figures?.[measure], percent)), el("td", {}, atMost(c.figures?.epsilon)), el("td", {}, number(c.figures?.seconds)))))));
}

// labels names a cell by the axes that vary, but for the first where tiles are grouped by it; numbers have their key.
function labels(c, axes, from) {
  return axes.map((a, k) => ({ a, k })).filter(({ k }) => k >= from && varies.has(k)).map(({ a, k }) => (Number.isNaN(Number(plain(c.values?.[k] ?? ""))) ? plain(c.values[k]) : `${short(a)} ${plain(c.values[k])}`)).join(", ");
}

let varies = new Set();
function tile(c, axes, from, measure, percent, low, high, best) {
  const x = c.figures?.[measure], title = axes.map((a, k) => `${short(a)} ${plain(c.values?.[k] ?? "")}`).join(", ");
  const value = c.state === "done" ? number(x, percent) : { running: "running…", waiting: "waiting", failed: "failed" }[c.state] ?? c.state;
  const attrs = { class: "tile" + (best ? " best" : ""), "data-state": c.state, title };
  const bar = typeof x === "number" && high > low ? el("i", { "aria-hidden": "true" }) : null;
  if (bar) bar.style.width = 8 + 92 * ((x - low) / (high - low)) + "%";
  const inside = [el("b", {}, value), el("span", {}, labels(c, axes, from) || title), best ? el("span", {}, "★ the best") : null, bar];
  return c.dir && now.head.begin.what !== "reproduce" ? el("a", { href: link(c), ...attrs }, ...inside) : el("div", attrs, ...inside);
}

// steps are three to six round numbers between two.
function steps(lo, hi) {
  const raw = (hi - lo) / 4, size = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 5, 10].map((k) => k * size).find((k) => k >= raw);
  const all = [];
  for (let k = Math.ceil(lo / step); k * step <= hi + 1e-9; k++) all.push(Number((k * step).toPrecision(12)));
  return all;
}

// scatter draws a line for each setting, named at its end: runs that differ in their budget alone belong together.
function scatter(all, measure, percent) {
  const box = section("scatter", () => { const x = el("div", { class: "scatter" }), c = card("Accuracy against epsilon", "A point is a finished run; a line joins those that differ in their budget alone. The upper left is best: much learned, little spent.", x); c.classList.add("wide"); place(c, "scatter"); new ResizeObserver(() => { if (x.drawn !== x.clientWidth) { dirty.add("cells"); plan(); } }).observe(x); return x; });
  box.drawn = box.clientWidth;
  const W = Math.max(300, box.clientWidth || 560), H = 320, L = 46, B = 40, R = W > 480 ? 130 : 16, axes = now.grid?.axes || [], scale = percent ? 100 : 1;
  const eps = all.map((c) => c.figures.epsilon), log = Math.min(...eps) > 0 && Math.max(...eps) >= 5 * Math.min(...eps), fx = (e) => (log ? Math.log10(e) : e);
  const wide = (a) => { const lo = Math.min(...a), hi = Math.max(...a), pad = (hi - lo) * .06 || Math.abs(hi) * .1 || 1; return [lo - pad, hi + pad]; };
  const [x0, x1] = wide(eps.map(fx)), [y0, y1] = wide(all.map((c) => c.figures[measure] * scale));
  const px = (e) => L + ((W - L - R) * (fx(e) - x0)) / (x1 - x0), py = (y) => H - B - ((H - B - 24) * (y * scale - y0)) / (y1 - y0);
  const svg = el("svg", { svg: true, viewBox: `0 0 ${W} ${H}`, role: "group", "aria-label": `${measure} against epsilon, ${plural(all.length, "run")}` });
  const distinct = [...new Set(eps.map((e) => Number(e.toPrecision(2))))].sort((a, b) => a - b);
  for (const e of distinct.length <= 7 ? distinct : log ? [.1, .3, 1, 3, 10, 30, 100].filter((e) => fx(e) >= x0 && fx(e) <= x1) : steps(x0, x1)) svg.append(el("text", { svg: true, class: "tick", x: px(e), y: H - B + 18, "text-anchor": "middle" }, number(e)));
  for (const y of steps(y0, y1)) svg.append(el("line", { svg: true, class: "axis", x1: L, x2: W - R, y1: py(y / scale), y2: py(y / scale) }), el("text", { svg: true, class: "tick", x: L - 8, y: py(y / scale) + 4, "text-anchor": "end" }, String(y)));
  svg.append(el("text", { svg: true, class: "tick", x: 4, y: 10 }, `${measure}${percent ? " (%)" : ""}, from ${number(y0 / scale, percent)} to ${number(y1 / scale, percent)}`));
  svg.append(el("text", { svg: true, class: "tick", x: (L + W - R) / 2, y: H - 4, "text-anchor": "middle" }, "epsilon, at most" + (log ? " (logarithmic)" : "")));
  const groups = new Map(), budget = axes.findIndex((a) => a.endsWith("epsilon") || a.endsWith("noise_multiplier"));
  for (const c of all) {
    const name = axes.map((a, k) => ({ a, k })).filter(({ k }) => k !== budget && varies.has(k)).map(({ a, k }) => (Number.isNaN(Number(plain(c.values[k]))) ? plain(c.values[k]) : `${short(a)} ${plain(c.values[k])}`)).join(", ");
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(c);
  }
  const ends = [];
  [...groups].forEach(([name, of], k) => {
    of.sort((a, b) => a.figures.epsilon - b.figures.epsilon);
    const hue = groups.size <= 8 ? "s" + (k % 8) : "s0";
    if (groups.size <= 8 && of.length > 1) svg.append(el("path", { svg: true, class: "join " + hue, d: of.map((c, i) => `${i ? "L" : "M"}${px(c.figures.epsilon).toFixed(1)} ${py(c.figures[measure]).toFixed(1)}`).join("") }));
    for (const c of of) svg.append(el("circle", { svg: true, class: hue, cx: px(c.figures.epsilon), cy: py(c.figures[measure]), r: 5 }, el("title", { svg: true }, `${axes.map((a, i) => `${short(a)} ${plain(c.values[i])}`).join(", ")}: ${number(c.figures[measure], percent)} at epsilon ${atMost(c.figures.epsilon)}`)));
    ends.push({ name, y: py(of.at(-1).figures[measure]), x: px(of.at(-1).figures.epsilon), hue });
  });
  if (groups.size > 1 && groups.size <= 8 && R > 100) {
    ends.sort((a, b) => a.y - b.y).forEach((e, k) => { if (k) e.y = Math.max(e.y, ends[k - 1].y + 15); });
    ends.forEach((e) => svg.append(el("text", { svg: true, class: "end " + e.hue, x: e.x + 11, y: e.y + 4 }, e.name)));
  }
  const keys = groups.size > 1 && groups.size <= 8 && R < 100 ? el("ul", { class: "keys" }, ...ends.map((e) => el("li", {}, el("span", { class: "swatch " + e.hue, "aria-hidden": "true" }), e.name))) : "";
  box.replaceChildren(svg, keys);
}

// ---- a federation

function federation() {
  const s = now.standing, members = now.members || [];
  const alarm = members.filter((m) => ["gone", "late", "awaited"].includes(m.state));
  const f = figure("members", "Members heard");
  const here = members.filter((m) => ["here", "done"].includes(m.state)).length;
  f.value.replaceChildren(String(here), el("small", {}, `of ${members.length} neighbors`));
  const ended = members.length > 0 && members.every((m) => m.state === "done");
  f.under.textContent = alarm.length ? "waits for " + alarm.map((m) => m.name).join(", ") : ended ? "all have finished" : "all take part";
  if (s?.ledger?.lifetime) odometer(s.ledger.epsilon, s.ledger.lifetime, { delta: s.ledger.delta, unit: now.head.setup?.budget?.unit, after: s.ledger.records }, null);
  const r = figure("round", now.head.begin.unit === "wake" ? "Wakes" : "Rounds");
  r.value.replaceChildren(now.head.done.toLocaleString("en"), el("small", {}, now.head.of ? `of ${now.head.of.toLocaleString("en")}` : ""));
  const waits = alarm.length > 0 && !now.head.end && !silent();
  if (waits) by("left").textContent = "· waits for " + alarm.map((m) => m.name).join(", ");
  r.under.textContent = waits ? "it goes on when they are back" : now.head.left > 0 && !silent() ? `about ${duration(now.head.left)} left` : s?.words ?? "";
  const own = section("own", () => { const x = el("div", {}), c = card("This member", "What this owner's node does, and what its machine has.", x); c.classList.add("wide"); place(c, "own"); return x; });
  if (s) own.replaceChildren(el("dl", { class: "facts pairs" }, ...facts([["member", s.member], ["state", s.words], ["next", s.next], ["ledger", s.ledger.records ? `${plural(s.ledger.records, "record")}, epsilon at most ${atMost(s.ledger.epsilon)} of ${number(s.ledger.lifetime)}` : null],
    ["frames", `${s.missing} missing, ${s.refused} refused, ${s.skipped} rounds skipped`], ["members change", s.members.after ? `after round ${s.members.after}` : null], ["disk", now.machine?.disk_free ? bytes(now.machine.disk_free) + " free" : null],
    ["last word", clock(now.head.last)]])), now.machine?.warning ? el("p", { class: "notice" }, now.machine.warning) : "", ...(now.own?.facts?.length ? [el("h3", {}, "On your own records"), el("p", { class: "quiet" }, "These figures depend on your records. They are kept on this machine and sent to nobody."), el("dl", { class: "facts" }, ...facts(now.own.facts.map((x) => [x.name, x.value])))] : []));
  memberList(members);
}

const facts = (rows) => rows.filter(([, v]) => v !== null && v !== undefined && v !== "").map(([k, v]) => el("div", {}, el("dt", {}, k), el("dd", {}, v)));

function memberList(members) {
  const list = section("members", () => { const x = el("ul", { class: "members" }); const c = card("Neighbors", "What this node knows of the others: what they have sent, and since when.", x); c.classList.add("wide"); place(c, "members"); return x; });
  list.replaceChildren(...members.map((m) => {
    const bad = ["gone", "late", "awaited"].includes(m.state) && !now.head.end, age = (Date.now() - new Date(m.since)) / 1000;
    const sentence = bad ? `${m.name} is late by ${duration(age)}, since ${clock(m.since)}: ${m.words}` : ["takes part", "has finished"].includes(m.words) ? "" : m.words;
    const words = { here: "takes part", gone: "no connection", late: "late", awaited: "waited for", done: "finished", unknown: "not heard yet" };
    return el("li", { class: "member" + (bad ? " alarm" : "") }, el("h3", {}, el("span", { class: "state", "data-state": m.state }, el("span", { class: "dot", "aria-hidden": "true" }), words[m.state] ?? m.state), m.name, el("span", { class: "word" }, `${now.head.begin.unit} ${m.round}`)),
      sentence ? el("p", {}, sentence) : null, m.next ? el("p", { class: "next" }, "What to do: " + m.next) : null,
      m.ledger && !m.claim ? el("p", { class: "next" }, `Its ledger, as seen: ${plural(m.ledger.records, "record")}, head ${m.ledger.head.slice(0, 12)}`) : null,
      m.claim ? el("p", { class: "next" }, `Its ledger: ${plural(m.claim.records, "record")}, epsilon ${atMost(m.claim.epsilon)}, head ${String(m.claim.head || "").slice(0, 12)}`) : null);
  }));
}

// ---- an audit

function audit() {
  const all = now.bounds || [], bad = all.filter((b) => b.violated), bounding = all.filter((b) => b.lower !== null);
  const top = bounding.reduce((m, b) => (m === null || b.lower / b.claimed > m.lower / m.claimed ? b : m), null);
  const v = figure("verdict", "Verdict");
  v.value.textContent = bad.length ? "Violated" : now.head.end ? "Nothing found" : "So far nothing";
  v.under.textContent = `${all.filter((b) => b.state === "done").length} of ${all.length} modes are done`;
  if (top) {
    const t = figure("tightest", "Tightest lower bound");
    t.value.replaceChildren(atLeast(top.lower), el("small", {}, `of ${number(top.claimed)} claimed`));
    t.under.textContent = top.mode;
  }
  const box = section("bounds", () => { const x = el("div", {}); const c = card("Bounds against the claim", "A bar is what the attacker has proved; the line is the claim. A bar beyond the line refutes it. A bar below proves nothing.", x); c.classList.add("lead"); place(c, "bounds"); return x; });
  box.replaceChildren(...all.map((b) => {
    const has = b.lower !== null && b.claimed !== null && b.claimed !== "inf", max = has ? Math.max(b.claimed, b.lower) * 1.15 : 1;
    const lane = el("div", { class: "lane", role: "img", "aria-label": has ? `epsilon at least ${atLeast(b.lower)}, claimed ${number(b.claimed)}` : b.state });
    if (has) { const i = el("i", {}), e = el("em", {}); i.style.width = (100 * b.lower) / max + "%"; e.style.left = (100 * b.claimed) / max + "%"; lane.append(i, e); }
    return el("section", { class: "bound" + (b.violated ? " bad" : ""), "aria-label": b.mode }, el("div", { class: "row" }, el("b", {}, b.mode), b.violated ? "VIOLATED" : "", el("span", {}, has ? `at least ${atLeast(b.lower)}, claimed ${number(b.claimed)}` : b.state === "running" ? "running…" : b.state === "done" ? "no fault found" : b.state)),
      has ? lane : null, el("p", { class: "quiet" }, b.text || (b.of ? `${b.observations.toLocaleString("en")} observations` : "")));
  }));
}

// ---- messages

function plan() {
  if (!frame) frame = requestAnimationFrame(() => { frame = 0; render(); });
}

function render() {
  watched();
  if (!now.head?.begin) return;
  head();
  const what = now.head.begin.what;
  if (what === "run" || what === "query") { if (["evaluation", "spent", "time", "knows", "traffic", "head"].some((k) => dirty.has(k))) run(); }
  else if (what === "node") federation();
  else if (what === "audit") { if (dirty.has("bounds") || dirty.has("head")) audit(); }
  else if (dirty.has("cells") || dirty.has("grid") || dirty.has("head")) sweep();
  dirty.clear();
}

function take(patch) {
  for (const [k, v] of Object.entries(patch)) {
    dirty.add(k);
    if (k === "series") continue;
    if (k === "cells") v.forEach((c) => cells.set(c.cell, c));
    else now[k] = v;
  }
  if (patch.series && now.head.begin) series(patch.series);
  plan();
}

function series(all) {
  for (const name of Object.keys(all).sort()) {
    const s = spec(name);
    if (!s || name.startsWith("class_accuracy") || all[name].x.length === 0 && !charts.has(name)) continue;
    if (!charts.has(name)) {
      const c = new Chart({ unit: now.head.begin.unit, ...s });
      charts.set(name, c);
      place(c.card, name);
    }
    charts.get(name).take(all[name]);
  }
}

function reset() {
  view.replaceChildren();
  sections.clear(); charts.clear(); cells.clear(); dirty.clear();
  for (const k of Object.keys(now)) delete now[k];
}

let stream = null;
function open(play) {
  stream?.close();
  const q = new URLSearchParams(query);
  if (play) q.set("play", String(play));
  let first = true;
  stream = new EventSource("events?" + q);
  stream.onopen = () => { by("lost").hidden = true; };
  stream.onmessage = (m) => {
    const patch = JSON.parse(m.data);
    if (patch.again) reset();
    if (first || m.lastEventId === "1") { first = false; if (!playing || !now.head) reset(); }
    playing = "playing" in patch && patch.playing < 1;
    take(patch);
    if (play && patch.head?.end && !playing) reload();
  };
  stream.onerror = () => { // after an end the server may be gone for good; before, it may come again
    by("lost").hidden = Boolean(now.head?.end);
    if (now.head?.end) stream.close();
  };
}

// reload leaves the page as it is after a replay.
function reload() { playing = false; plan(); }

async function act(what) {
  const r = await fetch("do/" + what + location.search, { method: "POST" }).catch(() => null);
  if (!r?.ok) by("said").textContent = "The program did not take it.";
}

by("pause").addEventListener("click", () => act(now.head?.state === "paused" ? "resume" : "pause"));
by("stop").addEventListener("click", () => { if (confirm("Stop it as Ctrl-C does? It can go on later from its checkpoint.")) act("stop"); });
by("replay").addEventListener("click", () => { reset(); playing = true; open(15); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => charts.forEach((c) => c.redraw()));
document.querySelectorAll("#sources a").forEach((a) => { if (new URL(a.href).searchParams.get("s") === (body.dataset.s || "0") && !body.dataset.cell) a.setAttribute("aria-current", "page"); });
setInterval(() => { if ((now.head?.begin?.what === "node" || now.watched) && !now.head?.end) { dirty.add("members"); plan(); } }, 1000);
open(0);
