#!/usr/bin/env python3
"""Tests of report.py."""
import os
import unittest

import report


def output(ratio, version):
    rows = [name.replace("LENGTH", str(length)) for _, name in report.CALLS for length in report.LENGTHS]
    table = "\n".join(f"| {name} | 100 ns | 200 ns | {ratio:.2f} |" for name in rows)
    return f"| call | `onnx` | `ort` | ratio |\n|---|---:|---:|---:|\n{table}\n\nmedians of blocks, 1000 ms per call, library {version}\n"


class Report(unittest.TestCase):
    def test_a_page_names_machine_and_versions(self):
        text = report.page(output(0.5, "1.32.0"), output(0.9, "1.31.1"), "a processor", "1.95.0")
        self.assertIn("on a processor, with Rust 1.95.0 and crate `ort` 2.", text.replace("\n", " "))
        self.assertIn('"Official" is ONNX Runtime 1.31.1', text.replace("\n", " "))
        self.assertIn("| read elements | 0.50 | 0.50 | 0.90 | 0.90 |\n", text)
        self.assertEqual(text.count("\n| "), len(report.CALLS) + 1)

    def test_an_output_that_ended_early(self):
        with self.assertRaises(SystemExit):
            report.measured(output(0.5, "1.32.0").split("\n\n")[0])

    def test_the_page_has_a_place_for_the_table(self):
        page = report.read(os.path.join(report.HERE, "..", "README.md"))
        self.assertIn("<!-- measured -->\nnew<!-- end -->", report.written(page, "new"))
        with self.assertRaises(SystemExit):
            report.written("no marks", "new")


if __name__ == "__main__":
    unittest.main()
