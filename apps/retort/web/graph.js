// Draws one graph of the data: nodes as boxes, values as edges with their shapes; zooming, moving, searching, colours.
"use strict";

const SVG = "http://www.w3.org/2000/svg";
const LEGIBLE = 1400;  // height from which on a graph is first shown from its begin, not whole
const FAST_FROM = 600;  // nodes from which on ranks are found the quick way: the careful one takes minutes for thousands

function element(name, attributes = {}, ...children) {
  const e = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  e.append(...children);
  return e;
}

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

function shapeOf(type) {
  const at = type.indexOf("[");
  return at < 0 ? type : type.slice(at + 1, -1).split(",").join("×") || "scalar";
}

function shorten(text, length) {
  return text.length > length ? "…" + text.slice(1 - length) : text;
}

/** Whether the text is in what a search looks through. */
function matches(text, graph, {node, value}) {
  const all = (v) => `${v.name} ${v.type} ${shapeOf(v.type)}`;
  const values = node ? [...node.inputs, ...node.outputs].filter((id) => id >= 0).map((id) => graph.values[id]) : [value];
  const words = [...(node ? [node.name, node.op, node.domain, ...(node.origins || [])] : []), ...values.map(all)];
  return text !== "" && words.join(" ").toLowerCase().includes(text.toLowerCase());
}

class GraphView {
  /** `choose(node)` is called with the node of the data that was clicked. */
  constructor(svg, choose) {
    this.svg = svg;
    this.choose = choose;
    this.box = {x: 0, y: 0, w: 100, h: 100};
    this.listen();
  }

  show(graph) {
    this.graph = graph;
    const boxes = this.layout(graph);
    this.svg.replaceChildren(element("defs", {}, this.arrow()));
    for (const edge of boxes.edges) this.svg.append(this.drawEdge(edge));
    this.drawn = boxes.nodes.map((n) => this.drawNode(n));
    this.svg.append(...this.drawn.map((d) => d.group));
    this.whole = {x: -20, y: -20, w: boxes.width + 40, h: boxes.height + 40};
    const first = this.drawn[0];
    this.zoomTo(first && boxes.height > LEGIBLE ? {x: first.x - 400, y: -20, w: 800, h: 500} : this.whole);
  }

  arrow() {
    const head = element("path", {d: "M0 0 L6 3 L0 6 z", class: "arrow"});
    return element("marker", {id: "arrow", viewBox: "0 0 6 6", refX: 6, refY: 3, markerWidth: 6, markerHeight: 6, orient: "auto"}, head);
  }

  /** Boxes and edges with their places. Constants are part of the node that reads them. */
  layout(graph) {
    const g = new dagre.graphlib.Graph({multigraph: true});
    g.setGraph({rankdir: "TB", nodesep: 18, edgesep: 8, ranksep: 34, ranker: graph.nodes.length > FAST_FROM ? "longest-path" : "network-simplex"});
    const from = new Map();
    const add = (key, item) => {
      const label = item.node ? item.node.op : item.value.name;
      g.setNode(key, {...item, width: Math.max(70, Math.min(label.length, 28) * 7.4 + 18), height: 36});
    };
    for (const id of graph.inputs) {
      from.set(id, `in${id}`);
      add(`in${id}`, {value: graph.values[id], port: "input"});
    }
    graph.nodes.forEach((node, i) => {
      add(`n${i}`, {node});
      for (const id of node.outputs) from.set(id, `n${i}`);
    });
    const connect = (id, to, slot) => {
      if (id < 0 || !from.has(id)) return;  // left out
      const value = graph.values[id];
      g.setEdge(from.get(id), to, {value, width: Math.min(shapeOf(value.type).length, 24) * 5, height: 10, labelpos: "c"}, `${id}.${slot}`);
    };
    graph.nodes.forEach((node, i) => node.inputs.forEach((id, slot) => connect(id, `n${i}`, slot)));
    for (const id of graph.outputs) {
      add(`out${id}`, {value: graph.values[id], port: "output"});
      connect(id, `out${id}`, 0);
    }
    dagre.layout(g);
    const {width, height} = g.graph();
    return {nodes: g.nodes().map((k) => g.node(k)), edges: g.edges().map((e) => g.edge(e)), width: width || 1, height: height || 1};
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
    const chosen = () => this.select(drawn);
    group.addEventListener("click", chosen);
    group.addEventListener("keydown", (e) => e.key === "Enter" && chosen());
    return drawn;
  }

  drawEdge({points, value, x, y}) {
    const [first, ...rest] = points;
    const path = `M${first.x} ${first.y}` + rest.map((p) => `L${p.x} ${p.y}`).join("");
    const group = element("g", {class: "edge"}, element("path", {d: path}), element("text", {x, y: y + 3}, shorten(shapeOf(value.type), 24)));
    group.append(element("title", {}, `${value.name}\n${value.type}`));
    return group;
  }

  select(drawn) {
    for (const d of this.drawn) d.group.classList.toggle("chosen", d === drawn);
    this.choose(drawn.node, drawn.value);
  }

  /** Marks what contains the text; answers how many. */
  search(text) {
    this.hits = this.drawn.filter((d) => matches(text, this.graph, d));
    for (const d of this.drawn) d.group.classList.toggle("hit", this.hits.includes(d));
    this.nextHit = 0;
    return this.hits.length;
  }

  /** False where there is none. */
  goToNextHit() {
    if (!this.hits || !this.hits.length) return false;
    const d = this.hits[this.nextHit++ % this.hits.length];
    this.zoomTo({x: d.x - 300, y: d.y - 200, w: 600, h: 400});
    this.select(d);
    return true;
  }

  /** Colours nodes by `measure(node)`, a number or undefined, or by their operators where it is null. */
  paint(measure) {
    const numbers = this.drawn.map((d) => (d.node && measure ? measure(d.node) : undefined));
    const most = Math.max(...numbers.filter((n) => n !== undefined), 0);
    this.drawn.forEach((d, i) => {
      if (!d.node) return;
      const colour = measure ? heatColour(most && numbers[i] ? Math.sqrt(numbers[i] / most) : 0) : `hsl(${hue(d.node.op)} 65% 82%)`;
      d.group.querySelector("rect").style.fill = colour;
    });
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
