#!/usr/bin/env python3
"""A timeline of the device's work in bench/binding, without and with binding.

    binding_bench … | timeline.py PAGE [PICTURE]

PAGE: HTML in one file. PICTURE: the same as PNG, if Chromium is installed. The input is passed on to standard output.
"""
import html
import json
import os
import shutil
import subprocess
import sys

LANES = {"host to device": ("up", "copies to the device"), "device to host": ("down", "copies to the host"), "Relu": ("run", "runs")}
SHOWN_US, LEFT, WIDTH, LANE, GAP = 36_000, 150, 800, 16, 4
STYLE = """
:root { color-scheme: light dark; }
body { font: 14px/1.5 system-ui, sans-serif; max-width: 1000px; margin: 2em auto; padding: 0 1em; color: #1c2430; background: #fff; overflow-wrap: anywhere; }
h1 { font-size: 1.3em; } h2 { font-size: 1.05em; margin: 1.6em 0 .3em; }
table { border-collapse: collapse; margin: 1em 0; } td, th { padding: .25em .9em; border-bottom: 1px solid #d5dae1; text-align: right; }
td:first-child, td:nth-child(2), th:first-child, th:nth-child(2) { text-align: left; }
svg { width: 100%; height: auto; } svg text { font: 11px system-ui, sans-serif; fill: #4a5568; }
.up { fill: #d9822b; background: #d9822b; } .down { fill: #b33a3a; background: #b33a3a; } .run { fill: #2b6cb0; background: #2b6cb0; }
.lane { fill: #f1f4f8; } .tick { stroke: #d5dae1; } .key { display: inline-block; width: .8em; height: .8em; margin: 0 .3em 0 1em; border-radius: 2px; }
@media (max-width: 600px) {
  td, th { padding: .25em .3em; font-size: 11px; overflow-wrap: normal; } svg .name, svg .odd { display: none; } svg text { font-size: 26px; } }
@media (prefers-color-scheme: dark) {
  body { color: #e2e8f0; background: #14181f; } td, th { border-color: #313a46; }
  svg text { fill: #a0aec0; } .lane { fill: #1d232c; } .tick { stroke: #313a46; } }
"""


def x_of(us):
    return LEFT + WIDTH * us / SHOWN_US


def bars(events):
    """The shown events, each in its lane."""
    text = ""
    for what, begin, end in events:
        if what not in LANES or begin >= SHOWN_US:
            continue
        kind, name = LANES[what]
        row = list(LANES).index(what)
        left, right = x_of(begin), x_of(min(end, SHOWN_US))
        text += (f'<rect class="{kind}" x="{left:.1f}" y="{row * (LANE + GAP) + 2}" width="{max(right - left, 1):.1f}" height="{LANE - 4}">'
                 f"<title>{name}: {(end - begin) / 1000:.2f} ms</title></rect>")
    return text


def drawing(events):
    height = len(LANES) * (LANE + GAP)
    text = f'<svg viewBox="0 0 {LEFT + WIDTH + 20} {height + 30}" role="img">'
    for row, (_, name) in enumerate(LANES.values()):
        y = row * (LANE + GAP)
        text += f'<rect class="lane" x="{LEFT}" y="{y}" width="{WIDTH}" height="{LANE}"/><text class="name" x="{LEFT - 8}" y="{y + 12}" text-anchor="end">{name}</text>'
    for ms in range(0, SHOWN_US // 1000 + 1, 4):
        x = x_of(ms * 1000)
        odd = ' class="odd"' if ms % 8 else ""  # left out on phones
        text += f'<line class="tick" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{height}"/><text{odd} x="{x:.1f}" y="{height + 24}" text-anchor="middle">{ms} ms</text>'
    return text + bars(events) + "</svg>"


def row(engine, how, loop, part=""):
    return (f"<tr><td>{html.escape(engine)}</td><td>{how}</td><td>{loop['copies']}</td><td>{loop['bytes'] / 1e6:,.0f}</td>"
            f"<td>{loop['copy_ms']:.1f}</td><td>{loop['wall_ms']:.0f}</td><td>{part}</td></tr>")


def page(engines):
    rows, pictures = "", ""
    keys = "".join(f'<span class="key {kind}"></span>{name}' for kind, name in LANES.values())
    for engine, loops in engines.items():
        part = f"{100 * loops['with']['copy_ms'] / loops['without']['copy_ms']:.2f} %"
        rows += row(engine, "without binding", loops["without"]) + row(engine, "with binding", loops["with"], part)
        for how in ("without", "with"):
            pictures += f"<h2>{html.escape(engine)}, {how} binding: the first {SHOWN_US // 1000} ms</h2>{drawing(loops[how]['events'])}"
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>I/O binding: copies</title><style>{STYLE}</style></head><body>
<h1>I/O binding: copies between host and device</h1>
<p>A hundred runs of a model whose input and output have 25.2 MB each, on the loopback provider (<code>examples/providers/loopback</code>) whose copies
take as long as over PCIe: 12 GB/s and 10 µs. Without binding, each run copies its input to the device and its result back. With
binding, the input is copied once before the first run, and the result once after the last. Made by <code>make bench-binding</code>.</p>
<table><tr><th>library</th><th>how</th><th>copies</th><th>MB</th><th>copying, ms</th><th>in all, ms</th><th>share of the copying without binding</th></tr>{rows}</table>
<p>{keys}</p>
{pictures}
</body></html>
"""


def main():
    *told, last = sys.stdin.read().rstrip("\n").split("\n")
    print("\n".join(told))
    if not last.startswith("{"):
        sys.exit(last)
    path = os.path.abspath(sys.argv[1])
    with open(path, "w", encoding="utf-8") as f:
        f.write(page(json.loads(last)))
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if len(sys.argv) > 2 and browser:
        subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1000,980",
                        "--screenshot=" + os.path.abspath(sys.argv[2]), "file://" + path], check=True, capture_output=True, timeout=120)


if __name__ == "__main__":
    main()
