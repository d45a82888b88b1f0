// Draws one graph of the data: nodes as boxes, values as edges with their shapes; zooming, moving, searching, colours.
const LEGIBLE = 1400;  // from this height on, a graph is first shown from its start instead of completely
const READABLE = 4;  // text that is more times smaller than designed is not drawn

/** A hue that only depends on the word. */
function hue(word) {
  let h = 17;
  for (const c of word) h = (h * 31 + c.codePointAt(0)) % 360;
  return h;
}

/** From pale (0) to red (1). */
function heatColour(share) {
  return `hsl(${55 - 50 * share} 90% ${88 - 40 * share}%)`;
}

/** Whether the text is in what a search looks through. */
function matches(text, graph, {node, value}) {
  const all = (v) => `${v.name} ${v.type} ${shapeOf(v.type)}`;
  const values = node ? [...node.inputs, ...node.outputs].filter((id) => id >= 0).map((id) => graph.values[id]) : [value];
  const words = [...(node ? [node.name, node.op, node.domain, ...(node.origins || [])] : []), ...values.map(all)];
  return text !== "" && words.join(" ").toLowerCase().includes(text.toLowerCase());
}

class GraphView {
  /** Calls `choose(node)` with the data of a node that was clicked. */
  constructor(svg, choose) {
    this.svg = svg;
    this.choose = choose;
    this.box = {x: 0, y: 0, w: 100, h: 100};
    this.listen();
  }

  /** Draws piece by piece, so that the page stays responsive; returns false if another graph was requested before the end. Calls `told(share)` with the progress. */
  async show(graph, told) {
    const mine = this.showing = {}, boxes = graph.nodes.length + graph.inputs.length + graph.outputs.length;
    this.graph = graph;
    this.drawn = [];
    this.svg.replaceChildren(element("defs", {}, this.arrow()));
    this.whole = {x: -20, y: -20, w: 40, h: 40};
    for (const piece of layOut(graph)) {
      const begins = this.drawn.length === 0;
      this.add(piece);
      if (begins) this.zoomToBegin(this.drawn.length < boxes);
      told(this.drawn.length / boxes);
      if (this.drawn.length < boxes) await new Promise((done) => setTimeout(done));
      if (this.showing !== mine) return false;
    }
    return true;
  }

  add({nodes, edges, left, top, width, height}) {
    const x = Math.min(this.whole.x, left - 20), right = Math.max(this.whole.x + this.whole.w, left + width + 20);
    this.whole = {x, y: this.whole.y, w: right - x, h: top + height + 20 - this.whole.y};
    const drawn = nodes.filter((n) => !n.far).map((n) => this.drawNode(n));
    this.svg.append(...edges.map((e) => this.drawEdge(e)), ...nodes.filter((n) => n.far).map((n) => this.drawNote(n)), ...drawn.map((d) => d.group));
    this.drawn.push(...drawn);
  }

  /** To all of it where that is legible. */
  zoomToBegin(more) {
    const first = this.drawn[0];
    this.zoomTo(first && (more || this.whole.h > LEGIBLE) ? {x: first.x - 400, y: first.y - 38, w: 800, h: 500} : this.whole);
  }

  arrow() {
    const head = element("path", {d: "M0 0 L6 3 L0 6 z", class: "arrow"});
    return element("marker", {id: "arrow", viewBox: "0 0 6 6", refX: 6, refY: 3, markerWidth: 6, markerHeight: 6, orient: "auto"}, head);
  }

  drawNode(place) {
    const {node, value, x, y, width, height} = place;
    const title = node ? node.op : value.name;
    const below = node ? node.name : `${place.port} ${value.type}`;
    const group = element("g", {class: node ? "node" : "node port", transform: `translate(${x} ${y})`, tabindex: 0},
      element("rect", {x: -width / 2, y: -height / 2, width, height}),
      element("text", {y: below ? -2 : 4}, shorten(title, 28)));
    if (below) group.append(element("text", {y: 11, class: "sub"}, shorten(below, Math.floor(width / 5))));
    group.append(element("title", {}, `${title}\n${below}`));
    const drawn = {group, ...place};
    this.onChoice(group, () => this.select(drawn));
    return drawn;
  }

