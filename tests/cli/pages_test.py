#!/usr/bin/env python3
"""The pages of inspect, profile and bench, as people see them: nothing is wider than the window, names stay in their
boxes, labels do not collide, texts stand out; in windows of 1400 and 390 pixels, light and dark."""

import os
import re
import sys
import tempfile
import unittest

from browser import Browser, NoBrowser
from pages_cases import alone, bodies, large, long_names, report
from suite_test import scenario, with_details
from tool import DIGITS, ROOT, retort

WINDOWS = [(width, dark) for width in (1400, 390) for dark in (False, True)]
MEASURES = ("wide()", "outside()", "colliding()", "faint()")  # of measures.js
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "measures.js"), encoding="utf-8") as script:
    SCRIPT = script.read()


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)  # see Browser.close()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        try:
            cls.browser = Browser(cls.folder)
        except NoBrowser as error:
            print(f"skipped: {error}: the pages of inspect, profile and bench were not measured", flush=True)
            raise unittest.SkipTest(str(error)) from None
        cls.addClassCleanup(cls.browser.close)
        names = ["long/" + "name_" * 30 + "/b64", *(f"model_{i}/b1" for i in range(20))]
        rows = [scenario(name, (0.5 + i / 7, 1 + i / 9)) for i, name in enumerate(names)]
        rows += [
            with_details(scenario("detailed/b1", (0.99, 1.0))),
            {**scenario("bad", ()), "report": None, "error": "node 'x' " + "is_wrong" * 30},
        ]
        del rows[-1]["report"]
        many = report(cls.path("many.json"), rows, ["Retort 1", "Peer 2", "Other 3"], [1, 2])
        one = report(cls.path("one.json"), [alone(scenario("digits", (1.0,)))], ["Retort 1"], [1])
        commands = {
            "digits": ["inspect", DIGITS],
            "long": ["inspect", long_names(cls.path("long.onnx"))],
            "bodies": ["inspect", bodies(cls.path("bodies.onnx"))],
            "large": ["inspect", large(cls.path("large.onnx"))],
            "profile": ["profile", DIGITS, "--repeat", 3],
            "profile_large": ["profile", cls.path("large.onnx"), "--repeat", 3],
            "many": ["bench", "--from", many],
            "one": ["bench", "--from", one],
        }
        for name, words in commands.items():
            code, _, err = retort(*words, "--html", cls.path(name + ".html"))
            assert code == 0, err
        cls.measured = {}
        cls.pages = {name: cls.path(name + ".html") for name in commands} | {
            "binding_timeline": os.path.join(ROOT, "docs", "binding_timeline.html")
        }

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)

    def show(self, name, width=1400, dark=False, fragment=""):
        self.browser.show(self.pages[name], width, dark=dark, fragment=fragment)
        self.browser.value(SCRIPT)
        self.browser.value("settled()")

    def found(self, name, width, dark):
        """What all expressions of MEASURES answer for a page in a window; each is loaded once."""
        key = (name, width, dark)
        if key not in self.measured:
            self.show(name, width, dark, "graph=graph" if name in ("long", "large") else "")
            self.browser.value("unfold()")
            self.browser.value("settled()")
            self.measured[key] = {what: self.browser.value(what) for what in MEASURES}
        return self.measured[key]

    def nowhere(self, what, names):
        for name in names:
            for width, dark in WINDOWS:
                with self.subTest(page=name, width=width, dark=dark):
                    self.assertEqual(self.found(name, width, dark)[what][:5], [])

    def test_nothing_is_wider_than_the_window(self):
        self.nowhere("wide()", self.pages)

    def test_a_window_that_changes(self):
        """A page that was drawn for one width fits the other one."""
        for name in self.pages:
            with self.subTest(page=name):
                self.show(name)
                self.browser.value("unfold()")
                self.browser.call(
                    "Emulation.setDeviceMetricsOverride", width=390, height=900, deviceScaleFactor=1, mobile=True
                )
                self.browser.value("settled()")
                self.assertEqual(self.browser.value("wide()")[:5], [])

    def test_something_wider_is_found(self):
        self.show("digits", 390)
        self.browser.value(
            'document.getElementById("facts").innerHTML += `<div style="width: 500px">wide</div>`'
        )
        found = self.browser.value("wide()")
        self.assertIn("the page", found)
        self.assertTrue(any('"wide"' in f for f in found), found)

    def test_something_faint_is_found(self):
        for dark, colour in ((False, "#bbb"), (True, "#444")):
            self.show("digits", 390, dark)
            self.assertEqual(self.browser.value("faint()"), [])
            self.browser.value(f'document.getElementById("facts").style.color = "{colour}"')
            self.assertEqual(len(self.browser.value("faint()")), 1)

    def test_texts_stay_in_their_boxes(self):
        self.nowhere("outside()", ["digits", "long", "large", "profile"])

    def test_labels_do_not_collide(self):
        self.nowhere("colliding()", ["many", "one", "profile", "profile_large"])

    def test_texts_stand_out(self):
        self.nowhere("faint()", ["digits", "profile", "many", "one"])

    def test_labels_are_not_broken(self):
        self.show("bodies", 390)
        text = 'document.querySelector("#tools label:nth-of-type(%d)").firstChild'
        lines = "((text) => { const r = new Range(); r.selectNodeContents(text); return r.getClientRects().length; })(%s)"
        self.assertEqual([self.browser.value(lines % (text % i)) for i in (1, 2)], [1, 1])

    def test_a_model_that_cannot_run_says_so(self):
        self.show("long")
        problem = self.browser.value('document.querySelector("#facts .problem").textContent')
        self.assertRegex(problem, r"^Retort cannot run it: .*my\.domain.* is not known")
        self.show("digits")
        self.assertIsNone(self.browser.value('document.querySelector("#facts .problem")'))

    def test_a_map_is_small_on_a_phone(self):
        for name, width in (("large", 390), ("large", 1400)):
            self.show(name, width, fragment="graph=graph")
            part = "(({width, height}, view) => [width / view.width, height / view.height])"
            boxes = "...['map', 'view'].map((id) => document.getElementById(id).getBoundingClientRect())"
            self.assertLess(max(self.browser.value(f"{part}({boxes})")), 0.31)

    def test_shortened_names_keep_the_type(self):
        self.show("long", fragment="graph=graph")
        texts = self.browser.value(
            '[...document.querySelectorAll("#graph .node")].map((n) => '
            '[...n.querySelectorAll("text")].map((t) => t.textContent))'
        )
        (relu, name), (operator, _), *ports = sorted(
            texts, key=lambda t: (t[1].startswith(("input", "output")), t[0] != "Relu")
        )
        self.assertEqual(relu, "Relu")
        self.assertRegex(name, r"^/model/layers\.0/.*…$")
        self.assertRegex(operator, r"^AnOperatorWhose.*…$")
        for title, kind in ports:
            self.assertRegex(title, r"^/model/layers\.0/.*…$")
            self.assertRegex(kind, r"^(in|out)put float32\[batch,.*…\]$")

    def test_a_map_of_a_large_graph(self):
        hidden = 'document.getElementById("map").hidden'
        self.show("long", fragment="graph=graph")
        self.assertTrue(self.browser.value(hidden))
        self.show("large", fragment="graph=graph")
        self.assertFalse(self.browser.value(hidden))
        shown = 'document.getElementById("graph").getAttribute("viewBox").split(" ").map(Number)'
        before = self.browser.value(shown)
        corner = self.browser.value(
            '(({right, bottom}) => [right - 20, bottom - 4])'
            '(document.querySelector("#map canvas").getBoundingClientRect())'
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.browser.call(
                "Input.dispatchMouseEvent", type=kind, x=corner[0], y=corner[1], button="left", clickCount=1
            )
        after = self.browser.value(shown)
        self.assertGreater(after[1], before[1] + 10_000)
        self.assertEqual(after[2:], before[2:])

    def test_a_huge_graph(self):
        """A page of 20,000 nodes has elements for what is near its window, and dots from afar."""
        count = 20_001  # the last one reads the input as well
        page = self.path("huge.html")
        code, _, err = retort("inspect", large(self.path("huge.onnx"), count), "--html", page)
        self.assertEqual(code, 0, err)
        self.browser.show(page, 1400, fragment="graph=graph")
        self.browser.value(SCRIPT)
        elements = 'document.querySelectorAll("#graph .node").length'
        dots = 'document.getElementById("dots").hidden'
        names = '[...document.querySelectorAll("#graph .node.hit .sub")].map((t) => t.textContent)'
        self.assertEqual(self.browser.value("wide()"), [])
        self.assertEqual(self.browser.value("outside()"), [])
        self.assertLess(self.browser.value(elements), 200)
        self.assertTrue(self.browser.value(dots))
        search = 'const box = document.getElementById("search"); box.value = "%s"; box.dispatchEvent(new Event("input"))'
        self.browser.value("{" + search % "n20001" + "}")
        self.assertEqual(self.browser.value(names), [])
        self.browser.value('document.getElementById("tools").requestSubmit()')
        self.assertEqual(self.browser.value(names), ["n20001"])
        self.assertEqual(self.browser.value('document.querySelectorAll(".node.chosen").length'), 1)
        self.assertLess(self.browser.value(elements), 200)
        self.assertRegex(self.browser.value('document.querySelector(".note").textContent'), "↑ v0")
        self.assertIn("↑ name", self.browser.value('document.getElementById("legend").textContent'))
        self.browser.value('document.getElementById("whole").click()')
        self.assertFalse(self.browser.value(dots))
        painted = (
            '(({width, height}, pen) => pen.getImageData(0, 0, width, height).data.some((byte) => byte))'
            '(document.getElementById("dots"), document.getElementById("dots").getContext("2d"))'
        )
        self.assertTrue(self.browser.value(painted))
        self.browser.value('document.querySelector(".note").dispatchEvent(new Event("click"))')
        self.assertEqual(
            self.browser.value('document.querySelector(".node.chosen text").textContent'), "v0"
        )

    def test_boxes_of_a_large_graph_do_not_overlap(self):
        self.show("large", fragment="graph=graph")
        boxes = (
            '[...document.querySelectorAll("#graph .node rect")].map((r) => r.getBoundingClientRect())'
            ".map(({left, top, right, bottom}) => [left, top, right, bottom])"
        )
        places = sorted(self.browser.value(boxes), key=lambda box: box[1])
        self.assertEqual(len(places), 702)
        for i, (left, _, right, bottom) in enumerate(places):
            for other in places[i + 1 : i + 40]:
                self.assertFalse(other[1] < bottom and left < other[2] and other[0] < right, (i, other))

    def test_work_grows_with_the_boxes(self):
        """Colours are asked for once, not for every box."""
        count = (
            "window.asked = 0; const ask = window.getComputedStyle; "
            "window.getComputedStyle = (...all) => { ++window.asked; return ask.apply(window, all); }"
        )
        self.browser.call("Page.enable")  # scripts run in pages only then
        script = self.browser.call("Page.addScriptToEvaluateOnNewDocument", source=count)["identifier"]
        self.show("large", fragment="graph=graph")
        self.browser.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script)
        self.browser.call("Page.disable")
        self.assertLess(self.browser.value("window.asked"), 200)  # of 702 boxes

    def test_times_of_a_long_run(self):
        self.show("profile")
        text = '(([time, step]) => timeText(time, step))(%s)'
        told = [self.browser.value(text % [time, step]) for time, step in ((20, 10), (2500, 500), (50_000, 50_000))]
        self.assertEqual(told, ["20 µs", "2500 µs", "50 ms"])

    def test_a_legend(self):
        chips = '[...document.querySelectorAll("#legend .chip")].map((c) => c.textContent)'
        self.show("digits")
        self.assertEqual(self.browser.value(chips), ["Conv2", "Relu2", "MaxPool2", "Flatten1", "Gemm1", "Softmax1"])
        self.browser.value('document.querySelector("#legend .chip").click()')
        self.assertEqual(self.browser.value('document.querySelectorAll(".node.hit").length'), 2)
        self.show("large", fragment="graph=graph")
        self.assertEqual(self.browser.value(chips)[-1], "6 more")
        self.show("profile")
        self.assertRegex(self.browser.value('document.getElementById("legend").textContent'), r"^0[\d.e-]+ [mµ]s$")

    def test_fused_nodes_are_coloured_by_their_time(self):
        """The profile names them by all nodes of the model that they compute."""
        self.show("profile")
        convs = '[...document.querySelectorAll(".node")].filter((n) => n.querySelector("text").textContent === "Conv")'
        shares = self.browser.value(
            convs + '.map((n) => Number(n.querySelector("rect").style.getPropertyValue("--share")))'
        )
        self.assertEqual(len(shares), 2)
        self.assertTrue(all(share > 0 for share in shares), shares)
        found = self.browser.value("""[...document.querySelectorAll("td button")].map((button) => {
          button.click();
          return document.querySelectorAll(".node.chosen").length;
        })""")
        self.assertGreaterEqual(len(found), 5)
        self.assertEqual(set(found), {1})

    def test_bench_says_what_is_better(self):
        self.show("many")
        text = self.browser.value('document.getElementById("verdict").innerText')
        self.assertRegex(
            text,
            r"Time of a run, 1 thread: Retort is better, Peer takes \d\.\d\d times as long; "
            r"Retort is better in \d+ of 22 scenarios\.",
        )
        heads = self.browser.value(
            '[...document.querySelectorAll("#times th")].map((h) => h.innerText.replaceAll("\\n", " "))'
        )
        self.assertIn("1 thread: ms lower is better", heads)
        self.assertIn("2 threads: ratio, Peer higher is better", heads)

    def test_a_suite_is_short_on_a_phone(self):
        parts = '[...document.querySelectorAll(".part")].map((p) => [p.querySelector("h2").textContent, p.open])'
        height = "document.documentElement.scrollHeight"
        self.show("many")
        self.assertTrue(all(opened for _, opened in self.browser.value(parts)))
        self.show("many", 390)
        told = self.browser.value(parts)
        self.assertGreater(len(told), 7)
        self.assertEqual([title for title, opened in told if opened], ["Time of Peer 2 over Retort 1's", "Times"])
        self.assertLess(self.browser.value(height), 5000)
        bars = 'document.querySelectorAll(".part")[%d].querySelectorAll(".row").length'
        self.assertEqual(self.browser.value(bars % 0), 12)
        self.browser.value('document.querySelectorAll(".part summary")[1].click()')
        self.browser.value('document.querySelector("figure button").click()')
        self.browser.value("settled()")
        self.assertEqual([self.browser.value(bars % i) for i in (0, 1)], [22, 12])
        # What someone opened stays so when the charts are drawn anew.
        self.browser.value("drawPlots()")
        self.assertEqual([opened for _, opened in self.browser.value(parts)][:3], [True, True, False])

    def test_columns_without_figures_are_left_out(self):
        self.show("one")
        heads = self.browser.value('[...document.querySelectorAll("th button")].map((h) => h.firstChild.textContent)')
        self.assertEqual(heads, ["scenario", "ms", "scenario", "peak MiB", "steady MiB"])
        self.assertEqual(
            self.browser.value('[...document.querySelectorAll("#tools label")].filter((l) => !l.hidden).length'), 0
        )

    def test_titles_name_the_model(self):
        titles = {}
        for name, page in self.pages.items():
            with open(page, encoding="utf-8") as f:
                titles[name] = re.search(r"<title>(.*?)</title>", f.read())[1]
        self.assertEqual(titles["digits"], "digits.onnx")
        self.assertEqual(titles["profile"], "digits.onnx: profile")
        self.assertEqual(titles["one"], "Benchmark of digits")
        self.assertRegex(titles["many"], r"^Benchmark of 23 models: long/\S+, model_0/b1, model_1/b1, …$")
        self.assertLess(len(titles["many"]), 120)  # a long name is shortened
        self.show("many")
        self.assertEqual(self.browser.value('document.getElementById("title").textContent'), titles["many"])

    def test_pages_are_small(self):
        for name, page in self.pages.items():
            with open(page, encoding="utf-8") as f:
                text = f.read()
            data = re.search(r'<script id="data"[^>]*>(.*?)</script>', text, re.S)
            self.assertLess(len(text) - (len(data[1]) if data else 0), 115_000, name)
            self.assertIsNone(
                re.search(r'(?:src|href)="|url\((?!#)|@import', text.replace(data[1] if data else "", "")), name
            )


if __name__ == "__main__":
    sys.exit(unittest.main())
