// The tables of a suite's page: means, times, memory, arithmetic, accuracy, operators, failures.

/** A column of numbers; `slower`: those below 1 are marked. */
const column = (title, number, digits = 2, slower = false, more = {}) => ({
  title,
  text: (row) => shown(number(row), digits),
  value: number,
  look: (row) => (slower && number(row) < 1 ? "slower" : ""),
  ...more,
});

const words = (title, text) => ({title, text, words: true});

const time = (title, ms) => ({
  title,
  text: (row) => (ms(row) === undefined ? "" : milliseconds(ms(row))),
  value: ms,
  better: "lower",
});

const LOWER = {better: "lower"},
  HIGHER = {better: "higher"};
const RATIO = {
  better: "higher",
  says: "the other engine's figure over the first one's: above 1, the first one is better",
};

/** "2 threads: ", where several were measured. */
const withThreads = (i) => (DATA.threads.length > 1 ? `${threadsText(i)}: ` : "");

/** The name of a peer, in titles of columns, where there are several. */
const beside = (p) => (PEERS.length > 1 ? `, ${shortEngine(PEERS[p])}` : "");

const own = (i, key) => (s) => (s.report[i] || {sides: [{}]}).sides[0][key];

const SCENARIO = words("scenario", (s) => s.name),
  KIND = words("kind", (s) => kindOf(s));

/** How far outputs are from the peers'. */
function difference() {
  const worst = (s) => Math.max(...s.report.map((r) => (r.disagreement === null ? Infinity : r.disagreement || 0)));
  const text = (s) => worst(s).toExponential(1) + (s.differs ? " DIFFERS" : "");
  return PEERS.length
    ? [
        {
          title: "differs",
          text,
          value: worst,
          look: (s) => (s.differs ? "slower" : ""),
          says: "largest difference of an output from the first peer's, relative to its scale",
        },
      ]
    : [];
}

function timeColumns() {
  const each = DATA.threads.map((_, i) => i),
    peers = PEERS.map((_, p) => p);
  const times = each.flatMap((i) => [
    time(`${withThreads(i)}ms`, own(i, "median_ms")),
    ...peers
      .slice(0, 1)
      .map((p) => time(`${withThreads(i)}${shortEngine(PEERS[p])} ms`, (s) => ratio(s, i, p, "median_ms"))),
  ]);
  const ratios = (key, title, threads) =>
    peers.flatMap((p) =>
      threads.map((i) => column(`${title(i)}${beside(p)}`, (s) => ratio(s, i, p, key), 2, true, RATIO)),
    );
  return [
    SCENARIO,
    KIND,
    ...times,
    ...ratios("ratio", (i) => `${withThreads(i)}ratio`, each),
    ...ratios("start_ratio", () => "load ratio", [0]),
    ...difference(),
  ];
}

function memoryColumns() {
  const figures = [
    ["peak MiB", "peak_mib"],
    ["steady MiB", "steady_mib"],
  ];
  const of = ([title, key]) => [
    column(title, own(0, key), 1, false, LOWER),
    ...PEERS.map((peer, p) => column(`${shortEngine(peer)} ${title}`, (s) => ratio(s, 0, p, key), 1, false, LOWER)),
  ];
  return [SCENARIO, ...figures.flatMap(of)];
}

function rateColumns() {
  const rate = (i, key) => (s) => (s.report[i] || {})[key];
  return [
    SCENARIO,
    ...DATA.threads.flatMap((_, i) => [
      column(`${withThreads(i)}GFLOP/s`, rate(i, "gflops"), 1, false, HIGHER),
      column(`${withThreads(i)}% of peak`, rate(i, "peak_share"), 0, false, HIGHER),
    ]),
  ];
}

/** A part with a table; nothing where the table would have the rows' names alone. */
function titled(title, columns, rows, id) {
  const says = columns
    .filter((c) => c !== SCENARIO && c !== KIND)
    .some((c) => rows.some((row) => `${c.text(row) ?? ""}` !== ""));
  return rows.length && says ? [part(title, id === "times", Object.assign(tableOf(columns, rows), id ? {id} : {}))] : [];
}

/** A row for each group and peer. */
function means() {
  const of = (g, i, name) => (g.report[i] || {peers: []}).peers.find((p) => p.engine === name) || {};
  const all = (g, name) => DATA.threads.map((_, i) => of(g, i, name));
  const rows = DATA.means.flatMap((g) =>
    g.report[0].peers.map((p) => ({name: g.name, engine: p.engine, scenarios: p.scenarios, report: all(g, p.engine)})),
  );
  const mean = (title, i, key) => column(title, (r) => r.report[i][key], 2, true, RATIO);
  const slowest = (i) => ({
    title: `${withThreads(i)}slowest`,
    value: (r) => (r.report[i].slowest || {}).ratio,
    words: true,
    text: (r) => (r.report[i].slowest ? `${r.report[i].slowest.name} ${shown(r.report[i].slowest.ratio)}` : ""),
  });
  const ratios = DATA.threads.map((_, i) => mean(`${withThreads(i)}ratio`, i, "ratio"));
  return titled(
    "Geometric means",
    [
      words("of", (r) => r.name),
      words("beside", (r) => r.engine),
      {title: "scenarios", text: (r) => String(r.scenarios)},
      ...ratios,
      mean("load", 0, "start_ratio"),
      mean("peak memory", 0, "peak_ratio"),
      mean("steady memory", 0, "steady_ratio"),
      ...DATA.threads.map((_, i) => slowest(i)),
    ],
    rows,
  );
}

