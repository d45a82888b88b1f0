// One run over time: a bar for each node that ran. The wheel zooms, dragging moves.
const LABEL = 90; // pixels for a time below the bars

/** Microseconds as a text, in milliseconds where `step`, the distance of two times, has some. */
const timeText = (time, step) => (step < 1000 ? `${+time.toPrecision(6)} µs` : `${+(time / 1000).toPrecision(6)} ms`);

class Timeline {
  /** `events`: [{name, op, start, duration}] in microseconds from the start of the run, in order. */
  constructor(place, events, palette, choose) {
    this.events = events;
    this.end = Math.max(...events.map((e) => e.start + e.duration));
    this.from = 0;
    this.to = this.end;
    this.svg = element("svg", {height: 64, role: "img", "aria-label": "The nodes of one run over time"});
    place.append(this.svg);
    this.bars = events.map((e) => {
      const about = element("title", {}, `${e.name} (${e.op})\n${e.duration.toFixed(1)} µs`);
      const bar = element(
        "rect",
        {y: 18, height: 40, class: "bar operator", style: `--hue: ${palette.hue(e.op)}`},
        about,
      );
      bar.addEventListener("click", () => choose(e.name));
      return bar;
    });
    this.marks = element("g");
    this.svg.append(...this.bars, this.marks);
    drawToWidth(this.svg, () => this.draw());
    this.listen();
  }

  draw() {
    const width = this.svg.clientWidth || 1000,
      scale = width / (this.to - this.from);
    this.svg.setAttribute("viewBox", `0 0 ${width} 64`);
    this.events.forEach((e, i) => {
      this.bars[i].setAttribute("x", (e.start - this.from) * scale);
      this.bars[i].setAttribute("width", Math.max(e.duration * scale, 0.2));
    });
    const step = tickStep(this.to - this.from, width / LABEL);
    this.marks.replaceChildren();
    for (let n = Math.ceil(this.from / step); n * step <= this.to; ++n) {
      const text = timeText(n * step, step),
        half = textWidth(text, 10) / 2 + 1,
        x = (n * step - this.from) * scale;
      if (x - half < width - 2 * half)
        this.marks.append(element("text", {x: Math.min(Math.max(x, half), width - half), y: 12}, text));
    }
  }

  /** Shows from there on, as much as before. */
  moveTo(from) {
    const span = this.to - this.from;
    this.from = Math.min(Math.max(0, from), this.end - span);
    this.to = this.from + span;
    this.draw();
  }

  listen() {
    this.svg.addEventListener(
      "wheel",
      (e) => {
        e.preventDefault();
        const at = this.from + (e.offsetX / this.svg.clientWidth) * (this.to - this.from),
          factor = Math.exp(Math.sign(e.deltaY) * 0.2);
        this.from = Math.max(0, at - (at - this.from) * factor);
        this.to = Math.min(this.end, at + (this.to - at) * factor);
        this.draw();
      },
      {passive: false},
    );
    let last = null;
    this.svg.addEventListener("pointerdown", (e) => {
      last = e.clientX;
    });
    for (const end of ["pointerup", "pointercancel"])
      window.addEventListener(end, () => {
        last = null;
      });
    this.svg.addEventListener("pointermove", (e) => {
      if (last === null) return;
      this.moveTo(this.from + ((last - e.clientX) * (this.to - this.from)) / this.svg.clientWidth);
      last = e.clientX;
    });
  }
}
