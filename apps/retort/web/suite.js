// The page of a suite: the machine, bars of ratios, sortable tables.
const DATA = JSON.parse(document.getElementById("data").textContent);
const PEERS = DATA.engines.slice(1);
const SERIES = 4;  // colours that there are

function html(name, attributes = {}, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  e.append(...children);
  return e;
}

function svg(name, attributes = {}, ...children) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  e.append(...children);
  return e;
}

const shown = (number, digits = 2) => (typeof number === "number" ? number.toFixed(digits) : "");
const milliseconds = (ms) => (ms < 0.1 ? ms.toPrecision(2) : ms.toFixed(3));
const measured = () => DATA.scenarios.filter((s) => s.report);

function facts() {
  const m = DATA.machine;
  const peaks = Object.entries(DATA.peak_gflops).map(([n, g]) => `${shown(g, 0)} GFLOP/s (${n}T)`).join(", ");
  const rows = {
    processor: m.processor, cores: String(m.cores), caches: Object.entries(m.caches || {}).map((c) => c.join(" ")).join(", "),
    memory: `${shown(m.memory_bytes / 1e9, 1)} GB`, instructions: m.isa.join(", "), "measured peak": peaks, system: m.system,
    "load before": shown(m.load, 1),
  };
  for (const [title, text] of Object.entries(rows))
    if (text) document.getElementById("machine").append(html("dt", {}, title), html("dd", {}, text));
  const failed = DATA.scenarios.length - measured().length, differ = DATA.scenarios.filter((s) => s.differs).length;
  document.getElementById("facts").textContent =
    `${DATA.engines.join(", ")} · ${DATA.date} · ${measured().length} scenarios measured, ${failed} failed, ${differ} differ`;
}

/** The number of one peer with the i-th number of threads. */
const ratio = (scenario, i, peer, key) => ((scenario.report[i] || {peers: []}).peers[peer] || {})[key];

/** What a plot draws: a title, names of its series, and their values of a scenario. */
function plots() {
  const all = [];
  PEERS.forEach((peer, p) => {
    all.push({title: `Time of ${peer} over ${DATA.engines[0]}'s`, series: DATA.threads.map((t) => `${t} ${t === 1 ? "thread" : "threads"}`),
              values: (s) => DATA.threads.map((_, i) => ratio(s, i, p, "ratio"))});
  });
  if (PEERS.length) {
    all.push({title: `Session creation and first run over ${DATA.engines[0]}'s`, series: PEERS, values: (s) => PEERS.map((_, p) => ratio(s, 0, p, "start_ratio"))});
    all.push({title: `Peak memory over ${DATA.engines[0]}'s`, series: PEERS, values: (s) => PEERS.map((_, p) => ratio(s, 0, p, "peak_ratio"))});
  }
  if (measured().some((s) => s.report[0].peak_share !== undefined))
    all.push({title: "Share of the measured peak, %", series: DATA.threads.map((t) => `${t}T`), values: (s) => s.report.map((r) => r.peak_share), one: null});
  return all;
}

/** Steps of 1, 2 or 5 times a power of ten, about eight of them. */
function ticks(high) {
  const raw = high / 8, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
  return Array.from({length: Math.floor(high / step + 1e-9) + 1}, (_, i) => i * step);
}

const LEFT = 190, RIGHT = 60, WIDTH = 900, BAR = 9, GAP = 6, TOP = 18;

function bars(plot, scenarios) {
  const rows = scenarios.map((s) => [s.name, plot.values(s)]).filter(([, v]) => v.some((x) => x !== undefined));
  const high = Math.max(1, ...rows.flatMap(([, v]) => v.filter((x) => x !== undefined)));
  const x = (v) => LEFT + (v / high) * (WIDTH - LEFT - RIGHT);
  const step = plot.series.length * BAR + GAP, bottom = TOP + rows.length * step;
  const root = svg("svg", {class: "plot", viewBox: `0 0 ${WIDTH} ${bottom + 4}`, role: "img", "aria-label": plot.title});
  for (const t of ticks(high))
    root.append(svg("g", {class: "tick"}, svg("line", {x1: x(t), x2: x(t), y1: TOP - 4, y2: bottom}),
                    svg("text", {x: x(t), y: TOP - 7, "text-anchor": "middle"}, String(+t.toPrecision(6)))));
  rows.forEach(([name, values], r) => {
    const y = TOP + r * step;
    root.append(svg("text", {x: LEFT - 6, y: y + (step - GAP) / 2 + 4, "text-anchor": "end"}, name));
    values.forEach((value, i) => {
      if (value === undefined) return;
      root.append(svg("rect", {class: `value s${i % SERIES}`, x: x(0), y: y + i * BAR, width: x(value) - x(0), height: BAR - 1},
                      svg("title", {}, `${name}, ${plot.series[i]}: ${shown(value)}`)),
                  svg("text", {class: "dim", x: x(value) + 4, y: y + i * BAR + BAR - 1, style: "font-size: 9px"}, shown(value)));
    });
  });
  if (plot.one !== null) root.append(svg("line", {class: "one", x1: x(1), x2: x(1), y1: TOP - 4, y2: bottom}));
  return root;
}

function drawPlots() {
  const kind = document.getElementById("kind").value, byRatio = document.getElementById("order").value === "ratio";
  const scenarios = measured().filter((s) => !kind || `${s.precision} ${s.kind}` === kind);
  if (byRatio) scenarios.sort((a, b) => (ratio(a, 0, 0, "ratio") || 0) - (ratio(b, 0, 0, "ratio") || 0));
  const place = document.getElementById("plots");
  place.replaceChildren();
  for (const plot of plots()) {
    const keys = plot.series.map((name, i) => html("span", {class: "key"}, svg("svg", {viewBox: "0 0 1 1"}, svg("rect", {class: `s${i % SERIES}`, width: 1, height: 1})), name));
    place.append(html("h2", {}, plot.title), html("p", {}, ...keys), bars(plot, scenarios));
  }
}

