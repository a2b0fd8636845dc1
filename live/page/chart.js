"use strict";
// Curves with a band, drawn by uPlot: values under the pointer or the arrow keys, zoom by dragging, all numbers in a table.

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** number says a number in at most four digits. */
function number(x, percent) {
  if (x === null || x === undefined || Number.isNaN(x)) return "–";
  if (x === "inf") return "∞";
  if (percent) return (100 * x).toFixed(2);
  const a = Math.abs(x);
  if (x === 0) return "0";
  if (a >= 1e4 && a < 1e7) return Number(x / 1e3).toLocaleString("en", { maximumSignificantDigits: 4 }) + " k";
  if (a >= 1e7 || a < 1e-3) return Number(x).toExponential(2).replace("e+", "e");
  return Number(x).toLocaleString("en", { maximumSignificantDigits: 4 });
}

/** atMost says an upper bound in so many digits: what is rounded is rounded up. */
function atMost(x, digits = 4) {
  if (typeof x !== "number" || x === 0) return number(x);
  return String(Number(up(x, Math.min(8, Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(x))))))));
}

/** up writes a number with so many decimals, rounded up. */
function up(x, decimals) {
  const near = x.toFixed(decimals);
  return Number(near) < x ? (x + 10 ** -decimals).toFixed(decimals) : near;
}

/** atLeast says a lower bound: what is rounded is rounded down. */
const atLeast = (x) => (typeof x === "number" && x > 0 ? atMost(-x).slice(1) || "0" : number(x));

/** el makes an element; text is never read as HTML. */
function el(tag, attrs, ...inside) {
  const svg = ["svg", "g", "line", "circle", "path", "text", "title", "rect"].includes(tag) && attrs && attrs.svg;
  const e = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [k, v] of Object.entries(attrs || {})) {
    if (k === "svg" || v === undefined || v === null || v === false) continue;
    if (k === "class") e.setAttribute("class", v);
    else if (k === "width%") e.style.width = v + "%";
    else if (k === "left%") e.style.left = v + "%";
    else if (k === "grow") e.style.flexGrow = v;
    else if (k === "on") for (const [name, f] of Object.entries(v)) e.addEventListener(name, f);
    else e.setAttribute(k, v);
  }
  for (const x of inside) if (x !== null && x !== undefined) e.append(x);
  return e;
}

const mostRows = 200;

class Chart {
  /** spec: title, caption, unit (of x), percent, log, upper (a bound), y (word for the value), band (word). */
  constructor(spec) {
    this.spec = spec;
    this.number = spec.upper ? atMost : (x) => number(x, spec.percent);
    this.data = [[], [], [], []];
    this.id = "chart-" + spec.key.replace(/[^a-z0-9]+/gi, "-");
    this.box = el("div", { class: "chart", tabindex: "0", role: "img", "aria-describedby": this.id + "-read",
      on: { keydown: (e) => this.key(e) } });
    this.read = el("p", { class: "read", id: this.id + "-read" });
    this.rows = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": spec.title + ", numbers" });
    this.details = el("details", { on: { toggle: () => this.table() } }, el("summary", {}, "Numbers"), this.rows);
    this.card = el("section", { class: "card plotted" + (spec.lead ? " lead" : ""), "aria-labelledby": this.id },
      el("h2", { id: this.id }, spec.title), el("p", { class: "caption" }, spec.caption), this.box, this.read, this.details);
    this.watch = new ResizeObserver(() => this.size());
    this.watch.observe(this.box);
  }

  size() {
    const w = this.box.clientWidth, h = this.box.clientHeight;
    if (w > 0 && h > 0 && this.plot && (w !== this.plot.width || h !== this.plot.height)) this.plot.setSize({ width: w, height: h });
    else if (w > 0 && !this.plot && this.data[0].length > 0) this.draw();
  }

  /** take adds points: {from, x, mean, low, high}. */
  take(points) {
    for (let k = 0; k < 4; k++) {
      this.data[k].length = points.from;
      this.data[k].push(...points[["x", "mean", "low", "high"][k]]);
    }
    if (!this.plot) this.draw();
    else this.plot.setData(this.shown(), !this.zoomed());
    this.say(this.data[0].length - 1, true);
    if (this.details.open) this.table();
  }

  shown() {
    const scale = this.spec.percent ? 100 : 1;
    const fit = (x) => (x === null || (this.spec.log && x <= 0) ? null : x * scale);
    return [this.data[0], this.data[3].map(fit), this.data[2].map(fit), this.data[1].map(fit)];
  }

  zoomed() {
    const x = this.plot.scales.x, all = this.data[0];
    return all.length > 1 && x.min !== null && (x.min > all[0] || x.max < this.plot.data[0][this.plot.data[0].length - 1]) && this.wasZoomed;
  }

