// What the colours of the boxes mean: a chip for each operator, or a scale from cold to hot.
const CHIPS = 14; // operators that are shown at once

/** Hues of operators: far apart for those that a model has most. */
class Palette {
  constructor(graphs) {
    const counts = new Map();
    for (const {graph} of graphs) for (const {op} of graph.nodes) counts.set(op, (counts.get(op) || 0) + 1);
    const ops = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([op]) => op);
    this.hues = new Map(ops.map((op, i) => [op, Math.round(210 + 137.508 * i) % 360])); // golden angle: no two are near
  }

  /** That of the first operator where a step computes several, as in Conv+Relu. */
  hue(op) {
    return this.hues.get(op) ?? this.hues.get(op.split("+")[0]) ?? 0;
  }

  swatch(op) {
    return html("span", {class: "swatch operator", style: `--hue: ${this.hue(op)}`});
  }
}

/** A chip for each operator of a graph, most frequent first; `chosen(op)` is called for one that is clicked. */
function operatorChips(graph, palette, chosen) {
  const counts = new Map();
  for (const {op} of graph.nodes) counts.set(op, (counts.get(op) || 0) + 1);
  const chips = [...counts]
    .sort((a, b) => b[1] - a[1])
    .map(([op, count]) => {
      const chip = html(
        "button",
        {type: "button", class: "chip", title: `search for ${op}`},
        palette.swatch(op),
        html("span", {class: "name"}, op),
        html("small", {}, `${count}`),
      );
      chip.addEventListener("click", () => chosen(op));
      return chip;
    });
  if (!chips.length) return [html("span", {}, "This graph has no nodes.")];
  if (chips.length <= CHIPS + 1) return chips;
  const more = html("button", {type: "button", class: "chip"}, `${chips.length - CHIPS} more`);
  more.addEventListener("click", () => more.replaceWith(...chips.slice(CHIPS)));
  return [...chips.slice(0, CHIPS), more];
}

/** `most`: the text for the hottest. */
function heatScale(most) {
  return [
    html("span", {}, "0"),
    html("span", {class: "heat scale", title: "The colour follows the square root of the figure"}),
    html("span", {}, most),
  ];
}
