// Places the boxes and edges of a graph: boxes are nodes, inputs and outputs; constants are part of the node that reads
// them.
"use strict";

// A layout of the whole graph looks better, but its time grows with the square of the nodes: 1100 nodes of GPT-2 took
// 12 s. Larger graphs are laid out in bands, one below the other; a value that is read far away is named beside its
// reader instead of drawn as an edge.
const WHOLE_TO = 300; // nodes up to which a graph is laid out as a whole
const BAND = 100; // approximate number of boxes in a band
const FAR = 12; // an edge over at least this many layers is not drawn

const LETTERS = 12; // sizes of fonts: of the titles of boxes
const SMALL = 9; // below titles, and at edges
const NOTE = 10; // of notes
const PADDING = 8; // between the text and the border of a box
const WIDEST = 224,
  WIDEST_NAME = 170,
  WIDEST_EDGE = 130; // texts that are longer get an ellipsis

/** "batch×3×224" of float32[batch,3,224]; a type that is no tensor's stays. */
function shapeOf(type) {
  const shape = /^\w+\[(.*)\]$/.exec(type);
  return shape ? shape[1].split(",").join("×") || "scalar" : type;
}

function edgeLabel(value) {
  return shorten(shapeOf(value.type), WIDEST_EDGE, SMALL);
}

/**
 * The texts of a box and its size. A node's title is its operator, with its name below; a port's its name, with its
 * type.
 */
function boxOf({node, value, port}) {
  const title = node ? node.op : value.name,
    below = node ? node.name : `${port} ${value.type}`;
  const lines = [
    Math.min(textWidth(title, LETTERS), WIDEST),
    Math.min(textWidth(below, SMALL), node ? WIDEST_NAME : WIDEST),
  ];
  return {title, below, width: Math.ceil(Math.max(70, Math.max(...lines) + 2 * PADDING + 1)), height: 36};
}

/**
 * `boxes` by their keys, {key, node} or {key, value, port}; `edges` between them: {from, to, id, value}, the id that of
 * the value.
 */
function partsOf(graph) {
  const boxes = new Map(),
    edges = [],
    from = new Map();
  const add = (key, item) => boxes.set(key, {key, ...item, ...boxOf(item)});
  for (const id of graph.inputs) {
    from.set(id, `in${id}`);
    add(`in${id}`, {value: graph.values[id], port: "input"});
  }
  graph.nodes.forEach((node, i) => {
    add(`n${i}`, {node});
    for (const id of node.outputs) from.set(id, `n${i}`);
  });
  const connect = (id, to) =>
    id >= 0 && from.has(id) && edges.push({from: from.get(id), to, id, value: graph.values[id]}); // otherwise omitted
  graph.nodes.forEach((node, i) => node.inputs.forEach((id) => connect(id, `n${i}`)));
  for (const id of graph.outputs) {
    add(`out${id}`, {value: graph.values[id], port: "output"});
    connect(id, `out${id}`);
  }
  return {boxes, edges};
}

/** With places: {nodes, edges, left, top, width, height}. The ranker "none" leaves boxes in their `rank`. */
function placed(boxes, edges, ranker) {
  const g = new dagre.graphlib.Graph({multigraph: true});
  g.setGraph({rankdir: "TB", nodesep: 18, edgesep: 8, ranksep: 34, ranker});
  for (const box of boxes) g.setNode(box.key, {...box});
  edges.forEach((edge, i) => {
    const width = edge.value ? Math.ceil(textWidth(edgeLabel(edge.value), SMALL)) : 0;
    g.setEdge(edge.from, edge.to, {...edge, width, height: width && 10, labelpos: "c"}, `${i}`);
  });
  dagre.layout(g);
  const {width, height} = g.graph();
  return {
    nodes: g.nodes().map((k) => g.node(k)),
    edges: g.edges().map((e) => g.edge(e)),
    left: 0,
    top: 0,
    width: width || 1,
    height: height || 1,
  };
}

/**
 * Sets `layer` of the boxes: below everything that they read, and just above their first reader if that is far away and
 * does not make the edges longer in total.
 */
function setLayers({boxes, edges}) {
  const reads = new Map([...boxes.keys()].map((key) => [key, []])),
    readers = new Map([...boxes.keys()].map((key) => [key, []]));
  for (const {from, to} of edges) {
    reads.get(to).push(boxes.get(from));
    readers.get(from).push(boxes.get(to));
  }
  for (const box of boxes.values()) {
    // A box that has no layer yet: the model is not in order.
    box.layer = Math.max(0, ...reads.get(box.key).map((b) => (b.layer ?? -1) + 1));
  }
  for (const box of [...boxes.values()].reverse()) {
    const after = readers.get(box.key),
      first = Math.min(...after.map((b) => b.layer));
    if (after.length && (after.length >= reads.get(box.key).length || first - box.layer >= FAR))
      box.layer = Math.max(box.layer, first - 1);
  }
}

