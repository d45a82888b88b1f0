// Draws one graph of the data: nodes as boxes, values as edges with their shapes; zooming, moving, searching, colours.
const LEGIBLE = 0.85; // a graph that must be made smaller than this to fit is first shown from its start
const ENLARGED = 1.4; // a small graph is enlarged up to this

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

/** What holds all boxes and edges, with a margin. */
function extentOf(nodes, edges) {
  let [left, top, right, bottom] = nodes.length ? [Infinity, Infinity, -Infinity, -Infinity] : [0, 0, 0, 0];
  const hold = (x, y, halfWidth, halfHeight) => {
    [left, top] = [Math.min(left, x - halfWidth), Math.min(top, y - halfHeight)];
    [right, bottom] = [Math.max(right, x + halfWidth), Math.max(bottom, y + halfHeight)];
  };
  for (const n of nodes) hold(n.x, n.y, n.width / 2, n.height / 2);
  for (const p of edges.flatMap((e) => e.points)) hold(p.x, p.y, 0, 0);
  return {x: left - 20, y: top - 20, w: right - left + 40, h: bottom - top + 40};
}

class GraphView {
  /**
   * Calls `choose(node)` with the data of a node that was clicked. `palette` has the hues of operators; `dots` and `map`
   * are the places of the picture of a large graph from afar and of the map.
   */
  constructor(svg, dots, map, palette, choose) {
    this.svg = svg;
    this.palette = palette;
    this.choose = choose;
    this.drawn = this.notes = [];
    this.hits = new Set();
    this.scene = new Scene(this, dots);
    this.measure = null; // see paint()
    this.most = 0;
    this.box = {x: 0, y: 0, w: 100, h: 100};
    this.whole = {x: -20, y: -20, w: 40, h: 40};
    this.map = new Minimap(this, map);
    this.listen();
  }

  /** Lays the graph out and draws what is near the window. */
  show(graph) {
    this.graph = graph;
    this.hits = new Set();
    this.chosen = this.measure = null;
    const {nodes, edges} = layOut(graph);
    this.drawn = nodes.filter((n) => !n.far);
    this.boxes = new Map(this.drawn.map((d) => [d.key, d]));
    this.notes = nodes.filter((n) => n.far);
    this.whole = extentOf(nodes, edges);
    this.scene.show(edges, this.notes, this.drawn);
    this.zoomToBegin();
    this.map.draw();
  }

  /** To all of it where that is legible. */
  zoomToBegin() {
    const first = this.drawn[0],
      width = this.svg.clientWidth || 1,
      height = this.svg.clientHeight || 1;
    const legible = Math.min(width / this.whole.w, height / this.whole.h) >= LEGIBLE;
    this.zoomTo(!first || legible ? this.whole : {x: first.x - width / 2, y: first.y - 38, w: width, h: height});
  }

  select(drawn) {
    const before = this.chosen;
    this.chosen = drawn;
    for (const d of [before, drawn]) this.scene.mark(d);
    this.choose(drawn.node, drawn.value);
  }

  /** Marks what contains the text; answers how many. */
  search(text) {
    this.hits = new Set(this.drawn.filter((d) => matches(text, this.graph, d)));
    this.scene.markAll();
    this.map.draw();
    this.nextHit = 0;
    return this.hits.size;
  }

  /** False where there is none. */
  goToNextHit() {
    if (!this.hits.size) return false;
    this.goTo([...this.hits][this.nextHit++ % this.hits.size]);
    return true;
  }

  goTo(drawn) {
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
    this.scene.markAll();
    this.map.draw();
    return this.most;
  }

  /** From 0 to 1: how hot a node is by what paint() said last. */
  share(node) {
    return this.most && Math.sqrt((this.measure(node) || 0) / this.most);
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
    this.scene.look();
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
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.map.draw();
      this.scene.look();
    });
  }

  zoomAt(factor, clientX, clientY) {
    const area = this.svg.getBoundingClientRect();
    this.zoomBy(factor, (clientX - area.left) / area.width, (clientY - area.top) / area.height);
  }
}
