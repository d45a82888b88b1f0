// The page of a suite: what is better in words, the machine, charts of ratios, sortable tables.
const DATA = JSON.parse(document.getElementById("data").textContent);
const PEERS = DATA.engines.slice(1),
  OWN = DATA.engines[0] || "Retort";

const shown = (number, digits = 2) => (typeof number === "number" ? number.toFixed(digits) : "");
const milliseconds = (ms) => (ms < 0.1 ? ms.toPrecision(2) : ms.toFixed(3));
const measured = () => DATA.scenarios.filter((s) => s.report);
const threadsText = (i) => `${DATA.threads[i]} ${DATA.threads[i] === 1 ? "thread" : "threads"}`;
/** The name of an engine without its version, where that tells it from the others. */
const shortEngine = (name) => {
  const short = name.replace(/ [\d.]+\S*$/, "");
  return DATA.engines.filter((e) => e.startsWith(short)).length === 1 ? short : name;
};

function facts() {
  const m = DATA.machine;
  const rates = (of, digits, unit) =>
    Object.entries(of)
      .map(([n, rate]) => `${shown(rate, digits)} ${unit} (${n}T)`)
      .join(", ");
  const rows = {
    processor: m.processor,
    cores: String(m.cores),
    caches: Object.entries(m.caches || {})
      .map((c) => c.join(" "))
      .join(", "),
    memory: `${shown(m.memory_bytes / 1e9, 1)} GB`,
    instructions: m.isa.join(", "),
    "measured peak": rates(DATA.peak_gflops, 0, "GFLOP/s"),
    "measured memory bandwidth (reading)": rates(DATA.read_gbs, 1, "GB/s"),
    system: m.system,
    "load before": shown(m.load, 1),
    engines: DATA.engines.join(", "),
    date: DATA.date,
  };
  for (const [title, text] of Object.entries(rows))
    if (text) document.getElementById("machine").append(html("dt", {}, title), html("dd", {}, text));
  const about = [m.processor, DATA.engines.join(", "), DATA.date].filter(Boolean).join(" · ");
  document.getElementById("about").firstElementChild.textContent = about;
  const failed = DATA.scenarios.length - measured().length,
    differ = DATA.scenarios.filter((s) => s.differs).length;
  const one = measured().length === 1 ? "scenario" : "scenarios";
  document.getElementById("title").textContent = document.title;
  document.getElementById("facts").textContent =
    `${measured().length} ${one} measured, ${failed} failed, ${differ} differ`;
}

/** The number of one peer with the i-th number of threads. */
const ratio = (scenario, i, peer, key) => ((scenario.report[i] || {peers: []}).peers[peer] || {})[key];

const SAME = 0.01; // engines whose figures differ less than this share are called equal

/**
 * What is compared: title, key of the ratio, number of threads, what the worse engine does: "takes 1.2 times as long".
 */
function comparisons() {
  const time = DATA.threads.map((_, i) => ({
    title: `Time of a run, ${threadsText(i)}`,
    key: "ratio",
    i,
    does: "takes",
    as: "as long",
  }));
  const memory = {i: 0, does: "needs", as: "as much"};
  return [
    ...time,
    {title: "Session creation and first run", key: "start_ratio", i: 0, does: "takes", as: "as long"},
    {title: "Memory at the peak", key: "peak_ratio", ...memory},
    {title: "Memory after the runs", key: "steady_ratio", ...memory},
  ];
}

/** One sentence about a peer, and who is better; nothing where it was not measured. */
function verdictOn(peer, p, {title, key, i, does, as}) {
  const ratios = measured()
    .map((s) => ratio(s, i, p, key))
    .filter((r) => r > 0);
  if (!ratios.length) return [];
  const mean = Math.exp(ratios.reduce((sum, r) => sum + Math.log(r), 0) / ratios.length);
  const better = mean > 1 + SAME,
    worse = mean < 1 / (1 + SAME),
    [own, other] = [OWN, peer].map(shortEngine);
  const [winner, loser] = better ? [own, other] : [other, own];
  const says =
    better || worse
      ? [html("strong", {}, `${winner} is better`), `, ${loser} ${does} ${shown(better ? mean : 1 / mean)} times ${as}`]
      : [`${own} and ${other} are equal`];
  const wins =
    ratios.length > 1
      ? `; ${own} is better in ${ratios.filter((r) => r > 1).length} of ${ratios.length} scenarios`
      : "";
  return [html("li", {class: better ? "better" : worse ? "worse" : ""}, `${title}: `, ...says, `${wins}.`)];
}