/** The last layers of the bands: where a band would be long enough and the fewest edges go across. */
function bandEnds(boxes, edges) {
  const layers = 1 + Math.max(...boxes.map((b) => b.layer));
  const count = new Array(layers).fill(0),
    across = new Array(layers).fill(0),
    ends = [];
  for (const {layer} of boxes) ++count[layer];
  for (const {above, below} of edges) for (let layer = above; layer < below; ++layer) ++across[layer];
  let size = 0,
    best = -1,
    sizeThen = 0;
  for (let layer = 0; layer < layers - 1; ++layer) {
    if (best >= 0 && size + count[layer] > 1.5 * BAND) {
      ends.push(best);
      size -= sizeThen;
      best = -1;
    }
    size += count[layer];
    if (size >= BAND / 2 && (best < 0 || across[layer] <= across[best])) [best, sizeThen] = [layer, size];
  }
  return [...(best >= 0 && best < layers - 1 ? [...ends, best] : ends), layers - 1];
}

/**
 * A graph in bands. Values that go from one to the next pass gates: boxes of no size at the end of the one and the
 * begin of the other.
 */
class Bands {
  constructor(graph) {
    const parts = partsOf(graph);
    setLayers(parts);
    this.boxes = [...parts.boxes.values()];
    const all = parts.edges.map((e) => ({
      ...e,
      above: parts.boxes.get(e.from).layer,
      below: parts.boxes.get(e.to).layer,
    }));
    this.near = all.filter((e) => e.above < e.below && e.below - e.above < FAR);
    this.far = all.filter((e) => !(e.above < e.below && e.below - e.above < FAR));
    this.ends = bandEnds(this.boxes, this.near);
  }

  *layOut() {
    const bandAt = []; // of a layer
    this.ends.forEach((end, band) => {
      while (bandAt.length <= end) bandAt.push(band);
    });
    const lists = this.ends.map(() => ({boxes: new Map(), edges: []}));
    for (const box of this.boxes) this.add(lists, bandAt[box.layer], box, box.layer);
    for (const e of this.near) this.connect(lists, bandAt[e.above], bandAt[e.below], e);
    for (const e of this.far) {
      const note = {
        key: `far${e.id}.${e.to}`,
        value: e.value,
        far: e.from,
        height: 20,
        width: Math.min(textWidth(e.value.name, NOTE), WIDEST_NAME) + 17,
      };
      this.add(lists, bandAt[e.below], note, e.below - 1);
      lists[bandAt[e.below]].edges.push({...e, from: note.key});
    }
    let at = {x: 0, y: 0, gates: new Map()};
    for (const {boxes, edges} of lists) {
      const piece = placed(boxes.values(), edges, "none");
      at = this.put(piece, at);
      yield piece;
    }
  }

  /** Labels of edges take a rank of their own, so there are two to a layer. */
  add(lists, band, box, layer) {
    lists[band].boxes.set(box.key, {...box, rank: 2 * layer});
  }

  connect(lists, first, last, edge) {
    let from = edge.from;
    for (let band = first; band <= last; ++band) {
      if (band < last) this.addGate(lists, band, `down${edge.id}`, edge.id, this.ends[band] + 1, from);
      if (band === last) lists[band].edges.push({...edge, from});
      else this.addGate(lists, band + 1, (from = `up${edge.id}`), edge.id, this.ends[band]);
    }
  }

  addGate(lists, band, key, gate, layer, from) {
    if (lists[band].boxes.has(key)) return;
    this.add(lists, band, {key, gate, width: 1, height: 1}, layer);
    if (from) lists[band].edges.push({from, to: key});
  }

  /** Moves a piece below the one that ends at `at`, with gates above gates; returns the piece's end. */
  put(piece, at) {
    const entries = piece.nodes.filter((n) => n.key.startsWith("up")),
      exits = piece.nodes.filter((n) => n.key.startsWith("down"));
    const shifts = entries.map((n) => at.gates.get(n.gate).x - n.x).sort((a, b) => a - b);
    const dx = shifts.length ? shifts[shifts.length >> 1] : at.x,
      dy = at.y;
    for (const p of [...piece.nodes, ...piece.edges, ...piece.edges.flatMap((e) => e.points)])
      [p.x, p.y] = [p.x + dx, p.y + dy];
    for (const n of entries) piece.edges.push({points: [at.gates.get(n.gate), {x: n.x, y: n.y}]});
    Object.assign(piece, {nodes: piece.nodes.filter((n) => n.gate === undefined), left: dx, top: dy});
    return {x: dx, y: dy + piece.height + 30, gates: new Map(exits.map((n) => [n.gate, {x: n.x, y: n.y}]))};
  }
}

/** Pieces of the drawing, top to bottom. */
function* layOut(graph) {
  if (graph.nodes.length > WHOLE_TO) {
    yield* new Bands(graph).layOut();
  } else {
    const {boxes, edges} = partsOf(graph);
    yield placed(boxes.values(), edges, "network-simplex");
  }
}
