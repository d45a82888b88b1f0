#!/usr/bin/env python3
"""The command-line tool from a user's view; RETORT_CLI names the program."""
import json
import os
import platform
import pty
import subprocess
import sys
import unittest

import numpy as np
import onnx

from tool import DIGITS, TOOL, ToolTest, retort

class Cli(ToolTest):
    def test_help(self):
        self.assertEqual(retort("--help")[0], 0)
        self.assertIn("Examples:", retort("--help")[1])
        for command in ("run", "inspect", "bench", "convert", "ops", "devices"):
            self.assertRegex(retort(command, "--help")[1], "Examples?: retort " + command)
        self.assertRegex(retort("--version")[1], r"^retort \d+\.\d+\.\d+\n$")

    def test_wrong_usage(self):
        self.fails(2, [], "Examples:")
        self.fails(2, ["frob"], "frob")
        self.fails(2, ["run"], "MODEL")
        self.fails(2, ["run", DIGITS, "--bogus"], "--bogus")
        self.fails(2, ["run", "/nowhere.onnx"], "/nowhere.onnx")
        self.fails(2, ["run", self.folder], "directory")
        self.fails(2, ["run", DIGITS, "--threads", "two"], "'two' is not a number of threads")
        self.fails(2, ["bench", DIGITS, "--threads", "1,-2"], "--threads")
        self.fails(2, ["bench", DIGITS, "--seconds", "-1"], "'-1' is not a number above 0")
        self.fails(2, ["bench", DIGITS, "--block", "1"], "--block: '1' is not an integer from 5")

    def test_words_that_nothing_takes(self):
        """The error names the first of them, and the likely intended word."""
        self.fails(2, ["rn", DIGITS], "'rn' is not a command; did you mean run?", "The commands are run, inspect, bench")
        self.fails(2, [DIGITS], "is not a command; retort inspect " + DIGITS + " shows its contents")
        self.fails(2, ["bench", DIGITS, "--secnds", "1"], "retort bench: there is no option --secnds; did you mean --seconds?")
        self.fails(2, ["bench", DIGITS, "--zzzzzz=1"], "there is no option --zzzzzz\n", "retort bench --help")
        self.fails(2, ["run", DIGITS, "first", "second"], "retort run: 'first' is an unexpected argument")
        self.fails(2, ["--threads", "1", "run", DIGITS], "retort run: --threads stands before the command")
        self.fails(2, ["--bogus"], "no option --bogus before the command")

    def test_an_empty_name_of_a_library_is_none(self):
        done = subprocess.run([TOOL, "run", DIGITS], env={**os.environ, "RETORT_LIBRARY": ""}, capture_output=True, encoding="utf-8")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_an_instruction_level_that_is_none(self):
        for words in (["run", DIGITS], ["bench", DIGITS, "--seconds", "0.1"], ["devices"]):
            done = subprocess.run([TOOL, *words], env={**os.environ, "RETORT_ISA": "avx-512"}, capture_output=True, encoding="utf-8")
            self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
            self.assertIn("RETORT_ISA is 'avx-512', which is not an instruction level; set it to v2, avx2 or avx512 on x86-64", done.stderr)
        level = "v2" if platform.machine() == "x86_64" else "neon"
        for name in (level, ""):
            done = subprocess.run([TOOL, "run", DIGITS], env={**os.environ, "RETORT_ISA": name}, capture_output=True, encoding="utf-8")
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_libraries_that_are_not_there(self):
        for words in (["run"], ["bench"], ["diff", "--against-model", DIGITS], ["inspect"]):
            for name in ("/nowhere.so", "libnowhere.so.1"):
                self.fails(1, [*words, DIGITS, "--library", name], f"cannot open the engine '{name}'", "--library or RETORT_LIBRARY")
        for command in ("bench", "diff"):
            for name in ("/nowhere.so", "libnowhere.so.1"):
                code, out, err = retort(command, DIGITS, "--against", name)
                self.assertEqual((code, out), (1, ""), err)
                self.assertIn(f"cannot open the engine '{name}'", err)
                self.assertIn("--against", err)

    def test_libraries_are_looked_for(self):
        """A name without a slash is searched for in LD_LIBRARY_PATH."""
        library = os.environ.get("RETORT_LIBRARY") or os.path.join(os.path.dirname(TOOL), "..", "lib", "libretort.so.1")
        os.symlink(os.path.abspath(library), self.path("libother_engine.so.1"))
        for words in (["bench", DIGITS, "--seconds", "0.1"], ["diff", DIGITS]):
            done = subprocess.run([TOOL, *words, "--against", "libother_engine.so.1", "--library", "libother_engine.so.1"], capture_output=True, encoding="utf-8",
                                  env={**os.environ, "LD_LIBRARY_PATH": self.folder})
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_passes_are_left_out(self):
        for words in (["run"], ["bench", "--seconds", "0.1", "--starts", "1"], ["profile", "--repeat", "2"]):
            code, _, err = retort(*words, DIGITS, "--disable", "epilogues", "--disable", "linear")
            self.assertEqual((code, err), (0, ""))
            self.assertIn("--disable PASS", retort(words[0], "--help")[1])
        nodes = [len(json.loads(retort("profile", DIGITS, "--repeat", "2", "--json", *words)[1])["nodes"]) for words in ([], ["--disable", "epilogues"])]
        self.assertEqual(nodes[1], nodes[0] + 2)
        for words in (["run"], ["bench", "--seconds", "0.1", "--starts", "1"], ["profile", "--repeat", "2"]):
            self.fails(1, [*words, DIGITS, "--disable", "epilogue"], "no pass or rule 'epilogue'; did you mean epilogues?")
        code, _, err = retort("run", DIGITS, "--config", "optimization.disable_specified_optimizers=linea")
        self.assertEqual(code, 0)
        self.assertIn("no pass or rule 'linea'; use 'linear'", err)

    def test_digits_example(self):
        program = os.environ.get("RETORT_DIGITS", "")
        if not os.path.exists(program):
            self.skipTest("the example is not built")
        for words, code, part in ((["--help"], 0, "usage: digits [--check] FOLDER"), ([], 2, "usage: digits [--check] FOLDER"), (["--frob"], 2, "usage:"),
                                  ([self.folder], 1, "heldout_images.npy does not exist")):
            done = subprocess.run([program, *words], capture_output=True, encoding="utf-8")
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(part, done.stderr if code else done.stdout)

    def test_lost_output_is_a_failure(self):
        for words in (["run", DIGITS], ["run", DIGITS, "--json"], ["inspect", DIGITS, "--json"], ["--help"], ["--version"]):
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run([TOOL, *words], stdout=full, stderr=subprocess.PIPE, encoding="utf-8")
            self.assertEqual(done.returncode, 1, words)
            self.assertIn("writing to standard output failed", done.stderr)

    def test_inspect(self):
        self.assertRegex(retort("inspect", DIGITS)[1], r"image +float32\[batch,1,8,8\]")
        told = json.loads(retort("inspect", DIGITS, "--json")[1])
        self.assertEqual([p["name"] for p in told["inputs"] + told["outputs"]], ["image", "probabilities"])

    def test_inputs_from_files(self):
        results = []
        for words in (["--input", "image=" + self.npy("a.npy", self.image)], ["-i", self.pb("a.pb", self.image)],
                      ["--inputs", os.path.dirname(self.npy("input_0.npy", self.image))]):
            code, out, err = retort("run", DIGITS, *words, "--save", self.path("out"))
            self.assertEqual(code, 0, err)
            self.assertIn("probabilities", out)
            results.append(np.load(self.path("out/probabilities.npy")))
            self.assertEqual(results[-1].shape, (2, 10))
        np.testing.assert_allclose(results[0].sum(axis=1), 1, rtol=1e-5)
        for other in results[1:]:
            np.testing.assert_array_equal(results[0], other)

    def test_folder_with_more_inputs(self):
        folder = os.path.dirname(self.npy("input_0.npy", self.image))
        for name in ("input_1.npy", "input_7.npy"):
            more = self.npy(name, self.image)
            code, _, err = retort("run", DIGITS, "--inputs", folder)
            self.assertEqual(code, 1, err)
            self.assertIn(f"{name} is not used: the model has 1 input; choose a folder that was made for it", err)
            os.remove(more)

    def test_element_types_go_through(self):
        names = ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"]
        ports = [[onnx.helper.make_tensor_value_info(p + n, onnx.helper.np_dtype_to_tensor_dtype(np.dtype(n)), [None]) for n in names]
                 for p in "xy"]
        model = self.model([onnx.helper.make_node("Identity", ["x" + n], ["y" + n]) for n in names], *ports)
        for save in (self.npy, self.pb):
            words = []
            for n in names:
                words += ["-i", f"x{n}=" + save(n + (".npy" if save == self.npy else ".pb"), np.array([0, 1, 1], n))]
            code, out, err = retort("run", model, *words, "--save", self.path("out"))
            self.assertEqual(code, 0, err)
            self.assertEqual(len(out.splitlines()), len(names))
            self.assertRegex(out, r"yfloat16 +float16 3 +0 1 1\n")
            for n in names:
                np.testing.assert_array_equal(np.load(self.path(f"out/y{n}.npy")), np.array([0, 1, 1], n))

    def test_wrong_inputs(self):
        good = self.npy("good.npy", self.image)
        self.fails(1, ["run", DIGITS, "-i", "picture=" + good], "'picture'", "it has 'image'")
        self.fails(1, ["run", DIGITS, "-i", "image=/nowhere.npy"], "/nowhere.npy: No such file")
        self.fails(1, ["run", DIGITS, "-i", "image=" + self.npy("u8.npy", self.image.astype(np.uint8))], "'image'", "float32", "uint8")
        self.fails(1, ["run", DIGITS, "-i", "image=" + self.npy("flat.npy", self.image.ravel())], "'image'", "[batch,1,8,8]", "[128]")
        self.fails(2, ["run", DIGITS, "-i", "image=" + good, "-i", good], "--input gives 'image' twice")
        self.fails(2, ["run", DIGITS, "--shape", "image=2xthree"], "2xthree", "1x3x224x224")
        self.fails(1, ["run", DIGITS, "--shape", "picture=1x1"], "'picture'")
        self.fails(1, ["run", DIGITS, "--shape", "image=1x1x9x9"], "'image'", "[1,1,9,9]")
        self.fails(2, ["run", DIGITS, "--shape", "2x3"], "NAME=1x3x224x224")
        self.fails(2, ["run", DIGITS, "--config", "strict"], "KEY=VALUE")
        with open(good, "rb") as f:
            begin = f.read()[:100]
        for name, content in {"cut.npy": begin, "cut.pb": b"\x08\x04\x4a\xff", "text.npy": b"hello"}.items():
            with open(self.path(name), "wb") as f:
                f.write(content)
            self.fails(1, ["run", DIGITS, "-i", "image=" + self.path(name)], name + ": ")
        self.fails(1, ["run", DIGITS, "-i", "image=" + self.path("x.txt")], "x.txt")

    def test_broken_models(self):
        with open(DIGITS, "rb") as f:
            whole = f.read()
        for name, content in {"cut.onnx": whole[:300], "text.onnx": b"hello", "empty.onnx": b""}.items():
            with open(self.path(name), "wb") as f:
                f.write(content)
            for command in ("inspect", "run", "bench"):
                self.fails(1, [command, self.path(name)], name)

    def test_bench(self):
        code, out, err = retort("bench", DIGITS, "--seconds", 0.1, "--threads", "1,2", "--json")
        self.assertEqual((code, err), (0, ""))
        rows = json.loads(out)
        self.assertEqual([r["threads"] for r in rows], [1, 2])
        for row in rows:
            self.assertGreater(row["sides"][0]["median_ms"], 0)
            self.assertRegex(row["sides"][0]["engine"], r"^Retort \d")

    def test_progress_bar_is_for_terminals_only(self):
        self.assertEqual(retort("bench", DIGITS, "--seconds", 0.1)[2], "")
        seen, terminal = pty.openpty()
        subprocess.run([TOOL, "bench", DIGITS, "--seconds", "0.1"], stdout=subprocess.DEVNULL, stderr=terminal, check=True)
        os.close(terminal)
        self.assertIn(b"%", os.read(seen, 4096))
        os.close(seen)


if __name__ == "__main__":
    sys.exit(unittest.main())
