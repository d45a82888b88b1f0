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

const LARGE = 400;  // from this number of nodes on, the smaller graph is shown first

class Page {
  constructor(data) {
    this.data = data;
    this.elsewhere = [];
    this.graphs = new Map(withBodies("graph", "as the model says", data.graph));
    for (const [key, g] of data.optimized ? withBodies("optimized", "as it runs", data.optimized) : []) this.graphs.set(key, g);
    this.times = new Map((data.profile ? data.profile.nodes : []).map((n) => [n.name, n]));
    this.view = new GraphView(document.getElementById("graph"), (node, value) => this.details(node, value));
    this.controls();
    this.facts();
    this.tables();
    this.drawn = this.follow(new URLSearchParams(location.hash.slice(1)));
  }

  controls() {
    const find = (id) => document.getElementById(id);
    [this.which, this.heat, this.searchBox, this.hits] = ["which", "heat", "search", "hits"].map(find);
    for (const [key, {name}] of this.graphs) this.which.append(html("option", {value: key}, name));
    const measures = {operator: "by operator", arithmetic: "by arithmetic", ...(this.data.profile ? {time: "by time"} : {})};
    for (const [key, name] of Object.entries(measures)) this.heat.append(html("option", {value: key}, name));
    this.which.addEventListener("change", () => this.show(this.which.value));
    this.heat.addEventListener("change", () => this.paint());
    this.searchBox.addEventListener("input", () => this.search());
    find("tools").addEventListener("submit", (e) => { e.preventDefault(); this.goToNextHit(); });
    find("whole").addEventListener("click", () => this.view.zoomTo(this.view.whole));
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
    const all = await this.view.show(this.graphs.get(key).graph, (share) => {
      this.paint();
      this.hits.value = `drawing, ${Math.round(100 * share)} %`;
    });
    if (all) this.search();
    return all;
  }

  paint() {
    const measures = {arithmetic: (n) => n.operations, time: (n) => (this.times.get(n.name) || {}).milliseconds};
    this.view.paint(measures[this.heat.value] || null);
  }

  /** The keys of a whole graph, as the model says or as it runs, and of the bodies within it. */
  within(key) {
    return [...this.graphs.keys()].filter((k) => k.split("/")[0] === key.split("/")[0]);
  }

  search() {
    const text = this.searchBox.value.trim(), count = this.view.search(text), shown = this.which.value;
    const found = ({graph}) => graph.nodes.some((node) => matches(text, graph, {node}));
    this.elsewhere = this.within(shown).filter((key) => key !== shown && found(this.graphs.get(key)));
    const also = this.elsewhere.length ? `, more in ${this.graphs.get(this.elsewhere[0]).name}${this.elsewhere.length > 1 ? ", …" : ""}` : "";
    this.hits.value = text ? `${count} found${also}` : "";
  }

  /** Into a body where there is none here. */
  async goToNextHit() {
    if (this.view.goToNextHit() || !this.elsewhere.length) return;
    if (await this.show(this.elsewhere[0])) this.view.goToNextHit();
  }

  /** What a node counts, over a graph and its bodies. */
  sum(root, count) {
    return this.within(root).flatMap((key) => this.graphs.get(key).graph.nodes).reduce((all, node) => all + count(node), 0);
  }

  facts() {
    const d = this.data, one = () => 1;
    const sets = Object.entries(d.opsets).map(([k, v]) => `${k} ${v}`).join(", ");
    const parts = [`opsets ${sets}`, `${this.sum("graph", one)} nodes${d.optimized ? `, ${this.sum("optimized", one)} after optimisation` : ""}`];
    if (d.memory) parts.push(`weights ${scaled(d.memory.weights, "B")}`, `values at once ${scaled(d.memory.values_at_once, "B")}`);
    parts.push(`${scaled(this.sum("graph", (n) => n.operations || 0), "FLOP")} a run`);
    if (d.profile) parts.push(`${d.profile.median_ms.toFixed(3)} ms per run on ${d.profile.threads} thread${d.profile.threads === 1 ? "" : "s"}`);
    if (d.problem) parts.push(`cannot run: ${d.problem}`);
    document.getElementById("title").textContent = document.title = d.file.split("/").pop();
    document.getElementById("facts").textContent = parts.join(" · ");
  }