  draw() {
    const w = this.box.clientWidth, h = this.box.clientHeight;
    if (w === 0 || this.data[0].length === 0) return;
    const ink = css("--soft"), grid = { stroke: css("--grid"), width: 1 };
    const font = "12px " + getComputedStyle(document.body).fontFamily;
    const axis = { stroke: ink, grid, ticks: { show: false }, font, labelFont: font };
    const none = { show: false };
    const values = (u, all) => all.map((v) => (v === null ? "" : number(v)));
    this.plot = new uPlot({
      width: w, height: h, legend: { show: false }, padding: [10, 18, 0, 0],
      cursor: { y: false, points: { size: 8 }, drag: { x: true, y: false } },
      scales: { x: { time: false, range: (u, a, b) => (a === b ? [a, a + 1] : [a, b]) },
        y: { distr: this.spec.log ? 3 : 1, range: this.spec.log ? undefined : (u, a, b) => this.span(a, b) } },
      axes: [{ ...axis, size: 34, space: 70, values: (u, all) => all.map((v) => (Number.isInteger(v) ? number(v) : "")) },
        { ...axis, size: 54, space: 40, values }],
      series: [{}, { stroke: "transparent", points: none }, { stroke: "transparent", points: none },
        { stroke: css("--blue"), width: 2, points: { show: this.data[0].length < 2, size: 6, fill: css("--blue") } }],
      bands: [{ series: [1, 2], fill: css("--band") }],
      hooks: { draw: [(u) => this.limit(u)], setCursor: [(u) => this.say(u.cursor.idx ?? this.data[0].length - 1, u.cursor.idx === null)],
        setSelect: [(u) => { if (u.select.width > 0) this.wasZoomed = true; }] },
    }, this.shown(), this.box);
    this.plot.over.addEventListener("dblclick", () => { this.wasZoomed = false; this.plot.setData(this.shown(), true); });
  }

  /** limit draws what the curve may not pass, and says so beside it. */
  limit(u) {
    const at = this.spec.limit?.();
    if (!(at > 0) || at > u.scales.y.max || at < u.scales.y.min) return;
    const c = u.ctx, y = Math.round(u.valToPos(at, "y", true)), ratio = devicePixelRatio;
    c.save();
    c.strokeStyle = c.fillStyle = css("--ink");
    c.lineWidth = 1.25 * ratio;
    c.textAlign = "left";
    c.setLineDash([5 * ratio, 4 * ratio]);
    c.beginPath(); c.moveTo(u.bbox.left, y); c.lineTo(u.bbox.left + u.bbox.width, y); c.stroke();
    c.font = `${12 * ratio}px ${getComputedStyle(document.body).fontFamily}`;
    c.fillText(this.spec.limitWord ?? `budget ${number(at)}`, u.bbox.left + 6 * ratio, y + 16 * ratio);
    c.restore();
  }

  span(low, high) {
    const at = this.spec.limit?.();
    if (at > 0 && at < 1e6) high = Math.max(high, at);
    const pad = (high - low) * .06 || Math.abs(high) * .05 || 1;
    return [low >= 0 && low - pad < 0 ? 0 : low - pad, this.spec.percent && high <= 100 ? Math.min(100, high + pad) : high + pad];
  }

  redraw() {
    if (this.plot) { this.plot.destroy(); this.plot = null; this.draw(); }
  }

  /** say writes the values at a point below the plot. */
  say(i, last) {
    const d = this.data;
    if (i < 0 || i >= d[0].length) return;
    const unit = this.spec.percent ? " %" : "";
    this.read.replaceChildren(last ? "now, " : "", `${this.spec.unit} ${number(d[0][i])}: `, el("b", {}, this.number(d[1][i]) + unit),
      d[2][i] === d[3][i] ? "" : ` (${this.number(d[2][i])} to ${this.number(d[3][i])})`);
    if (last) this.box.setAttribute("aria-label", `${this.spec.title}: ${this.read.textContent}. Arrow keys move along the curve.`);
  }

  key(e) {
    const n = this.data[0].length, step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -n / 10, PageDown: n / 10, Home: -n, End: n }[e.key];
    if (step === undefined || !this.plot || n === 0) return;
    e.preventDefault();
    this.at = Math.min(n - 1, Math.max(0, Math.round((this.at ?? n - 1) + step)));
    this.plot.setCursor({ left: this.plot.valToPos(this.data[0][this.at], "x"), top: 20 });
    this.say(this.at, false);
    document.getElementById("said").textContent = this.read.textContent;
  }

  /** table has the numbers of the plot; of many, each so-many-th and the last. */
  table() {
    if (!this.details.open) return;
    const d = this.data, n = d[0].length, every = Math.max(1, Math.ceil(n / mostRows)), p = this.spec.percent;
    const body = el("tbody", {});
    for (let i = 0; i < n; i++) {
      if ((n - 1 - i) % every !== 0) continue;
      body.append(el("tr", {}, el("td", {}, number(d[0][i])), ...[1, 2, 3].map((k) => el("td", {}, this.number(d[k][i])))));
    }
    const y = this.spec.y + (p ? " (%)" : "");
    this.rows.replaceChildren(el("table", {}, el("thead", {}, el("tr", {}, ...[this.spec.unit, y, "least", "most"].map((t) => el("th", { scope: "col" }, t)))), body));
  }
}
