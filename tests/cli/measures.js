// What pages_test.py does in a page. The measures answer lists of texts, which are empty where nothing is wrong.

/** Shows what is folded. */
function unfold() {
  for (const part of document.querySelectorAll("details")) part.open = true;
  for (const button of document.querySelectorAll(".all, figure button")) button.click();
}

/** Until everything that waits for the next frame is drawn. */
function settled() {
  const frame = () => new Promise(requestAnimationFrame);
  return frame().then(frame).then(frame);
}

/** What is wider than the window. The insides of #graph and of the timeline are windows into larger drawings. */
function wide() {
  const width = document.documentElement.clientWidth;
  const found = document.scrollingElement.scrollWidth > width ? ["the page"] : [];
  for (const e of document.body.querySelectorAll("*")) {
    const {left, right} = e.getBoundingClientRect();
    if (e.closest("script, title, defs") || e.parentElement.closest("#graph, #timeline svg") || left === right)
      continue;
    if (left < -0.5 || right > width + 0.5)
      found.push(`${e.tagName} ${e.className} "${e.textContent.slice(0, 40)}" ${left} to ${right}`);
  }
  return found;
}

/** Texts that leave their box. */
function outside() {
  return [...document.querySelectorAll("#graph .node")].flatMap((group) => {
    const width = group.querySelector("rect").width.baseVal.value;
    const texts = [...group.querySelectorAll("text")].filter((t) => t.getComputedTextLength() > width - 6);
    return texts.map((t) => t.textContent);
  });
}

/** Pairs of texts of a chart or a timeline that overlap, and texts that are too small to read. */
function colliding() {
  const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3;
  return [...document.querySelectorAll(".chart svg, #timeline svg")].flatMap((svg) => {
    const texts = [...svg.querySelectorAll("text")].map((t) => ({text: t.textContent, r: t.getBoundingClientRect()}));
    const pairs = texts.flatMap((a, i) => texts.slice(i + 1).map((b) => [a, b])).filter(([a, b]) => meet(a.r, b.r));
    const small = texts.filter(({r}) => r.height < 10);
    return [...pairs.map(([a, b]) => `${a.text} and ${b.text}`), ...small.map(({text}) => `${text} is too small`)];
  });
}

const PIXEL = document.createElement("canvas").getContext("2d", {willReadFrequently: true});

/** The luminance (WCAG 2) of colours that lie over each other. */
function luminance(colours) {
  for (const colour of colours) {
    PIXEL.fillStyle = colour;
    PIXEL.fillRect(0, 0, 1, 1);
  }
  const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const [red, green, blue] = [...PIXEL.getImageData(0, 0, 1, 1).data].map((c) => linear(c / 255));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** The colours behind an element, the lowest first. */
function behind(e) {
  const box = e.matches(".node text") && e.parentElement.querySelector("rect");
  if (box) return [getComputedStyle(box).fill];
  return [...(e.parentElement ? behind(e.parentElement) : []), getComputedStyle(e).backgroundColor];
}

/** Texts with less contrast to what is behind them than 4.5, which WCAG 2 asks for. */
function faint() {
  const found = new Set();
  for (const e of document.body.querySelectorAll("h1, h2, p, dt, dd, td, label, button, summary, li, svg text")) {
    if (!e.textContent.trim() || e.getBoundingClientRect().width === 0) continue;
    const back = behind(e),
      look = getComputedStyle(e);
    const lights = [luminance([...back, e.matches("svg text") ? look.fill : look.color]), luminance(back)];
    const contrast = (Math.max(...lights) + 0.05) / (Math.min(...lights) + 0.05);
    if (contrast < 4.5) found.add(`${e.tagName} "${e.textContent.slice(0, 30)}" ${contrast.toFixed(2)}`);
  }
  return [...found];
}
