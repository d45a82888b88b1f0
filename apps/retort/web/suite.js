// The page of a suite: the machine, bars of ratios, sortable tables.
const DATA = JSON.parse(document.getElementById("data").textContent);
const PEERS = DATA.engines.slice(1);
const SERIES = 4;  // number of colours

const shown = (number, digits = 2) => (typeof number === "number" ? number.toFixed(digits) : "");
const milliseconds = (ms) => (ms < 0.1 ? ms.toPrecision(2) : ms.toFixed(3));
const measured = () => DATA.scenarios.filter((s) => s.report);

function facts() {
  const m = DATA.machine;
  const rates = (of, digits, unit) => Object.entries(of).map(([n, rate]) => `${shown(rate, digits)} ${unit} (${n}T)`).join(", ");
  const rows = {
    processor: m.processor, cores: String(m.cores), caches: Object.entries(m.caches || {}).map((c) => c.join(" ")).join(", "),
    memory: `${shown(m.memory_bytes / 1e9, 1)} GB`, instructions: m.isa.join(", "),
    "measured peak": rates(DATA.peak_gflops, 0, "GFLOP/s"), "measured memory bandwidth (reading)": rates(DATA.read_gbs, 1, "GB/s"), system: m.system,
    "load before": shown(m.load, 1), engines: DATA.engines.join(", "), date: DATA.date,
  };
  for (const [title, text] of Object.entries(rows))
    if (text) document.getElementById("machine").append(html("dt", {}, title), html("dd", {}, text));
  const failed = DATA.scenarios.length - measured().length, differ = DATA.scenarios.filter((s) => s.differs).length;
  document.getElementById("facts").textContent =
    `${measured().length} scenarios measured, ${failed} failed, ${differ} differ`;
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
    for (const [title, key] of [["Peak", "peak_ratio"], ["Steady", "steady_ratio"]])
      all.push({title: `${title} memory over ${DATA.engines[0]}'s`, series: PEERS, values: (s) => PEERS.map((_, p) => ratio(s, 0, p, key))});
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
  const root = element("svg", {class: "plot", viewBox: `0 0 ${WIDTH} ${bottom + 4}`, role: "img", "aria-label": plot.title});
  for (const t of ticks(high))
    root.append(element("g", {class: "tick"}, element("line", {x1: x(t), x2: x(t), y1: TOP - 4, y2: bottom}),
                    element("text", {x: x(t), y: TOP - 7, "text-anchor": "middle"}, String(+t.toPrecision(6)))));
  rows.forEach(([name, values], r) => {
    const y = TOP + r * step;
    root.append(element("text", {x: LEFT - 6, y: y + (step - GAP) / 2 + 4, "text-anchor": "end"}, name));
    values.forEach((value, i) => {
      if (value === undefined) return;
      root.append(element("rect", {class: `value s${i % SERIES}`, x: x(0), y: y + i * BAR, width: x(value) - x(0), height: BAR - 1},
                      element("title", {}, `${name}, ${plot.series[i]}: ${shown(value)}`)),
                  element("text", {class: "dim", x: x(value) + 4, y: y + i * BAR + BAR - 1, style: "font-size: 9px"}, shown(value)));
    });
  });
  if (plot.one !== null) root.append(element("line", {class: "one", x1: x(1), x2: x(1), y1: TOP - 4, y2: bottom}));
  return root;
}

