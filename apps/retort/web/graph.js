// Draws one graph of the data: nodes as boxes, values as edges with their shapes; zooming, moving, searching, colours.
const LEGIBLE = 0.85; // a graph that must be made smaller than this to fit is first shown from its start
const ENLARGED = 1.4; // a small graph is enlarged up to this
const READABLE = 4; // text that is more times smaller than designed is not drawn

/** Whether the text is in what a search looks through; "op:Add" asks for an operator of just this name. */
function matches(text, graph, {node, value}) {
  if (text.startsWith("op:")) return !!node && node.op.toLowerCase() === text.slice(3).toLowerCase();
  const all = (v) => `${v.name} ${v.type} ${shapeOf(v.type)}`;
  const values = node
    ? [...node.inputs, ...node.outputs].filter((id) => id >= 0).map((id) => graph.values[id])
    : [value];
  const origins = (node && node.origins) || [];
  const words = [...(node ? [node.name, node.op, node.domain, ...origins, origins.join("+")] : []), ...values.map(all)];
  return text !== "" && words.join(" ").toLowerCase().includes(text.toLowerCase());
}

class GraphView {
  /** Calls `choose(node)` with the data of a node that was clicked. `palette` has the hues of operators. */
  constructor(svg, map, palette, choose) {
    this.svg = svg;
    this.palette = palette;
    this.choose = choose;
    this.drawn = [];
    this.measure = null; // see paint()
    this.most = 0;
    this.box = {x: 0, y: 0, w: 100, h: 100};
    this.whole = {x: -20, y: -20, w: 40, h: 40};
    this.map = new Minimap(this, map);
    this.listen();
  }

  /**
   * Draws piece by piece, so that the page stays responsive; returns false if another graph was requested before the
   * end. Calls `told(share)` with the progress.
   */
  async show(graph, told) {
    const mine = (this.showing = {}),
      boxes = graph.nodes.length + graph.inputs.length + graph.outputs.length;
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
    const x = Math.min(this.whole.x, left - 20),
      right = Math.max(this.whole.x + this.whole.w, left + width + 20);
    this.whole = {x, y: this.whole.y, w: right - x, h: top + height + 20 - this.whole.y};
    const drawn = nodes.filter((n) => !n.far).map((n) => this.drawNode(n)),
      notes = nodes.filter((n) => n.far).map((n) => this.drawNote(n));
    this.svg.append(...edges.map((e) => this.drawEdge(e)), ...notes, ...drawn.map((d) => d.group));
    this.drawn.push(...drawn);
    for (const d of drawn) this.colour(d);
    this.map.draw();
  }

  /** To all of it where that is legible. */
  zoomToBegin(more) {
    const first = this.drawn[0],
      width = this.svg.clientWidth || 1,
      height = this.svg.clientHeight || 1;
    const legible = !more && Math.min(width / this.whole.w, height / this.whole.h) >= LEGIBLE;
    this.zoomTo(!first || legible ? this.whole : {x: first.x - width / 2, y: first.y - 38, w: width, h: height});
  }

  arrow() {
    const place = {viewBox: "0 0 6 6", refX: 6, refY: 3, markerWidth: 6, markerHeight: 6, orient: "auto"};
    return element("marker", {id: "arrow", ...place}, element("path", {d: "M0 0 L6 3 L0 6 z", class: "arrow"}));
  }

  drawNode(place) {
    const {node, value, x, y, width, height, title, below} = place,
      fits = width - 2 * PADDING;
    const shown = node ? shorten(below, fits, SMALL) : shortenType(below, fits, SMALL);
    const group = element(
      "g",
      {class: node ? "node" : "node port", transform: `translate(${x} ${y})`, tabindex: 0},
      element("rect", {x: -width / 2, y: -height / 2, width, height}),
      element("text", {y: below ? -2 : 4}, shorten(title, fits, LETTERS)),
    );
    if (below) group.append(element("text", {y: 11, class: "sub"}, shown));
    group.append(element("title", {}, node ? `${title}\n${below}` : `${title}\n${place.port} ${value.type}`));
    if (node) group.querySelector("rect").style.setProperty("--hue", this.palette.hue(node.op));
    const drawn = {group, ...place};
    this.onChoice(group, () => this.select(drawn));
    return drawn;
  }

