// What a graph looks like: boxes and edges as elements while they are near the window, because a page with all elements
// of a large graph takes minutes and a gigabyte; from afar, a picture with a dot for each box.
const READABLE = 4; // text that is more times smaller than designed is not drawn
const ALL_TO = 3000; // boxes and edges of which all become elements, wherever the window is

function arrow() {
  const place = {viewBox: "0 0 6 6", refX: 6, refY: 3, markerWidth: 6, markerHeight: 6, orient: "auto"};
  return element("marker", {id: "arrow", ...place}, element("path", {d: "M0 0 L6 3 L0 6 z", class: "arrow"}));
}

/** {left, top, right, bottom} of something that was laid out. */
function boundsOf({points, x, y, width, height}) {
  if (!points) return {left: x - width / 2, top: y - height / 2, right: x + width / 2, bottom: y + height / 2};
  const xs = points.map((p) => p.x),
    ys = points.map((p) => p.y);
  return {left: Math.min(...xs), top: Math.min(...ys), right: Math.max(...xs), bottom: Math.max(...ys)};
}

class Scene {
  /** `view`: the GraphView, whose window, hits, choice and colours it shows. */
  constructor(view, dots) {
    this.view = view;
    this.dots = dots;
    this.things = [];
  }

  show(edges, notes, boxes) {
    const layers = [element("g"), element("g")];
    this.view.svg.replaceChildren(element("defs", {}, arrow()), ...layers);
    const thing = (data, layer, make) => ({data, layer, make, bounds: boundsOf(data), group: null});
    this.things = [
      ...edges.map((e) => thing(e, layers[0], () => this.edge(e))),
      ...notes.map((n) => thing(n, layers[1], () => this.note(n))),
      ...boxes.map((b) => thing(b, layers[1], () => this.box(b))),
    ];
    this.byData = new Map(this.things.map((t) => [t.data, t]));
    this.covered = null; // the part whose elements there are
  }

  get isLarge() {
    return this.things.length > ALL_TO;
  }

  /** Shows what the window of the view is at. */
  look() {
    const {box, svg} = this.view,
      distant = box.w > READABLE * (svg.clientWidth || box.w);
    svg.classList.toggle("distant", distant);
    const afar = distant && this.isLarge;
    this.dots.hidden = !afar;
    svg.classList.toggle("afar", afar);
    if (afar) this.drawDots(box);
    else this.cover(box);
  }

  /** Makes the elements that are near, and removes others. */
  cover(box) {
    const {covered} = this,
      inside = (c) => box.x >= c.left && box.y >= c.top && box.x + box.w <= c.right && box.y + box.h <= c.bottom;
    if (covered && inside(covered)) return;
    const all = {left: -Infinity, top: -Infinity, right: Infinity, bottom: Infinity};
    const c = this.isLarge
      ? {left: box.x - box.w, top: box.y - box.h, right: box.x + 2 * box.w, bottom: box.y + 2 * box.h}
      : all;
    for (const thing of this.things) {
      const {left, top, right, bottom} = thing.bounds,
        near = left <= c.right && right >= c.left && top <= c.bottom && bottom >= c.top;
      if (near && !thing.group) thing.layer.append((thing.group = thing.make()));
      if (near || !thing.group) continue;
      thing.group.remove();
      thing.group = null;
    }
    this.covered = c;
  }

  drawDots(box) {
    const {svg} = this.view,
      scale = svg.clientWidth / box.w,
      pen = penOf(this.dots, svg.clientWidth, svg.clientHeight),
      zoom = pen.sharpness * scale;
    pen.setTransform(zoom, 0, 0, zoom, -box.x * zoom, -box.y * zoom);
    pen.strokeStyle = styleOf("--line");
    pen.lineWidth = 0.6 / scale;
    pen.beginPath();
    const near = ({left, top, right, bottom}) =>
      left <= box.x + box.w && right >= box.x && top <= box.y + box.h && bottom >= box.y;
    for (const {data, bounds} of this.things) {
      if (data.points && near(bounds)) data.points.forEach((p, i) => (i ? pen.lineTo(p.x, p.y) : pen.moveTo(p.x, p.y)));
    }
    pen.stroke();
    const square = (size) => ({x: size / scale, y: size / scale});
    drawBoxes(pen, this.view, square(1.5), square(5));
  }

  box(place) {
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
    if (node) group.querySelector("rect").style.setProperty("--hue", this.view.palette.hue(node.op));
    this.onChoice(group, () => this.view.select(place));
    this.markGroup(group, place);
    return group;
  }

  /** In the place of an edge from far away. */
  note({value, far, x, y, width}) {
    const group = element(
      "g",
      {class: "note", transform: `translate(${x} ${y})`, tabindex: 0},
      element("text", {y: 4}, `↑ ${shorten(value.name, width - 16, NOTE)}`),
      element("title", {}, `${value.name}\n${value.type}\ngoes to the node that computes it`),
    );
    this.onChoice(group, () => this.view.goTo(this.view.boxes.get(far)));
    return group;
  }

  /** With the shape of its value. */
  edge({points, value, x, y}) {
    const [first, ...rest] = points;
    const path = `M${first.x} ${first.y}` + rest.map((p) => `L${p.x} ${p.y}`).join("");
    return element(
      "g",
      {class: "edge"},
      element("path", {d: path}),
      element("text", {x, y: y + 3}, edgeLabel(value)),
      element("title", {}, `${value.name}\n${value.type}`),
    );
  }

  onChoice(group, chosen) {
    group.addEventListener("click", chosen);
    group.addEventListener("keydown", (e) => e.key === "Enter" && chosen());
  }

  /** A box as search, choice and colours say now. */
  markGroup(group, place) {
    group.classList.toggle("hit", this.view.hits.has(place));
    group.classList.toggle("chosen", this.view.chosen === place);
    if (!place.node) return;
    const rect = group.querySelector("rect"),
      heat = this.view.measure;
    rect.setAttribute("class", heat ? "heat" : "operator");
    if (heat) rect.style.setProperty("--share", this.view.share(place.node).toFixed(4));
  }

  mark(place) {
    const thing = place && this.byData.get(place);
    if (thing && thing.group) this.markGroup(thing.group, place);
  }

  markAll() {
    for (const place of this.view.drawn) this.mark(place);
    this.look();
  }
}
