// Elements of all pages, with their attributes and what is inside.
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