function verdict() {
  const place = document.getElementById("verdict");
  for (const [p, peer] of PEERS.entries())
    place.append(
      html("li", {class: "of"}, `${OWN} beside ${peer}`),
      ...comparisons().flatMap((what) => verdictOn(peer, p, what)),
    );
  if (!PEERS.length) place.append(html("li", {}, "No other engine was measured; --against LIBRARY compares with one."));
  else if (measured().length > 1)
    place.append(html("li", {class: "note"}, "Factors are geometric means over the scenarios."));
}

/** What the charts draw: see chartOf(). */
function plots() {
  const all = [],
    threads = DATA.threads.map((_, i) => threadsText(i)),
    own = shortEngine(OWN);
  const words = (what) =>
    `Longer bars are better for ${own}. Above 1, ${own} ${what}; below 1, the other engine is better.`;
  const add = (title, text, series, values, more = {}) =>
    all.push({title, words: text, series, values, figure: (v) => shown(v), ...more});
  PEERS.forEach((peer, p) => {
    add(`Time of ${peer} over ${OWN}'s`, words("is faster"), threads, (s) =>
      DATA.threads.map((_, i) => ratio(s, i, p, "ratio")),
    );
  });
  if (PEERS.length) {
    const each = (key) => (s) => PEERS.map((_, p) => ratio(s, 0, p, key));
    add(`Session creation and first run over ${OWN}'s`, words("is faster"), PEERS, each("start_ratio"));
    for (const [title, key] of [
      ["Peak", "peak_ratio"],
      ["Steady", "steady_ratio"],
    ])
      add(`${title} memory over ${OWN}'s`, words("needs less"), PEERS, each(key));
  } else {
    add("Time of a run, ms", "Shorter bars are better.", threads, (s) => s.report.map((r) => r.sides[0].median_ms), {
      one: null,
      figure: milliseconds,
    });
  }
  if (measured().some((s) => s.report[0].peak_share !== undefined)) {
    add(
      "Share of the measured peak, %",
      "Longer bars are better. At 100 %, the processor would only multiply and add.",
      threads,
      (s) => s.report.map((r) => r.peak_share),
      {one: null, figure: (v) => shown(v, 1)},
    );
  }
  return all;
}

const kindOf = (s) => `${s.precision} ${s.kind}`.trim();

function drawPlots() {
  const kind = document.getElementById("kind").value,
    byRatio = document.getElementById("order").value === "ratio";
  const scenarios = measured().filter((s) => !kind || kindOf(s) === kind);
  if (byRatio) scenarios.sort((a, b) => (ratio(a, 0, 0, "ratio") || 0) - (ratio(b, 0, 0, "ratio") || 0));
  document.getElementById("plots").replaceChildren(...plots().flatMap((plot, i) => chartOf(plot, scenarios, i === 0)));
}

/** The choices of the page; those that would leave everything as it is are not shown. */
function controls() {
  const kinds = [...new Set(measured().map(kindOf).filter(Boolean))],
    find = (id) => document.getElementById(id);
  find("kind").append(...kinds.map((kind) => html("option", {value: kind}, kind)));
  find("kind").parentElement.hidden = kinds.length < 2;
  find("order").parentElement.hidden = measured().length < 2 || !PEERS.length;
  const wanted = new URLSearchParams(location.hash.slice(1));
  for (const id of ["kind", "order"]) {
    find(id).addEventListener("change", drawPlots);
    if (wanted.get(id)) find(id).value = wanted.get(id);
  }
  return wanted;
}

facts();
verdict();
const wanted = controls();
drawPlots();
tables();
const sort = wanted.get("sort"); // a column number in the table of times
if (sort !== null) sortBy(document.querySelector("#times table"), Number(sort));
document.body.dataset.ready = "1";
