// A small picture of the whole graph, with a frame around the part that is shown; a click or a drag goes there.
const MAP = {width: 150, height: 210, least: 44}; // pixels

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
    const {whole, drawn} = this.view,
      scale = Math.min(MAP.width / whole.w, MAP.height / whole.h);
    const side = (length, most) => Math.round(Math.min(most, Math.max(MAP.least, length * scale)));
    const width = side(whole.w, MAP.width),
      height = side(whole.h, MAP.height),
      dots = window.devicePixelRatio || 1;
    Object.assign(this.canvas, {width: width * dots, height: height * dots});
    Object.assign(this.canvas.style, {width: `${width}px`, height: `${height}px`});
    const pen = this.canvas.getContext("2d"),
      x = (width * dots) / whole.w,
      y = (height * dots) / whole.h;
    for (const d of drawn) {
      const hit = d.group.classList.contains("hit");
      pen.fillStyle = this.colour(d, hit);
      const w = Math.max(d.width * x, hit ? 5 : 1.5),
        h = Math.max(d.height * y, hit ? 5 : 1.5);
      pen.fillRect((d.x - whole.x) * x - w / 2, (d.y - whole.y) * y - h / 2, w, h);
    }
    this.frame();
  }

  /**
   * Of a dot: stronger than that of a box, which must leave its text legible. The style of a box is asked for only where
   * it tells more than the operator, because that takes long for all boxes of a large graph.
   */
  colour({node, group}, hit) {
    const look = () => getComputedStyle(group.querySelector("rect"));
    if (hit || !node) return look().stroke;
    return this.view.measure ? look().fill : `hsl(${this.view.palette.hue(node.op)} 55% 55%)`;
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