  /** In the place of an edge from far away. */
  drawNote({value, far, x, y, width}) {
    const group = element("g", {class: "note", transform: `translate(${x} ${y})`, tabindex: 0},
      element("text", {y: 4}, `↑ ${shorten(value.name, Math.floor(width / 5.6) - 2)}`), element("title", {}, `${value.name}\n${value.type}\ngoes to the node that computes it`));
    this.onChoice(group, () => this.goTo(this.drawn.find((d) => d.key === far)));
    return group;
  }

  /** With its shape; without where it is only the begin of one. */
  drawEdge({points, value, x, y}) {
    const [first, ...rest] = points;
    const group = element("g", {class: value ? "edge" : "edge part"}, element("path", {d: `M${first.x} ${first.y}` + rest.map((p) => `L${p.x} ${p.y}`).join("")}));
    if (value) group.append(element("text", {x, y: y + 3}, shorten(shapeOf(value.type), 24)), element("title", {}, `${value.name}\n${value.type}`));
    return group;
  }

  onChoice(group, chosen) {
    group.addEventListener("click", chosen);
    group.addEventListener("keydown", (e) => e.key === "Enter" && chosen());
  }

  select(drawn) {
    for (const d of this.drawn) d.group.classList.toggle("chosen", d === drawn);
    this.choose(drawn.node, drawn.value);
  }

  /** Marks what contains the text; answers how many. */
  search(text) {
    this.hits = this.drawn.filter((d) => matches(text, this.graph, d));
    const hits = new Set(this.hits);
    for (const d of this.drawn) d.group.classList.toggle("hit", hits.has(d));
    this.nextHit = 0;
    return this.hits.length;
  }

  /** False where there is none. */
  goToNextHit() {
    if (!this.hits || !this.hits.length) return false;
    this.goTo(this.hits[this.nextHit++ % this.hits.length]);
    return true;
  }

  goTo(drawn) {
    if (!drawn) return;  // not yet
    this.zoomTo({x: drawn.x - 300, y: drawn.y - 200, w: 600, h: 400});
    this.select(drawn);
  }

  goToNode(node) {
    this.goTo(this.drawn.find((d) => d.node === node));
  }

  /** Colours nodes by `measure(node)`, a number or undefined, or by their operators where it is null. */
  paint(measure) {
    const most = measure ? this.graph.nodes.reduce((all, node) => Math.max(all, measure(node) || 0), 0) : 0;
    for (const {node, group} of this.drawn) {
      if (!node) continue;
      const colour = measure ? heatColour(most && Math.sqrt((measure(node) || 0) / most)) : `hsl(${hue(node.op)} 65% 82%)`;
      group.querySelector("rect").style.fill = colour;
    }
  }

  zoomTo(box) {
    const aspect = (this.svg.clientHeight || 1) / (this.svg.clientWidth || 1);
    const w = Math.max(box.w, box.h / aspect), h = w * aspect;
    this.box = {x: box.x - (w - box.w) / 2, y: box.y - (h - box.h) / 2, w, h};
    this.applyBox();
  }

  applyBox() {
    const {x, y, w, h} = this.box;
    this.svg.setAttribute("viewBox", `${x} ${y} ${w} ${h}`);
    this.svg.classList.toggle("distant", w > READABLE * (this.svg.clientWidth || w));
  }

  listen() {
    this.svg.addEventListener("wheel", (e) => {
      e.preventDefault();
      const factor = Math.exp(Math.sign(e.deltaY) * 0.15), area = this.svg.getBoundingClientRect();
      const px = (e.clientX - area.left) / area.width, py = (e.clientY - area.top) / area.height, b = this.box;
      this.box = {x: b.x + px * b.w * (1 - factor), y: b.y + py * b.h * (1 - factor), w: b.w * factor, h: b.h * factor};
      this.applyBox();
    }, {passive: false});
    let last = null;
    this.svg.addEventListener("pointerdown", (e) => { last = e; });
    window.addEventListener("pointerup", () => { last = null; });
    this.svg.addEventListener("pointermove", (e) => {
      if (!last) return;
      const scale = this.box.w / this.svg.clientWidth;
      this.box.x -= (e.clientX - last.clientX) * scale;
      this.box.y -= (e.clientY - last.clientY) * scale;
      last = e;
      this.applyBox();
    });
  }
}
