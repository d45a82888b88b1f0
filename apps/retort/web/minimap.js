// A small picture of the whole graph, with a frame around the part that is shown; a click or a drag goes there.
const MAP = {width: 150, height: 210, least: 44, share: 0.28}; // pixels; share: the most of each side of the view

/** The context of an empty canvas of that size; a pixel of the page has `sharpness` of its pixels. */
function penOf(canvas, width, height) {
  const pen = canvas.getContext("2d");
  pen.sharpness = window.devicePixelRatio || 1;
  Object.assign(canvas, {width: width * pen.sharpness, height: height * pen.sharpness});
  Object.assign(canvas.style, {width: `${width}px`, height: `${height}px`});
  return pen;
}

/**
 * A dot for each box, at least of the size `least`, for hits `hit`. Its colour is stronger than that of a box, which
 * must leave its text legible.
 */
function drawBoxes(pen, view, least, hit) {
  const [line, found, hot, cold] = ["--line", "--hit", "--hot", "--cold"].map(styleOf);
  const colour = (d) => {
    if (view.hits.has(d)) return found;
    if (!d.node) return line;
    if (!view.measure) return `hsl(${view.palette.hue(d.node.op)} 55% 55%)`;
    return `color-mix(in srgb, ${hot} ${Math.round(100 * view.share(d.node))}%, ${cold})`;
  };
  for (const d of view.drawn) {
    const size = view.hits.has(d) ? hit : least,
      w = Math.max(d.width, size.x),
      h = Math.max(d.height, size.y);
    pen.fillStyle = colour(d);
    pen.fillRect(d.x - w / 2, d.y - h / 2, w, h);
  }
}

class Minimap {
  /**
   * `view`: the GraphView, which calls draw() when boxes or colours changed, and frame() when another part is shown.
   */
  constructor(view, place) {
    this.view = view;
    this.canvas = html("canvas");
    this.window = html("div", {class: "window"});
    this.place = place;
    place.append(this.canvas, this.window);
    let dragged = false;
    const go = (e) => {
      const area = this.canvas.getBoundingClientRect(),
        {whole, box} = this.view;
      const x = whole.x + ((e.clientX - area.left) / area.width) * whole.w,
        y = whole.y + ((e.clientY - area.top) / area.height) * whole.h;
      this.view.moveTo(x - box.w / 2, y - box.h / 2);
    };
    place.addEventListener("pointerdown", (e) => {
      dragged = true;
      place.setPointerCapture(e.pointerId);
      go(e);
    });
    place.addEventListener("pointermove", (e) => dragged && go(e));
    for (const end of ["pointerup", "pointercancel"])
      place.addEventListener(end, () => {
        dragged = false;
      });
  }

  /** Soon, and once for many changes. */
  draw() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = null;
      this.drawNow();
    });
  }

  /** A graph much longer than wide is squeezed: otherwise, one side would be too narrow to see. */
  drawNow() {
    const {whole} = this.view,
      {clientWidth, clientHeight} = this.place.parentElement,
      room = {w: Math.min(MAP.width, MAP.share * clientWidth), h: Math.min(MAP.height, MAP.share * clientHeight)},
      scale = Math.min(room.w / whole.w, room.h / whole.h);
    const side = (length, most) => Math.round(Math.min(most, Math.max(MAP.least, length * scale)));
    const width = side(whole.w, room.w),
      height = side(whole.h, room.h);
    const pen = penOf(this.canvas, width, height),
      x = (width * pen.sharpness) / whole.w,
      y = (height * pen.sharpness) / whole.h;
    pen.setTransform(x, 0, 0, y, -whole.x * x, -whole.y * y);
    drawBoxes(pen, this.view, {x: 1.5 / x, y: 1.5 / y}, {x: 5 / x, y: 5 / y});
    this.frame();
  }

  /** The frame around what is shown; nothing where all is shown, as in a graph without nodes, which has no size. */
  frame() {
    const {whole, box} = this.view;
    const share = (from, to) => Math.min(1, Math.max(0, from / to));
    const left = share(box.x - whole.x, whole.w),
      right = share(box.x + box.w - whole.x, whole.w);
    const top = share(box.y - whole.y, whole.h),
      bottom = share(box.y + box.h - whole.y, whole.h);
    this.place.hidden = !((right - left) * (bottom - top) <= 0.99);
    const percent = (a) => `${100 * a}%`;
    Object.assign(this.window.style, {
      left: percent(left),
      top: percent(top),
      width: percent(right - left),
      height: percent(bottom - top),
    });
  }
}
