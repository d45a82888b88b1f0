// A layout whose time grows with the boxes and edges alone, for graphs that dagre would need minutes for. Boxes lie in
// rows by their layers; between two layers is a row for what edges carry. Values that pass a row have a place in it.
const BOX_GAP = 18, // between boxes of a row
  THREAD_GAP = 8, // beside an edge
  ROW_GAP = 17,
  ORDERINGS = 6, // sweeps over all rows
  PLACINGS = 9,
  SPINE = 60; // rows

/**
 * Sets `x` of items, which stay in their order: the weighted squares of the distances to `wanted` have the smallest sum
 * that the widths of the items allow. Neighbours that would overlap become a block with one mean (pool adjacent
 * violators).
 */
function spread(items, wanted, weights) {
  const blocks = [],
    shifts = [];
  items.forEach((item, i) => {
    const last = items[i - 1];
    const gap = last && (last.box && item.box ? BOX_GAP : THREAD_GAP);
    shifts.push(last ? shifts[i - 1] + (last.width + item.width) / 2 + gap : 0);
    let block = {mean: wanted[i] - shifts[i], weight: weights[i], end: i + 1};
    while (blocks.length && blocks[blocks.length - 1].mean >= block.mean) {
      const before = blocks.pop(),
        weight = before.weight + block.weight;
      block = {mean: (before.mean * before.weight + block.mean * block.weight) / weight, weight, end: block.end};
    }
    blocks.push(block);
  });
  let i = 0;
  for (const {mean, end} of blocks) for (; i < end; ++i) items[i].x = mean + shifts[i];
}

class Layered {
  /** `boxes` have their `layer`; each of the edges goes from a layer to a later one. */
  constructor(boxes, edges) {
    this.rows = [];
    const items = new Map(boxes.map((box) => [box.key, this.item(2 * box.layer, box.width, box.height, box)]));
    this.threads = edges.map((edge) => this.thread(edge, items.get(edge.from), items.get(edge.to)));
    this.rows = Array.from(this.rows, (row) => row || []);
    this.rows.forEach((row) => row.forEach((item, i) => Object.assign(item, {at: i})));
    for (let i = 0; i < ORDERINGS; ++i) this.sweep(i, (row, side) => this.order(row, side));
    this.rows.forEach((row) =>
      spread(
        row,
        row.map(() => 0),
        row.map(() => 1),
      ),
    );
    for (let i = 0; i < PLACINGS; ++i)
      this.sweep(i, (row, side) => this.place(row, i < PLACINGS - 3 ? [side] : ["above", "below"]));
    this.straighten();
    this.setHeights();
  }

  item(row, width, height, box) {
    const item = {width, height, box, above: [], below: [], x: 0};
    (this.rows[row] ??= []).push(item);
    return item;
  }

  /** The items of an edge from its first box to its last one; one in the middle has room for the label. */
  thread(edge, from, to) {
    const first = 2 * edge.above + 1,
      last = 2 * edge.below - 1,
      middle = first + 2 * ((last - first) >> 2);
    const items = [from];
    for (let row = first; row <= last; ++row) {
      const labelled = row === middle;
      const width = labelled ? textWidth(edgeLabel(edge.value), SMALL) : 1;
      items.push(this.item(row, width, labelled ? 10 : 0));
    }
    items.push(to);
    for (let i = 1; i < items.length; ++i) {
      items[i].above.push(items[i - 1]);
      items[i - 1].below.push(items[i]);
    }
    return {edge, items, label: items[1 + middle - first]};
  }

  /** Calls `visit` for the rows in order, downwards if the number is even, with the side that was visited before. */
  sweep(number, visit) {
    const down = number % 2 === 0,
      rows = down ? this.rows : [...this.rows].reverse();
    for (const row of rows) visit(row, down ? "above" : "below");
  }

  /** Sorts a row by the mean places of what its items are connected to; others keep theirs. */
  order(row, side) {
    for (const item of row) {
      const near = item[side];
      item.mean = near.length ? near.reduce((sum, n) => sum + n.at, 0) / near.length : null;
    }
    const means = row.filter((item) => item.mean !== null).sort((a, b) => a.mean - b.mean || a.at - b.at);
    let next = 0;
    row.forEach((item, i) => {
      if (item.mean !== null) row[i] = means[next++];
    });
    row.forEach((item, i) => {
      item.at = i;
    });
  }

  /** Near to what the items are connected to. Edges over several rows count more, so that they become straight. */
  place(row, sides) {
    const wanted = [],
      weights = [];
    for (const item of row) {
      let sum = 0,
        weight = 0;
      for (const near of sides.flatMap((side) => item[side])) {
        const w = item.box || near.box ? 1 : 16;
        sum += w * near.x;
        weight += w;
      }
      wanted.push(weight ? sum / weight : item.x);
      weights.push(weight || 0.1);
    }
    spread(row, wanted, weights);
  }

  /**
   * A box that two values lead to lies between them, and many such boxes below each other lean to one side, by thousands
   * of pixels in a long graph. So the mean place of the rows around each row becomes 0.
   */
  straighten() {
    const sums = [0],
      counts = [0];
    this.rows.forEach((row, i) => {
      sums.push(sums[i] + row.reduce((sum, item) => sum + item.x, 0));
      counts.push(counts[i] + row.length);
    });
    this.rows.forEach((row, i) => {
      const from = Math.max(0, i - SPINE),
        to = Math.min(this.rows.length, i + SPINE + 1);
      const mean = (sums[to] - sums[from]) / Math.max(1, counts[to] - counts[from]);
      for (const item of row) item.x -= mean;
    });
  }

  setHeights() {
    let y = 0;
    for (const row of this.rows) {
      const height = row.reduce((most, item) => Math.max(most, item.height), 0);
      for (const item of row) item.y = y + height / 2;
      y += height + ROW_GAP;
    }
  }

  /** {nodes, edges} with their places. */
  parts() {
    const nodes = this.rows.flatMap((row) => row.filter((item) => item.box));
    return {
      nodes: nodes.map(({box, x, y}) => ({...box, x, y})),
      edges: this.threads.map(({edge, items, label}) => ({...edge, x: label.x, y: label.y, points: pointsOf(items)})),
    };
  }
}

/** From the lower border of the first item to the upper one of the last, where they are nearest to the way between. */
function pointsOf(items) {
  const end = (box, next, y) => {
    const reach = Math.max(0, box.width / 2 - PADDING);
    return {x: Math.min(Math.max(next.x, box.x - reach), box.x + reach), y};
  };
  const first = items[0],
    last = items[items.length - 1];
  return [
    end(first, items[1], first.y + first.height / 2),
    ...items.slice(1, -1).map(({x, y}) => ({x, y})),
    end(last, items[items.length - 2], last.y - last.height / 2),
  ];
}