function drawPlots() {
  const kind = document.getElementById("kind").value, byRatio = document.getElementById("order").value === "ratio";
  const scenarios = measured().filter((s) => !kind || `${s.precision} ${s.kind}` === kind);
  if (byRatio) scenarios.sort((a, b) => (ratio(a, 0, 0, "ratio") || 0) - (ratio(b, 0, 0, "ratio") || 0));
  const place = document.getElementById("plots");
  place.replaceChildren();
  for (const plot of plots()) {
    const keys = plot.series.map((name, i) => html("span", {class: "key"}, element("svg", {viewBox: "0 0 1 1"}, element("rect", {class: `s${i % SERIES}`, width: 1, height: 1})), name));
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

const peerName = (p) => `peer${p ? ` ${p + 1}` : ""}`;

function ratioColumns(key, title, threads, mark) {
  return PEERS.flatMap((peer, p) => threads.map((i) => column(`${title(i)}${p ? ` ${p + 1}` : ""}`, (s) => ratio(s, i, p, key), 2, mark)));
}

function scenarioColumns() {
  const each = DATA.threads.map((_, i) => i);
  const own = (i, key) => (s) => (s.report[i] || {sides: [{}]}).sides[0][key];
  const time = (title, get) => [title, (s) => (get(s) === undefined ? "" : milliseconds(get(s))), get];
  const times = each.flatMap((i) => [time(`${DATA.threads[i]}T ms`, own(i, "median_ms")),
                                     ...PEERS.slice(0, 1).map(() => time(`${DATA.threads[i]}T peer ms`, (s) => ratio(s, i, 0, "median_ms")))]);
  const memory = [["peak MiB", "peak_mib"], ["steady MiB", "steady_mib"]].flatMap(([title, key]) =>
    [column(title, own(0, key), 1), ...PEERS.map((_, p) => column(`${peerName(p)} ${title}`, (s) => ratio(s, 0, p, key), 1))]);
  const worst = (s) => Math.max(...s.report.map((r) => (r.disagreement === null ? Infinity : r.disagreement || 0)));
  return [["scenario", (s) => s.name], ["kind", (s) => `${s.precision} ${s.kind}`.trim()], ...times,
          ...ratioColumns("ratio", (i) => `${DATA.threads[i]}T ratio`, each, true), ...ratioColumns("start_ratio", () => "load", [0], true), ...memory,
          ...each.flatMap((i) => [column(`${DATA.threads[i]}T GFLOP/s`, (s) => (s.report[i] || {}).gflops, 1),
                                  column(`${DATA.threads[i]}T % of peak`, (s) => (s.report[i] || {}).peak_share, 0)]),
          ["differs", (s) => worst(s).toExponential(1) + (s.differs ? " DIFFERS" : ""), worst, (s) => (s.differs ? "slower" : "")]];
}

/** A row for each group and peer. */
function means() {
  const of = (g, i, name) => ((g.report[i] || {peers: []}).peers.find((p) => p.engine === name) || {});
  const rows = DATA.means.flatMap((g) => g.report[0].peers.map((p) => ({name: g.name, engine: p.engine, scenarios: p.scenarios, report: DATA.threads.map((_, i) => of(g, i, p.engine))})));
  const mean = (title, i, key) => column(title, (r) => r.report[i][key], 2, true);
  const slowest = (i) => [`slowest, ${DATA.threads[i]}T`, (r) => (r.report[i].slowest ? `${r.report[i].slowest.name} ${shown(r.report[i].slowest.ratio)}` : ""),
                          (r) => (r.report[i].slowest || {}).ratio];
  return table([["of", (r) => r.name], ["beside", (r) => r.engine], ["scenarios", (r) => String(r.scenarios)], ...DATA.threads.map((t, i) => mean(`${t}T ratio`, i, "ratio")),
                mean("load", 0, "start_ratio"), mean("peak memory", 0, "peak_ratio"), mean("steady memory", 0, "steady_ratio"), ...DATA.threads.map((_, i) => slowest(i))], rows);
}

const ABOUT_ACCURACY = "Errors are the largest difference of an output, relative to its scale: from the correct outputs, which a run in float64 gave or which another engine stored beside the model, " +
  "or from the first peer's. If all engines are equally far from float64, the model itself loses the digits in float32. Strict is session.strict=1, which avoids shortcuts that cost accuracy; its time ratio is relative to the default.";

function accuracy() {
  const rows = measured().filter((s) => s.report[0].strict || "deviation" in s.report[0].sides[0]);
  if (!rows.length) return [];
  const number = (x) => (x === null ? Infinity : x);  // JSON has no infinity
  const error = (title, of) => [title, (s) => (of(s) === undefined ? "" : number(of(s)) === Infinity ? "inf" : of(s).toExponential(1)), (s) => number(of(s))];
  const strict = (key) => (s) => (s.report[0].strict || {})[key];
  const beside = PEERS.length ? [error(`from ${PEERS[0]}`, (s) => s.report[0].disagreement), error(`strict from ${PEERS[0]}`, strict("disagreement"))] : [];
  const columns = [["scenario", (s) => s.name], ["right outputs", (s) => s.expected_from || ""], error(`${DATA.engines[0]}'s error`, (s) => s.report[0].sides[0].deviation),
                   error("strict error", strict("deviation")), ...PEERS.map((peer, p) => error(`${peer}'s error`, (s) => ratio(s, 0, p, "deviation"))), ...beside,
                   error("strict from default", strict("from_default")), column("strict time ratio", strict("ratio"))];
  return [html("h2", {}, "Accuracy"), html("p", {}, ABOUT_ACCURACY), table(columns, rows)];
}

/** The time of an engine per operator; `e` is its number. */
function opColumns(engine, e) {
  const cell = (key) => (row) => (row.engines[e] || {})[key];
  const time = [`${engine.engine} ms`, (row) => (row.engines[e] ? milliseconds(row.engines[e].ms) : ""), cell("ms")];
  return [column("nodes", cell("nodes"), 0), time, column("%", cell("share"), 1), ...(e ? [column("ratio", cell("ratio"), 2, true)] : [])];
}

function operators() {
  const rows = measured().filter((s) => s.report[0].ops);
  if (!rows.length) return [];
  const unfoldable = ({name, report: [{ops}]}) => {
    const runs = ops.engines.map((e) => `${e.engine} ${milliseconds(e.run_ms)} ms, ${milliseconds(e.outside_ms)} of it outside of nodes`).join("; ");
    const columns = [["operator", (row) => row.op], ...ops.engines.flatMap(opColumns), column("GFLOP/s", (row) => row.gflops, 1), column("% of peak", (row) => row.peak_share, 0)];
    return html("details", {}, html("summary", {}, name), html("p", {}, `A run, profiled, ${ops.threads}T: ${runs}`), table(columns, ops.operators));
  };
  return [html("h2", {}, "Operators"), html("p", {}, `By the engines' own profiles; GFLOP/s and % of the measured peak are ${DATA.engines[0]}'s.`), ...rows.map(unfoldable)];
}

function tables() {
  const place = document.getElementById("tables");
  if (DATA.means.length) place.append(html("h2", {}, "Geometric means"), means());
  place.append(html("h2", {}, "Scenarios"), table(scenarioColumns(), measured()), ...accuracy(), ...operators());
  const refused = measured().flatMap((s) => s.report[0].peers.filter((p) => p.error).map((p) => ({name: s.name, ...p})));
  if (refused.length) place.append(html("h2", {}, "Models that a peer rejected"), table([["scenario", (r) => r.name], ["engine", (r) => r.engine], ["why", (r) => r.error]], refused));
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
  const sort = wanted.get("sort");  // a column number in the table of scenarios
  if (sort !== null) sortBy([...document.querySelectorAll("h2")].find((h) => h.textContent === "Scenarios").nextSibling, Number(sort));
  document.body.setAttribute("data-ready", "1");
} catch (e) {
  document.body.setAttribute("data-error", String(e.stack || e));
  document.body.setAttribute("data-ready", "1");
}
