// What all pages use: elements with their attributes and what is inside, texts that fit a width.
window.addEventListener("error", (e) => {
  document.body.dataset.error = e.message;
});
window.addEventListener("unhandledrejection", (e) => {
  document.body.dataset.error = e.reason;
});

function filled(e, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  e.append(...children);
  return e;
}

function html(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** Of a drawing (SVG). */
function element(name, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

const PEN = document.createElement("canvas").getContext("2d");

/** The width of a text in the page's font; `size` is that of the font in pixels. */
function textWidth(text, size) {
  PEN.font = `${size}px system-ui, sans-serif`;
  return PEN.measureText(text).width;
}

/** The longest begin of a text, in whole characters, that fits the width together with `end`. */
function beginThatFits(text, width, size, end) {
  const characters = [...text];
  let fits = 0,
    fitsNot = characters.length + 1;
  while (fitsNot - fits > 1) {
    const middle = (fits + fitsNot) >> 1;
    if (textWidth(characters.slice(0, middle).join("") + end, size) <= width) fits = middle;
    else fitsNot = middle;
  }
  return characters.slice(0, fits).join("");
}

/** A text that fits the width: if it is too long, its begin, an ellipsis, and `kept` where that is its end. */
function shorten(text, width, size, kept = "") {
  if (textWidth(text, size) <= width) return text;
  const end = `…${kept}`;
  return beginThatFits(text, width, size, end) + end;
}

/** A type that fits the width. float32[a,b,c] becomes float32[a,…]: the type of the elements stays. */
function shortenType(type, width, size) {
  if (textWidth(type, size) <= width) return type;
  const [elements, ...dims] = type.split(/\[|,/);
  if (!type.endsWith("]") || !dims.length) return shorten(type, width, size);
  while (dims.length > 1) {
    dims.pop();
    const text = `${elements}[${dims.join(",")},…]`;
    if (textWidth(text, size) <= width) return text;
  }
  return `${elements}[…]`;
}

/** The value of a property of the page, such as --line. */
function styleOf(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Steps of 1, 2 or 5 times a power of ten; at most `most` of them from 0 to `high`. */
function tickStep(high, most) {
  const raw = high / Math.max(1, most),
    power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw * (1 - 1e-9));
}

/** Calls `draw` now, or once the current script has put the element on the page, and whenever its width changed. */
function drawToWidth(e, draw) {
  let width = -1;
  const changed = () => {
    if (e.clientWidth === width) return;
    width = e.clientWidth;
    draw();
  };
  if (e.isConnected) changed();
  else queueMicrotask(changed);
  // In a frame of its own: what is drawn may have another height, and an observer must not change what it observes.
  new ResizeObserver(() => requestAnimationFrame(changed)).observe(e);
}