  /** In the place of an edge from far away. */
  drawNote({value, far, x, y, width}) {
    const group = element(
      "g",
      {class: "note", transform: `translate(${x} ${y})`, tabindex: 0},
      element("text", {y: 4}, `↑ ${shorten(value.name, width - 16, NOTE)}`),
      element("title", {}, `${value.name}\n${value.type}\ngoes to the node that computes it`),
    );
    this.onChoice(group, () => this.goTo(this.drawn.find((d) => d.key === far)));
    return group;
  }

  /** With its shape; without where it is only the begin of one. */
  drawEdge({points, value, x, y}) {
    const [first, ...rest] = points;
    const path = `M${first.x} ${first.y}` + rest.map((p) => `L${p.x} ${p.y}`).join("");
    const group = element("g", {class: value ? "edge" : "edge part"}, element("path", {d: path}));
    if (value)
      group.append(
        element("text", {x, y: y + 3}, edgeLabel(value)),
        element("title", {}, `${value.name}\n${value.type}`),
      );
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
    this.map.draw();
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
    if (!drawn) return; // not yet
    this.zoomTo({x: drawn.x - 300, y: drawn.y - 200, w: 600, h: 400});
    this.select(drawn);
  }

  goToNode(node) {
    this.goTo(this.drawn.find((d) => d.node === node));
  }

  /** Colours nodes by `measure(node)`, a number or undefined, or by their operators where it is null. */
  paint(measure) {
    this.measure = measure;
    this.most = measure ? this.graph.nodes.reduce((all, node) => Math.max(all, measure(node) || 0), 0) : 0;
    for (const d of this.drawn) this.colour(d);
    this.map.draw();
    return this.most;
  }

  /** One box as paint() said last; boxes that are drawn later get their colours from here. */
  colour({node, group}) {
    if (!node) return;
    const {measure, most} = this,
      rect = group.querySelector("rect");
    rect.setAttribute("class", measure ? "heat" : "operator");
    if (measure) rect.style.setProperty("--share", (most && Math.sqrt((measure(node) || 0) / most)).toFixed(4));
  }

  zoomTo(box) {
    const aspect = (this.svg.clientHeight || 1) / (this.svg.clientWidth || 1);
    const w = Math.max(box.w, box.h / aspect, (this.svg.clientWidth || 1) / ENLARGED),
      h = w * aspect;
    this.box = {x: box.x - (w - box.w) / 2, y: box.y - (h - box.h) / 2, w, h};
    this.applyBox();
  }

  applyBox() {
    const {x, y, w, h} = this.box;
    this.svg.setAttribute("viewBox", `${x} ${y} ${w} ${h}`);
    this.svg.classList.toggle("distant", w > READABLE * (this.svg.clientWidth || w));
    this.map.frame();
  }

  moveTo(x, y) {
    this.box = {...this.box, x, y};
    this.applyBox();
  }

  /** Shows `factor` times as much; the point at `px`, `py` (shares of the window) stays where it is. */
  zoomBy(factor, px = 0.5, py = 0.5) {
    const b = this.box;
    this.box = {x: b.x + px * b.w * (1 - factor), y: b.y + py * b.h * (1 - factor), w: b.w * factor, h: b.h * factor};
    this.applyBox();
  }

  listen() {
    this.svg.addEventListener(
      "wheel",
      (e) => {
        e.preventDefault();
        this.zoomAt(Math.exp(Math.sign(e.deltaY) * 0.15), e.clientX, e.clientY);
      },
      {passive: false},
    );
    const fingers = new Map(); // the pointers that are down
    this.svg.addEventListener("pointerdown", (e) => fingers.set(e.pointerId, e));
    for (const end of ["pointerup", "pointercancel"]) window.addEventListener(end, (e) => fingers.delete(e.pointerId));
    this.svg.addEventListener("pointermove", (e) => {
      const last = fingers.get(e.pointerId);
      if (!last) return;
      fingers.set(e.pointerId, e);
      const other = [...fingers.values()].find((f) => f !== e),
        scale = this.box.w / this.svg.clientWidth;
      if (!other)
        return this.moveTo(
          this.box.x - (e.clientX - last.clientX) * scale,
          this.box.y - (e.clientY - last.clientY) * scale,
        );
      const apart = (f) => Math.max(1, Math.hypot(f.clientX - other.clientX, f.clientY - other.clientY));
      this.zoomAt(apart(last) / apart(e), other.clientX, other.clientY);
    });
    drawToWidth(this.svg, () => this.zoomTo(this.box));
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.map.draw());
  }

  zoomAt(factor, clientX, clientY) {
    const area = this.svg.getBoundingClientRect();
    this.zoomBy(factor, (clientX - area.left) / area.width, (clientY - area.top) / area.height);
  }
}
