// The page: facts, choice of graph and colours, details of a node, tables.
function scaled(number, unit) {
  const prefixes = ["", "k", "M", "G", "T", "P"];
  let i = 0;
  for (; number >= 999.5 && i < 5; ++i) number /= 1000;
  return `${i === 0 ? Math.round(number) : number.toPrecision(3)} ${prefixes[i]}${unit}`;
}

/** A graph and the bodies within it, by the ways that lead there. */
function* withBodies(key, name, graph) {
  yield [key, {name, graph}];
  for (const node of graph.nodes) {
    for (const [attribute, body] of Object.entries(node.bodies || {}))
      yield* withBodies(`${key}/${node.name}/${attribute}`, `${name} › ${node.name} ${attribute}`, body);
  }
}

/** A percentage with a bar of its length. */
function shareBar(percent) {
  return html("span", {class: "share", style: `--percent: ${Math.min(100, percent)}%`}, `${percent.toFixed(1)} %`);
}

const LARGE = 400; // from this number of nodes on, the smaller graph is shown first
const SLOWEST = 20; // nodes in the table of a profile

class Page {
  constructor(data) {
    this.data = data;
    this.elsewhere = [];
    this.graphs = new Map(withBodies("graph", "as the model says", data.graph));
    const optimized = data.optimized ? withBodies("optimized", "as it runs", data.optimized) : [];
    for (const [key, g] of optimized) this.graphs.set(key, g);
    this.times = new Map((data.profile ? data.profile.nodes : []).map((n) => [n.name, n]));
    this.palette = new Palette(this.graphs.values());
    const [svg, dots, map] = ["graph", "dots", "map"].map((id) => document.getElementById(id));
    this.view = new GraphView(svg, dots, map, this.palette, (node, value) => this.details(node, value));
    this.controls();
    this.facts();
    this.tables();
    this.drawn = this.follow(new URLSearchParams(location.hash.slice(1)));
  }

  controls() {
    const find = (id) => document.getElementById(id);
    [this.which, this.heat, this.searchBox, this.hits] = ["which", "heat", "search", "hits"].map(find);
    for (const [key, {name}] of this.graphs) this.which.append(html("option", {value: key}, name));
    const measures = {
      operator: "by operator",
      arithmetic: "by arithmetic",
      ...(this.data.profile ? {time: "by time"} : {}),
    };
    for (const [key, name] of Object.entries(measures)) this.heat.append(html("option", {value: key}, name));
    this.which.addEventListener("change", () => this.show(this.which.value));
    this.heat.addEventListener("change", () => this.paint());
    this.searchBox.addEventListener("input", () => this.search());
    find("tools").addEventListener("submit", (e) => {
      e.preventDefault();
      this.goToNextHit();
    });
    const zooms = {
      closer: () => this.view.zoomBy(1 / 1.4),
      farther: () => this.view.zoomBy(1.4),
      whole: () => this.view.zoomTo(this.view.whole),
    };
    for (const [id, zoom] of Object.entries(zooms)) find(id).addEventListener("click", zoom);
  }

  /** The row of a node in the profile, which names a step by all nodes of the model that it computes. */
  timed(node) {
    return this.times.get(node.name) || this.times.get((node.origins || []).join("+"));
  }

  /** What the address asks for. */
  async follow(wanted) {
    const smaller = this.data.profile || this.data.graph.nodes.length > LARGE;
    const ran = smaller && this.graphs.has("optimized");
    this.heat.value = wanted.get("heat") || (this.data.profile ? "time" : "operator");
    this.searchBox.value = wanted.get("search") || "";
    if (this.data.profile) this.timeline();
    await this.show(this.graphs.has(wanted.get("graph")) ? wanted.get("graph") : ran ? "optimized" : "graph");
  }

  /** False if another graph was asked for before the end. */
  async show(key) {
    this.which.value = key;
    const {graph} = this.graphs.get(key);
    if (graph.nodes.length > LARGE) {
      this.hits.value = "drawing";
      await new Promise((done) => setTimeout(done)); // the browser shows what there is
      if (this.which.value !== key) return false;
    }
    this.view.show(graph);
    this.paint();
    this.search();
    return true;
  }

