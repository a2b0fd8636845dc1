// Figures of a page that stays show a part of their axes: a drag selects it, a double
// click shows the whole; by keyboard + and - zoom, arrows move, 0 shows the whole. The
// page is complete without this script.
"use strict";
for (const box of document.querySelectorAll(".drawn")) zoomable(box);

function zoomable(box) {
  const svg = box.querySelector("svg"), data = svg.querySelector(".data");
  const [left, top, W, H] = ["x", "y", "width", "height"].map((name) => +data.getAttribute(name));
  const logs = data.dataset.log.split(" "), scales = {x: 1, y: +data.dataset.scale};
  const axes = {x: range("x", 0), y: range("y", 1)};
  const ticks = {x: svg.querySelector(".ticks.x"), y: svg.querySelector(".ticks.y")};
  const names = ["x", "y"].map((name) => svg.dataset[name].split(/[,(]/)[0].trim());
  const before = {x: [...ticks.x.children], y: [...ticks.y.children]};
  const points = [...svg.querySelectorAll(".at")].map((e) => ({e, ...place(e)}));
  const labels = [...svg.querySelectorAll(".label")].map((e) => ({e, ...place(e),
    line: data.querySelector(`[data-curve="${e.dataset.curve}"]`).getAttribute("d").match(/[\d.-]+/g)
      .map(Number)}));
  const whole = {x: 0, y: 0, w: W, h: H};
  let view = whole, from = null;

  // A hint, the range that is shown, and the way back stand in the row below the figure.
  const said = document.createElement("output"), back = document.createElement("button");
  back.type = "button";
  back.textContent = "Whole";
  back.addEventListener("click", () => { show(whole); box.focus(); });
  box.parentElement.querySelector(".tools label").after(said, back);
  const chosen = data.querySelector(".chosen");
  box.tabIndex = 0;
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", "Figure: plus and minus zoom, arrows move, 0 shows the whole");
  show(whole);

  function range(name, k) {
    const ends = data.dataset[name].split(" ").map(Number);
    return logs[k] === "true" ? {log: true, ends: ends.map(Math.log10)} : {log: false, ends};
  }
  function place(e) {
    const {e: x, f: y} = e.transform.baseVal.getItem(0).matrix;
    return {x: x - left, y: y - top};
  }

  // show draws the part of the data canvas that v is.
  function show(v) {
    const w = Math.min(W, Math.max(v.w, W / 500)), h = Math.min(H, Math.max(v.h, H / 500));
    view = {w, h, x: Math.min(Math.max(v.x, 0), W - w), y: Math.min(Math.max(v.y, 0), H - h)};
    const zoomed = w < W || h < H;
    box.classList.toggle("zoomed", zoomed);
    back.hidden = !zoomed;
    data.setAttribute("viewBox", `${view.x} ${view.y} ${w} ${h}`);
    chosen.setAttribute("d", "");
    const shown = {x: axis("x", view.x / W, (view.x + w) / W, zoomed),
      y: axis("y", 1 - (view.y + h) / H, 1 - view.y / H, zoomed)};
    said.textContent = zoomed ? `${names[0]} ${shown.x}; ${names[1]} ${shown.y}` : "Drag to zoom";
    for (const p of points) {
      const x = (p.x - view.x) * W / w, y = (p.y - view.y) * H / h;
      p.e.style.display = x < -1e-6 || x > W + 1e-6 || y < -1e-6 || y > H + 1e-6 ? "none" : "";
      p.e.setAttribute("transform", `translate(${left + x} ${top + y})`);
    }
    let free = 2; // names follow the curves' ends, one below the other
    const at = labels.map((l) => ({l, y: zoomed ? (ends(l.line) - view.y) * H / h : l.y}))
      .sort((a, b) => a.y - b.y);
    at.forEach((n, k) => { // those whose curve ends elsewhere are pale
      n.l.e.style.opacity = n.y < -1e-6 || n.y > H + 1e-6 ? .5 : "";
      if (zoomed) n.y = Math.max(free, Math.min(n.y, H - 2 - 13.5 * (at.length - 1 - k)));
      free = n.y + 13.5;
      n.l.e.setAttribute("transform", `translate(${left + n.l.x} ${top + n.y})`);
    });
  }

  // ends is the height of a line at the right side of the view.
  function ends(line) {
    const x = view.x + view.w;
    let k = 2;
    while (k < line.length - 2 && line[k] < x) k += 2;
    if (k >= line.length || line[k] <= x) return line.at(-1);
    const part = Math.max(0, (x - line[k - 2]) / (line[k] - line[k - 2]));
    return line[k - 1] + part * (line[k + 1] - line[k - 1]);
  }

  // axis writes the ticks of a part of an axis and returns what it spans.
  function axis(name, a, b, zoomed) {
    const {log, ends: [low, high]} = axes[name], scale = scales[name], group = ticks[name];
    const value = (part) => low + part * (high - low);
    const [lo, hi] = [a, b].map((part) => (log ? 10 ** value(part) : value(part)) * scale);
    const values = log && hi / lo > 5 ? decades(lo, hi) : round(lo, hi, name === "x" ? 6 : 8);
    const like = before[name].find((e) => e.querySelector("text"));
    if (!zoomed || !like) group.replaceChildren(...before[name]);
    else group.replaceChildren(...values.map((v) => {
      const tick = like.cloneNode(true);
      const part = ((log ? Math.log10(v / scale) : v / scale) - low) / (high - low);
      const on = (part - a) / (b - a);
      tick.setAttribute("transform", name === "x" ? `translate(${left + on * W} ${top + H})`
        : `translate(${left} ${top + (1 - on) * H})`);
      tick.querySelector("text").textContent = v;
      return tick;
    }));
    return `${+lo.toPrecision(3)} to ${+hi.toPrecision(3)}`;
  }

  function shift(x, y, by = 1) {
    show({x: view.x + x * view.w, y: view.y + y * view.h, w: view.w * by, h: view.h * by});
  }
  function scaled(by) { shift((1 - by) / 2, (1 - by) / 2, by); }
  const keys = {"+": () => scaled(.8), "=": () => scaled(.8), "-": () => scaled(1.25), "0": () => show(whole),
    ArrowLeft: () => shift(-.1, 0), ArrowRight: () => shift(.1, 0), ArrowUp: () => shift(0, -.1),
    ArrowDown: () => shift(0, .1)};
  box.addEventListener("keydown", (e) => {
    if (!keys[e.key] || e.ctrlKey || e.metaKey || e.altKey) return;
    keys[e.key]();
    e.preventDefault();
  });

  // where is a pointer's place on the data canvas and on the screen.
  function where(e) {
    const r = svg.getBoundingClientRect(), unit = svg.viewBox.baseVal.width / r.width;
    const x = (e.clientX - r.left) * unit - left, y = (e.clientY - r.top) * unit - top;
    return {x: view.x + Math.min(Math.max(x / W, 0), 1) * view.w,
      y: view.y + Math.min(Math.max(y / H, 0), 1) * view.h, px: e.clientX, py: e.clientY,
      in: x > -8 && x < W + 8 && y > -8 && y < H + 8};
  }
  // part is what a drag to e selects: rows too where it is tall; null: nothing yet.
  function part(e) {
    const to = where(e), wide = Math.abs(to.px - from.px) > 6, tall = Math.abs(to.py - from.py) > 24;
    const columns = wide ? {x: Math.min(from.x, to.x), w: Math.abs(to.x - from.x)} : {x: view.x, w: view.w};
    const rows = tall ? {y: Math.min(from.y, to.y), h: Math.abs(to.y - from.y)} : {y: view.y, h: view.h};
    return wide || tall ? {...columns, ...rows} : null;
  }
  svg.addEventListener("pointerdown", (e) => {
    const at = where(e);
    if (e.button !== 0 || !at.in) return;
    from = at;
    svg.setPointerCapture(e.pointerId);
    box.focus({preventScroll: true});
  });
  svg.addEventListener("mousedown", (e) => e.preventDefault()); // a drag takes no text along
  svg.addEventListener("pointermove", (e) => {
    const p = from && part(e);
    chosen.setAttribute("d", p ? `M${p.x},${p.y}h${p.w}v${p.h}h${-p.w}Z` : "");
  });
  svg.addEventListener("pointerup", (e) => {
    const p = from && part(e);
    from = null;
    if (p) show(p);
    else chosen.setAttribute("d", "");
  });
  svg.addEventListener("pointercancel", () => { from = null; chosen.setAttribute("d", ""); });
  svg.addEventListener("dblclick", () => show(whole));
}

// round are at most so many round numbers from low to high.
function round(low, high, most) {
  const decade = 10 ** (Math.floor(Math.log10(high - low)) - 1);
  const step = decade * [1, 2, 5, 10, 20, 50, 100].find((k) => (high - low) / (k * decade) <= most);
  const out = [];
  for (let k = Math.ceil(low / step); k * step <= high; k++) out.push(+(k * step).toPrecision(10));
  return out;
}

// decades are powers of ten, and 2 and 5 times them where there are few.
function decades(low, high) {
  const out = [], every = 1 + Math.floor(Math.log10(high / low) / 9);
  for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high); e += every)
    for (const k of high / low < 1000 ? [1, 2, 5] : [1])
      if (k * 10 ** e >= low && k * 10 ** e <= high) out.push(+(k * 10 ** e).toPrecision(3));
  return out;
}
