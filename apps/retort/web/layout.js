// Places the boxes and edges of a graph: boxes are nodes, inputs and outputs; constants are part of the node that reads
// them.
"use strict";

// The layout of dagre looks better, but its time grows with the square of the nodes: 1100 nodes of GPT-2 took 12 s. In a
// larger graph, which layered.js lays out, a value that is read far away is named beside its reader instead of drawn as
// an edge.
const WHOLE_TO = 300; // nodes up to which dagre lays out a graph
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
    box.layer = Math.max(0, ...reads.get(box.key).map((b) => (b.layer ?? 0) + 1));
  }
  for (const box of [...boxes.values()].reverse()) {
    const after = readers.get(box.key),
      first = Math.min(...after.map((b) => b.layer));
    if (after.length && (after.length >= reads.get(box.key).length || first - box.layer >= FAR))
      box.layer = Math.max(box.layer, first - 1);
  }
}

/** {nodes, edges} with their places. */
function layOutSmall({boxes, edges}) {
  const g = new dagre.graphlib.Graph({multigraph: true});
  g.setGraph({rankdir: "TB", nodesep: 18, edgesep: 8, ranksep: 34, ranker: "network-simplex"});
  for (const box of boxes.values()) g.setNode(box.key, {...box});
  edges.forEach((edge, i) => {
    const width = Math.ceil(textWidth(edgeLabel(edge.value), SMALL));
    g.setEdge(edge.from, edge.to, {...edge, width, height: width && 10, labelpos: "c"}, `${i}`);
  });
  dagre.layout(g);
  return {nodes: g.nodes().map((k) => g.node(k)), edges: g.edges().map((e) => g.edge(e))};
}

/** A note in the place of an edge from far away. */
function noteOf({id, to, from, value, below}) {
  const width = Math.min(textWidth(value.name, NOTE), WIDEST_NAME) + 17;
  return {key: `far${id}.${to}`, value, far: from, height: 20, width, layer: below - 1};
}

function layOutLarge(parts) {
  setLayers(parts);
  const boxes = new Map(parts.boxes),
    edges = [];
  for (const e of parts.edges) {
    const edge = {...e, above: parts.boxes.get(e.from).layer, below: parts.boxes.get(e.to).layer};
    if (edge.above < edge.below && edge.below - edge.above < FAR) {
      edges.push(edge);
    } else {
      const note = noteOf(edge);
      boxes.set(note.key, note);
      edges.push({...edge, from: note.key, above: note.layer});
    }
  }
  return new Layered([...boxes.values()], edges).parts();
}

/** Boxes, notes and edges with their places. */
function layOut(graph) {
  const parts = partsOf(graph);
  return graph.nodes.length > WHOLE_TO ? layOutLarge(parts) : layOutSmall(parts);
}
