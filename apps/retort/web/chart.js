// Charts of bars: a row for each name, with a bar for each series. They are drawn anew for each width of the window.
const SERIES = 4; // number of colours
const CHART = {bar: 11, gap: 8, top: 20, right: 46, name: 12, figure: 10, narrow: 520, most: 0.42, tick: 56};

/** A scenario's name that fits: of "long_model_name/b64" the end after the last slash stays. */
function shortName(name, width) {
  const at = name.lastIndexOf("/"),
    end = at > 0 ? name.slice(at) : "";
  return shorten(name, width, CHART.name, textWidth(end, CHART.name) < width / 2 ? end : "");
}

/**
 * Where the parts of a chart are for a width: names are beside the bars, or above them where that leaves too little.
 */
function chartPlaces(plot, rows, width) {
  const above = width < CHART.narrow,
    widest = Math.max(...rows.map(([name]) => textWidth(name, CHART.name)));
  const left = above ? 1 : Math.min(Math.ceil(widest) + 10, Math.floor(width * CHART.most));
  const title = above ? CHART.name + 5 : 0,
    step = title + plot.series.length * CHART.bar + CHART.gap;
  const high =
    Math.max(plot.one === null ? 0 : 1, ...rows.flatMap(([, values]) => values.filter((v) => v !== undefined))) || 1;
  const x = (value) => left + (value / high) * (width - left - CHART.right);
  return {above, left, title, step, high, x, width, bottom: CHART.top + rows.length * step};
}

function chartGrid(root, plot, {left, high, x, width, bottom}) {
  const step = tickStep(high, (width - left - CHART.right) / CHART.tick);
  for (let n = 0; n * step <= high * (1 + 1e-9); ++n) {
    const text = String(+(n * step).toPrecision(6)),
      half = textWidth(text, CHART.figure) / 2;
    root.append(
      element(
        "g",
        {class: "tick"},
        element("line", {x1: x(n * step), x2: x(n * step), y1: CHART.top - 4, y2: bottom}),
        element("text", {x: Math.max(x(n * step), half), y: CHART.top - 8, "text-anchor": "middle"}, text),
      ),
    );
  }
}

function chartRow(plot, [name, values], y, {above, left, title, step, x, width}) {
  const room = above ? width - 2 : left - 8;
  const label = {
    x: above ? 1 : left - 8,
    y: above ? y + CHART.name : y + (step - CHART.gap) / 2 + 4,
    "text-anchor": above ? "start" : "end",
  };
  const group = element(
    "g",
    {class: "row"},
    element("text", {class: "name", ...label}, shortName(name, room)),
    element("title", {}, name),
  );
  values.forEach((value, i) => {
    if (value === undefined) return;
    const top = y + title + i * CHART.bar,
      look = plot.one !== null && value < 1 ? "figure worse" : "figure";
    group.append(
      element(
        "rect",
        {class: `value s${i % SERIES}`, x: left, y: top, width: x(value) - left, height: CHART.bar - 2},
        element("title", {}, `${name}, ${plot.series[i]}: ${plot.figure(value)}`),
      ),
      element("text", {class: look, x: x(value) + 4, y: top + CHART.bar - 3}, plot.figure(value)),
    );
  });
  return group;
}

const NARROW = matchMedia("(max-width: 40rem)").matches; // the window of a phone
const OPENED = new Map(); // of each part that someone opened or closed: whether it is open
const ROWS = 12; // in narrow windows, the rest is shown on request

/** A part of the page that folds. In narrow windows, those that are not the first of their kind begin folded. */
function part(title, first, ...content) {
  const open = OPENED.get(title) ?? (first || !NARROW);
  const place = html("details", {class: "part"}, html("summary", {}, html("h2", {}, title)), ...content);
  place.open = open;
  place.addEventListener("toggle", () => OPENED.set(title, place.open));
  return place;
}

/**
 * plot: {title, words, series: names, values(scenario): a number or undefined for each series, figure(value): its text,
 * one: null where 1 has no meaning}; `first`: whether it is the first of the page. Nothing where no scenario has a value.
 */
function chartOf(plot, scenarios, first) {
  const rows = scenarios.map((s) => [s.name, plot.values(s)]).filter(([, v]) => v.some((x) => x !== undefined));
  if (!rows.length) return [];
  const keys = plot.series.map((name, i) =>
    html("span", {class: "key"}, html("span", {class: `swatch s${i % SERIES}`}), name),
  );
  const place = html("div", {class: "chart"}),
    all = html("button", {type: "button"}, `all ${rows.length} scenarios`);
  all.hidden = !NARROW || rows.length <= ROWS;
  const draw = () => {
    if (place.clientWidth === 0) return;
    const drawn = all.hidden ? rows : rows.slice(0, ROWS);
    const places = chartPlaces(plot, drawn, place.clientWidth);
    const root = element("svg", {
      viewBox: `0 0 ${places.width} ${places.bottom + 2}`,
      width: places.width,
      height: places.bottom + 2,
      role: "img",
      "aria-label": `${plot.title}. ${plot.words}`,
    });
    chartGrid(root, plot, places);
    if (plot.one !== null)
      root.append(
        element("line", {class: "one", x1: places.x(1), x2: places.x(1), y1: CHART.top - 4, y2: places.bottom}),
      );
    drawn.forEach((row, r) => root.append(chartRow(plot, row, CHART.top + r * places.step, places)));
    place.replaceChildren(root);
  };
  drawToWidth(place, draw);
  all.addEventListener("click", () => {
    all.hidden = true;
    draw();
  });
  const about = [html("p", {class: "words"}, plot.words), ...(keys.length > 1 ? [html("p", {}, ...keys)] : [])];
  return [part(plot.title, first, html("figure", {}, ...about, place, all))];
}
