// One run over time: a bar for each node that ran. The wheel zooms, dragging moves.
class Timeline {
  /** `events`: [{name, op, start, duration}] in microseconds from the start of the run, in order. */
  constructor(section, events, choose) {
    this.events = events;
    this.end = Math.max(...events.map((e) => e.start + e.duration));
    this.from = 0;
    this.to = this.end;
    this.svg = element("svg", {height: 76, role: "img", "aria-label": "The nodes of one run over time"});
    section.append(this.svg);
    this.bars = events.map((e) => {
      const bar = element("rect", {y: 18, height: 38, class: "bar"}, element("title", {}, `${e.name} (${e.op})\n${e.duration.toFixed(1)} µs`));
      bar.style.fill = `hsl(${hue(e.op)} 55% 60%)`;
      bar.addEventListener("click", () => choose(e.name));
      return bar;
    });
    this.marks = element("g");
    this.svg.append(...this.bars, this.marks);
    this.draw();
    this.listen();
  }

  draw() {
    const width = this.svg.clientWidth || 1000, scale = width / (this.to - this.from);
    this.svg.setAttribute("viewBox", `0 0 ${width} 76`);
    this.events.forEach((e, i) => {
      this.bars[i].setAttribute("x", (e.start - this.from) * scale);
      this.bars[i].setAttribute("width", Math.max(e.duration * scale, 0.2));
    });
    const step = 10 ** Math.floor(Math.log10((this.to - this.from) / 4));
    this.marks.replaceChildren();
    for (let t = Math.ceil(this.from / step) * step; t <= this.to; t += step)
      this.marks.append(element("text", {x: (t - this.from) * scale, y: 12}, `${+t.toPrecision(6)} µs`));
  }

  listen() {
    this.svg.addEventListener("wheel", (e) => {
      e.preventDefault();
      const at = this.from + (e.offsetX / this.svg.clientWidth) * (this.to - this.from), factor = Math.exp(Math.sign(e.deltaY) * 0.2);
      this.from = Math.max(0, at - (at - this.from) * factor);
      this.to = Math.min(this.end, at + (this.to - at) * factor);
      this.draw();
    }, {passive: false});
    let last = null;
    this.svg.addEventListener("pointerdown", (e) => { last = e.clientX; });
    window.addEventListener("pointerup", () => { last = null; });
    this.svg.addEventListener("pointermove", (e) => {
      if (last === null) return;
      const by = ((last - e.clientX) * (this.to - this.from)) / this.svg.clientWidth, span = this.to - this.from;
      this.from = Math.min(Math.max(0, this.from + by), this.end - span);
      this.to = this.from + span;
      last = e.clientX;
      this.draw();
    });
  }
}