  paint() {
    const measures = {arithmetic: (n) => n.operations, time: (n) => (this.timed(n) || {}).milliseconds};
    const units = {arithmetic: (most) => scaled(most, "FLOP"), time: (most) => (most < 0.1 ? `${(1000 * most).toPrecision(3)} µs` : `${most.toPrecision(3)} ms`)};
    const measure = this.heat.value,
      most = this.view.paint(measures[measure] || null);
    const search = (op) => this.searchFor(`op:${op}`);
    const legend = units[measure]
      ? heatScale(units[measure](most))
      : operatorChips(this.view.graph, this.palette, search);
    const far = this.view.notes.length ? [html("span", {}, `↑ name: a value from ${FAR} layers above or more`)] : [];
    document.getElementById("legend").replaceChildren(...legend, ...far);
  }

  searchFor(text) {
    this.searchBox.value = text;
    this.search();
    this.goToNextHit();
  }

  /** The keys of a whole graph, as the model says or as it runs, and of the bodies within it. */
  within(key) {
    return [...this.graphs.keys()].filter((k) => k.split("/")[0] === key.split("/")[0]);
  }

  search() {
    const text = this.searchBox.value.trim(),
      count = this.view.search(text),
      shown = this.which.value;
    const found = ({graph}) => graph.nodes.some((node) => matches(text, graph, {node}));
    this.elsewhere = this.within(shown).filter((key) => key !== shown && found(this.graphs.get(key)));
    const [first, second] = this.elsewhere;
    const also = first ? `, more in ${this.graphs.get(first).name}${second ? ", …" : ""}` : "";
    this.hits.value = text ? `${count} found${also}` : "";
  }

  /** Into a body where there is none here. */
  async goToNextHit() {
    if (this.view.goToNextHit() || !this.elsewhere.length) return;
    if (await this.show(this.elsewhere[0])) this.view.goToNextHit();
  }

  /** What a node counts, over a graph and its bodies. */
  sum(root, count) {
    const nodes = this.within(root).flatMap((key) => this.graphs.get(key).graph.nodes);
    return nodes.reduce((all, node) => all + count(node), 0);
  }

  facts() {
    const d = this.data,
      one = () => 1;
    const sets = Object.entries(d.opsets)
      .map(([k, v]) => `${k} ${v}`)
      .join(", ");
    const left = d.optimized ? `, ${this.sum("optimized", one)} after optimisation` : "";
    const count = this.sum("graph", one);
    const parts = [`opsets ${sets}`, `${count} node${count === 1 ? "" : "s"}${left}`];
    if (d.memory)
      parts.push(`weights ${scaled(d.memory.weights, "B")}`, `values at once ${scaled(d.memory.values_at_once, "B")}`);
    parts.push(
      `${scaled(
        this.sum("graph", (n) => n.operations || 0),
        "FLOP",
      )} a run`,
    );
    const threads = d.profile && `${d.profile.threads} thread${d.profile.threads === 1 ? "" : "s"}`;
    if (d.profile) parts.push(`${d.profile.median_ms.toFixed(3)} ms per run on ${threads}`);
    document.getElementById("title").textContent = document.title;
    const problem = d.problem ? [html("span", {class: "problem"}, `Retort cannot run it: ${d.problem}`)] : [];
    document.getElementById("facts").replaceChildren(parts.join(" · "), ...problem);
  }

  details(node, value) {
    const panel = document.getElementById("details");
    const title = node ? node.op : value.name;
    panel.replaceChildren(html("h2", {}, title));
    const list = html("dl");
    const row = (name, ...content) =>
      content.length && list.append(html("dt", {}, name), ...content.map((c) => html("dd", {}, c)));
    if (!node) {
      row("type", value.type);
      panel.append(list);
      return;
    }
    const graph = this.view.graph,
      timed = this.timed(node);
    const known = ({name, type, constant}) => `${name}  ${type}${constant ? "  weight" : ""}`;
    const text = (id) => (id < 0 ? "(left out)" : known(graph.values[id]));
    row("name", node.name);
    row("operator set", `${node.domain || "ai.onnx"}${node.version ? " " + node.version : ""}`);
    row("reads", ...node.inputs.map(text));
    row("makes", ...node.outputs.map(text));
    const readers = graph.nodes.filter((n) => n.inputs.some((id) => node.outputs.includes(id) && id >= 0));
    row(
      "read by",
      ...readers.map((reader) => this.button(`${reader.op} ${reader.name}`, () => this.view.goToNode(reader))),
    );
    row("attributes", ...Object.entries(node.attributes).map(([k, v]) => `${k} = ${v}`));
    row("came from", ...(node.origins || []));
    if (node.operations !== undefined) row("arithmetic", scaled(node.operations, "FLOP"));
    const ofPeak = timed && timed.peak_share ? `, ${timed.peak_share.toFixed(0)} % of peak` : "";
    if (timed) row("time", `${timed.milliseconds.toFixed(4)} ms, ${timed.share.toFixed(1)} %${ofPeak}`);
    row(
      "bodies",
      ...Object.entries(node.bodies || {}).map(([name, body]) =>
        this.button(`open ${name}`, () => this.show([...this.graphs].find(([, g]) => g.graph === body)[0])),
      ),
    );
    panel.append(list);
  }