/** Sorts the rows by the value of a column; again: the other way. */
function sortBy(table, column) {
  const head = table.tHead.rows[0].cells[column], falling = head.getAttribute("aria-sort") === "ascending";
  for (const cell of table.tHead.rows[0].cells) cell.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", falling ? "descending" : "ascending");
  const value = (row) => row.cells[column].dataset.value;
  const compare = (a, b) => (isNaN(value(a)) || isNaN(value(b)) ? value(a).localeCompare(value(b)) : value(a) - value(b));
  table.tBodies[0].append(...[...table.tBodies[0].rows].sort((a, b) => (falling ? compare(b, a) : compare(a, b))));
}

/** columns: [title, text of a row, value to sort by (default: the text), class]. */
function table(columns, rows) {
  const heads = columns.map(([title], i) => {
    const button = html("button", {type: "button"}, title);
    button.addEventListener("click", (e) => sortBy(e.target.closest("table"), i));
    return html("th", {scope: "col"}, button);
  });
  const cell = ([, text, value, look], row) => {
    const shownText = text(row), sort = value ? value(row) : shownText;
    return html("td", {"data-value": sort === undefined || sort === null ? "-1" : String(sort), class: (look && look(row)) || ""}, shownText);
  };
  return html("table", {}, html("thead", {}, html("tr", {}, ...heads)),
              html("tbody", {}, ...rows.map((row) => html("tr", {}, ...columns.map((c) => cell(c, row))))));
}

/** A column of numbers. */
const column = (title, number, digits = 2, slower = false) =>
  [title, (row) => shown(number(row), digits), number, (row) => (slower && number(row) < 1 ? "slower" : "")];

function ratioColumns(key, title, threads, mark) {
  return PEERS.flatMap((peer, p) => threads.map((i) => column(`${title(i)}${p ? ` ${p + 1}` : ""}`, (s) => ratio(s, i, p, key), 2, mark)));
}

function scenarioColumns() {
  const each = DATA.threads.map((_, i) => i);
  const own = (i, key) => (s) => (s.report[i] || {sides: [{}]}).sides[0][key];
  const time = (title, get) => [title, (s) => (get(s) === undefined ? "" : milliseconds(get(s))), get];
  const times = each.flatMap((i) => [time(`${DATA.threads[i]}T ms`, own(i, "median_ms")),
                                     ...PEERS.slice(0, 1).map(() => time(`${DATA.threads[i]}T peer ms`, (s) => ratio(s, i, 0, "median_ms")))]);
  const memory = [column("MiB", own(0, "peak_mib"), 0), ...PEERS.map((_, p) => column(`peer${p ? ` ${p + 1}` : ""} MiB`, (s) => ratio(s, 0, p, "peak_mib"), 0))];
  const worst = (s) => Math.max(...s.report.map((r) => (r.disagreement === null ? Infinity : r.disagreement || 0)));
  return [["scenario", (s) => s.name], ["kind", (s) => `${s.precision} ${s.kind}`.trim()], ...times,
          ...ratioColumns("ratio", (i) => `${DATA.threads[i]}T ratio`, each, true), ...ratioColumns("start_ratio", () => "load", [0], true), ...memory,
          column("GFLOP/s", (s) => s.report[0].gflops, 1), column("% of peak", (s) => s.report[0].peak_share, 0),
          ["differs", (s) => worst(s).toExponential(1) + (s.differs ? " DIFFERS" : ""), worst, (s) => (s.differs ? "slower" : "")]];
}

function tables() {
  const place = document.getElementById("tables"), each = DATA.threads.map((_, i) => i);
  if (DATA.means.length)
    place.append(html("h2", {}, "Geometric means"),
                 table([["of", (g) => g.name], ["scenarios", (g) => String(g.scenarios)], ...ratioColumns("ratio", (i) => `${DATA.threads[i]}T ratio`, each, true),
                        ...ratioColumns("start_ratio", () => "load", [0], true), ...ratioColumns("peak_ratio", () => "memory", [0], true)], DATA.means));
  place.append(html("h2", {}, "Scenarios"), table(scenarioColumns(), measured()));
  const failed = DATA.scenarios.filter((s) => s.error);
  if (failed.length) place.append(html("h2", {}, "Failed"), table([["scenario", (s) => s.name], ["why", (s) => s.error]], failed));
}

try {
  facts();
  for (const kind of new Set(measured().filter((s) => s.kind).map((s) => `${s.precision} ${s.kind}`))) document.getElementById("kind").append(html("option", {value: kind}, kind));
  for (const id of ["kind", "order"]) document.getElementById(id).addEventListener("change", drawPlots);
  const wanted = new URLSearchParams(location.hash.slice(1));
  for (const id of ["kind", "order"]) if (wanted.get(id)) document.getElementById(id).value = wanted.get(id);
  drawPlots();
  tables();
  const sort = wanted.get("sort");  // the number of a column of the table of scenarios
  if (sort !== null) sortBy([...document.querySelectorAll("h2")].find((h) => h.textContent === "Scenarios").nextSibling, Number(sort));
  document.body.setAttribute("data-ready", "1");
} catch (e) {
  document.body.setAttribute("data-error", String(e.stack || e));
  document.body.setAttribute("data-ready", "1");
}