const ABOUT_ACCURACY =
  "Errors are the largest difference of an output, relative to its scale: from the correct outputs, which a run " +
  "in float64 gave or which another engine stored beside the model, or from the first peer's. If all engines are " +
  "equally far from float64, the model itself loses the digits in float32. Strict is session.strict=1, which " +
  "avoids shortcuts that cost accuracy; its time ratio is relative to the default.";

function accuracy() {
  const rows = measured().filter((s) => s.report[0].strict || "deviation" in s.report[0].sides[0]);
  if (!rows.length) return [];
  const number = (x) => (x === null ? Infinity : x); // JSON has no infinity
  const text = (x) => (x === undefined ? "" : number(x) === Infinity ? "inf" : x.toExponential(1));
  const error = (title, of) => ({title, text: (s) => text(of(s)), value: (s) => number(of(s)), better: "lower"});
  const strict = (key) => (s) => (s.report[0].strict || {})[key];
  const apart = PEERS.length
    ? [
        error(`from ${PEERS[0]}`, (s) => s.report[0].disagreement),
        error(`strict from ${PEERS[0]}`, strict("disagreement")),
      ]
    : [];
  const errors = [
    error(`${OWN}'s error`, (s) => s.report[0].sides[0].deviation),
    error("strict error", strict("deviation")),
    ...PEERS.map((peer, p) => error(`${peer}'s error`, (s) => ratio(s, 0, p, "deviation"))),
  ];
  const columns = [
    SCENARIO,
    words("right outputs", (s) => s.expected_from || ""),
    ...errors,
    ...apart,
    error("strict from default", strict("from_default")),
    column("strict time ratio", strict("ratio")),
  ];
  return [part("Accuracy", false, html("p", {}, ABOUT_ACCURACY), tableOf(columns, rows))];
}

/** The time of an engine per operator; `e` is its number. */
function opColumns(engine, e) {
  const cell = (key) => (row) => (row.engines[e] || {})[key],
    name = shortEngine(engine.engine);
  return [
    column(`${name} nodes`, cell("nodes"), 0),
    time(`${name} ms`, cell("ms")),
    column(`${name} %`, cell("share"), 1),
    ...(e ? [column("ratio", cell("ratio"), 2, true, RATIO)] : []),
  ];
}

function operators() {
  const rows = measured().filter((s) => s.report[0].ops);
  if (!rows.length) return [];
  const unfoldable = ({name, report: [{ops}]}) => {
    const runs = ops.engines
      .map((e) => `${e.engine} ${milliseconds(e.run_ms)} ms, ${milliseconds(e.outside_ms)} of it outside of nodes`)
      .join("; ");
    const columns = [
      words("operator", (row) => row.op),
      ...ops.engines.flatMap(opColumns),
      column("GFLOP/s", (row) => row.gflops, 1, false, HIGHER),
      column("% of peak", (row) => row.peak_share, 0, false, HIGHER),
    ];
    const threads = `${ops.threads} ${ops.threads === 1 ? "thread" : "threads"}`;
    return html(
      "details",
      {},
      html("summary", {}, name),
      html("p", {}, `A run, profiled, ${threads}: ${runs}`),
      tableOf(columns, ops.operators),
    );
  };
  const about = `By the engines' own profiles; GFLOP/s and % of the measured peak are ${OWN}'s.`;
  return [part("Operators", false, html("p", {}, about), ...rows.map(unfoldable))];
}

function tables() {
  const refused = measured().flatMap((s) =>
    s.report[0].peers.filter((p) => p.error).map((p) => ({name: s.name, ...p})),
  );
  const failed = DATA.scenarios.filter((s) => s.error),
    name = words("scenario", (r) => r.name),
    why = words("why", (r) => r.error);
  document
    .getElementById("tables")
    .append(
      ...(DATA.means.length ? means() : []),
      ...titled("Times", timeColumns(), measured(), "times"),
      ...titled("Memory", memoryColumns(), measured()),
      ...titled("Arithmetic", rateColumns(), measured()),
      ...accuracy(),
      ...operators(),
      ...titled("Models that a peer rejected", [name, words("engine", (r) => r.engine), why], refused),
      ...titled("Failed", [name, why], failed),
    );
}