  button(text, pressed) {
    const button = html("button", {type: "button"}, text);
    button.addEventListener("click", pressed);
    return button;
  }

  tables() {
    const place = document.getElementById("tables"),
      d = this.data;
    if (d.profile) place.append(...this.operatorTable(d.profile.operators), ...this.nodeTable(d.profile.nodes));
    if (d.passes && d.passes.length) place.append(...this.passTable(d.passes));
  }

  /** What operators and nodes of a profile have in common. */
  timeColumns() {
    return [
      {title: "ms", text: (r) => r.milliseconds.toFixed(4), value: (r) => r.milliseconds},
      {title: "share", text: (r) => `${r.share.toFixed(1)} %`, value: (r) => r.share, show: (r) => shareBar(r.share)},
      {title: "GFLOP/s", text: (r) => (r.gflops ? r.gflops.toFixed(1) : ""), value: (r) => r.gflops},
      {
        title: "of peak",
        text: (r) => (r.peak_share ? `${r.peak_share.toFixed(1)} %` : ""),
        value: (r) => r.peak_share,
        says: "of the most that this processor does in float32, as measured",
      },
    ];
  }

  operatorTable(operators) {
    const name = {
      title: "operator",
      text: (o) => o.op,
      words: true,
      show: (o) => html("span", {}, this.palette.swatch(o.op), o.op),
    };
    return [
      html("h2", {}, "Operators"),
      tableOf([name, {title: "nodes", text: (o) => o.nodes}, ...this.timeColumns()], operators),
    ];
  }

  nodeTable(nodes) {
    const name = {
      title: "node",
      text: (n) => n.name,
      words: true,
      show: (n) => this.button(n.name, () => this.searchFor(n.name)),
    };
    const title = nodes.length > SLOWEST ? `The ${SLOWEST} slowest of ${nodes.length} nodes` : "Nodes";
    const columns = [
      name,
      {title: "operator", text: (n) => n.op, words: true},
      {title: "within", text: (n) => n.within, words: true},
    ];
    return [html("h2", {}, title), tableOf([...columns, ...this.timeColumns()], nodes.slice(0, SLOWEST))];
  }

  passTable(passes) {
    const changed = passes.filter((p) => Object.keys(p.counts).length),
      idle = passes.filter((p) => !Object.keys(p.counts).length);
    const columns = [
      {title: "pass", text: (p) => p.name},
      {title: "ms", text: (p) => p.milliseconds.toFixed(2), value: (p) => p.milliseconds},
      {title: "nodes before", text: (p) => p.nodes_before},
      {title: "after", text: (p) => p.nodes_after},
      {
        title: "applied",
        text: (p) =>
          Object.entries(p.counts)
            .map(([k, v]) => `${k} ${v}`)
            .join(", "),
        words: true,
      },
    ];
    const names = [...new Set(idle.map((p) => p.name))],
      rest = html(
        "details",
        {},
        html("summary", {}, `${idle.length} changed nothing`),
        html("p", {}, names.join(", ")),
      );
    return [
      html("h2", {}, "Optimisation passes"),
      ...(changed.length ? [tableOf(columns, changed)] : []),
      ...(idle.length ? [rest] : []),
    ];
  }

  timeline() {
    const section = document.getElementById("timeline"),
      place = html("div");
    section.hidden = false;
    section.append(html("h2", {}, "One run over time"), place);
    new Timeline(place, this.data.profile.events, this.palette, (name) => this.searchFor(name));
  }
}

new Page(JSON.parse(document.getElementById("data").textContent)).drawn.then(() => {
  document.body.dataset.ready = "1";
});