  details(node, value) {
    const panel = document.getElementById("details");
    const title = node ? node.op : value.name;
    panel.replaceChildren(html("h2", {}, title));
    const list = html("dl");
    const row = (name, ...content) => content.length && list.append(html("dt", {}, name), ...content.map((c) => html("dd", {}, c)));
    if (!node) {
      row("type", value.type);
      panel.append(list);
      return;
    }
    const graph = this.view.graph, text = (id) => (id < 0 ? "(left out)" : `${graph.values[id].name}  ${graph.values[id].type}${graph.values[id].constant ? "  weight" : ""}`);
    const timed = this.times.get(node.name);
    row("name", node.name);
    row("operator set", `${node.domain || "ai.onnx"}${node.version ? " " + node.version : ""}`);
    row("reads", ...node.inputs.map(text));
    row("makes", ...node.outputs.map(text));
    row("read by", ...graph.nodes.filter((n) => n.inputs.some((id) => node.outputs.includes(id) && id >= 0)).map((reader) =>
      this.button(`${reader.op} ${reader.name}`, () => this.view.goToNode(reader))));
    row("attributes", ...Object.entries(node.attributes).map(([k, v]) => `${k} = ${v}`));
    row("came from", ...(node.origins || []));
    if (node.operations !== undefined) row("arithmetic", scaled(node.operations, "FLOP"));
    if (timed) row("time", `${timed.milliseconds.toFixed(4)} ms, ${timed.share.toFixed(1)} %` + (timed.peak_share ? `, ${timed.peak_share.toFixed(0)} % of peak` : ""));
    row("bodies", ...Object.entries(node.bodies || {}).map(([name, body]) =>
      this.button(`open ${name}`, () => this.show([...this.graphs].find(([, g]) => g.graph === body)[0]))));
    panel.append(list);
  }

  button(text, pressed) {
    const button = html("button", {type: "button"}, text);
    button.addEventListener("click", pressed);
    return button;
  }

  tables() {
    const place = document.getElementById("tables"), d = this.data;
    if (d.profile) place.append(html("h2", {}, "Operators"), this.table(["operator", "nodes", "ms", "share %", "GFLOP/s", "% of peak"],
      d.profile.operators.map((o) => [o.op, o.nodes, o.milliseconds.toFixed(4), o.share.toFixed(1), o.gflops ? o.gflops.toFixed(1) : "", o.peak_share ? o.peak_share.toFixed(1) : ""])));
    if (d.passes && d.passes.length) place.append(html("h2", {}, "Optimisation passes"), this.table(["pass", "ms", "nodes before", "after", "applied"],
      d.passes.map((p) => [p.name, p.milliseconds.toFixed(2), p.nodes_before, p.nodes_after, Object.entries(p.counts).map(([k, v]) => `${k} ${v}`).join(", ")])));
  }

  table(head, rows) {
    const row = (kind) => (cells) => html("tr", {}, ...cells.map((c, i) => html(kind, head[i] === "applied" ? {class: "wide"} : {}, `${c}`)));
    return html("table", {}, html("thead", {}, row("th")(head)), html("tbody", {}, ...rows.map(row("td"))));
  }

  timeline() {
    const section = document.getElementById("timeline");
    section.hidden = false;
    section.append(html("h2", {}, "One run over time"));
    new Timeline(section, this.data.profile.events, (name) => {
      this.searchBox.value = name;
      this.search();
      this.goToNextHit();
    });
  }
}

window.addEventListener("error", (e) => { document.body.dataset.error = e.message; });
window.addEventListener("unhandledrejection", (e) => { document.body.dataset.error = e.reason; });
new Page(JSON.parse(document.getElementById("data").textContent)).drawn.then(() => { document.body.dataset.ready = "1"; });
