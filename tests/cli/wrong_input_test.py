#!/usr/bin/env python3
"""Wrong input to every command: wrong_*.tsv have the cases. No message is silence or the raw text of a library."""
import glob
import json
import os
import re
import shlex
import shutil
import socket
import struct
import subprocess
import sys
import unittest
import warnings
import zipfile
import zlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from run_test import png
from tool import DIGITS, TOOL, ToolTest, retort

CASES = sorted(glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), "wrong_*.tsv")))
# What the libraries that the program is built from say.
RAW = re.compile(r"basic_|std::|what\(\)|json\.exception|vector::|terminate called|required TEXT|bad_alloc|protozero|invalid_argument\b|stoi|"
                 r"Run with --help|is required|excludes|requires|ExistingFile|Could not convert|unordered_map")
NO_JSON = {"words"}


def cases():
    for name in CASES:
        with open(name, encoding="utf-8") as f:
            for number, line in enumerate(f, 1):
                if line.strip() and not line.startswith("#"):
                    code, words, parts = line.rstrip("\n").split("\t")
                    yield f"{os.path.basename(name)}:{number}", int(code), words, parts.split("|")


def values(names, dtype, shape):
    return [helper.make_tensor_value_info(n, dtype, shape) for n in names]


class WrongInput(ToolTest):
    def save(self, name, content):
        with open(self.path(name), "wb") as f:
            f.write(content)
        return self.path(name)

    def graph(self, name, nodes, inputs, outputs):
        graph = helper.make_graph(nodes, "g", inputs, outputs)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), self.path(name))
        return self.path(name)

    def models(self):
        f32 = TensorProto.FLOAT
        two = values("aby", f32, ["batch", 2])
        os.mkdir(self.path("models"))
        shutil.copy(DIGITS, self.path("models/digits.onnx"))
        return {
            "digits": DIGITS, "models": self.path("models"), "digits_copy": shutil.copy(DIGITS, self.path("digits.onnx")),
            "two": self.graph("two.onnx", [helper.make_node("Add", ["a", "b"], ["y"])], two[:2], two[2:]),
            "split": self.graph("split.onnx", [helper.make_node("Split", ["x"], ["y", "z"], num_outputs=2)], values("x", f32, [4]), values("yz", f32, [2])),
            "rate": self.graph("rate.onnx", [helper.make_node("Identity", ["sr"], ["y"])], values(["sr"], TensorProto.INT64, []), values("y", TensorProto.INT64, [])),
            "noinputs": self.graph("noinputs.onnx", [helper.make_node("Constant", [], ["y"], value_float=2.0)], [], values("y", f32, [])),
            **self.odd_models(f32),
            "nothing": self.graph("nothing.onnx", [], [], []), "named": self.graph("named.onnx", [helper.make_node("Identity", ["a=b"], ["y"])], values(["a=b"], f32, ["n", "n"]), values("y", f32, ["n", "n"])),
            "bytes": self.graph("bytes.onnx", [helper.make_node("Identity", ["x"], ["y"])], *[values(n, TensorProto.UINT8, [1, 3, 4, 4]) for n in "xy"])}

    def odd_models(self, f32):
        """Models of other element types, of values that are not tensors, and some that do not load."""
        def same(name, dtype, shape, operator="Identity"):
            return self.graph(name + ".onnx", [helper.make_node(operator, ["x"], ["y"])], values("x", dtype, shape), values("y", dtype, shape))
        rows = numpy_helper.from_array(np.ones((4, 2), np.float32), "rows")
        graph = helper.make_graph([helper.make_node("Gather", ["rows", "i"], ["y"])], "g", values("i", TensorProto.INT64, ["n"]), values("y", f32, ["n", 2]), [rows])
        picks = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        onnx.save(picks, self.path("picks.onnx"))
        onnx.save(picks, self.path("away.onnx"), save_as_external_data=True, location="away.bin", size_threshold=0)
        os.remove(self.path("away.bin"))
        future = onnx.load(DIGITS)
        future.opset_import[0].version = 99
        onnx.save(future, self.path("future.onnx"))
        sequence = helper.make_tensor_sequence_value_info("x", f32, None)
        length = self.graph("length.onnx", [helper.make_node("SequenceLength", ["x"], ["y"])], [sequence], values("y", TensorProto.INT64, []))
        return {"flags": same("flags", TensorProto.BOOL, ["n"], "Not"), "small": same("small", TensorProto.INT8, [3]), "texts": same("texts", TensorProto.STRING, ["n"]),
                "halves": same("halves", TensorProto.FLOAT16, [2]), "pairs": same("pairs", TensorProto.COMPLEX64, [2]), "vast": same("vast", f32, [1 << 20, 1 << 20]),
                "unknown": same("unknown", f32, [1], "Frobnicate"), "length": length, "picks": self.path("picks.onnx"), "away": self.path("away.onnx"), "future": self.path("future.onnx")}

    def files(self):
        with open(DIGITS, "rb") as f:
            whole = f.read()
        image = self.npy("image.npy", self.image)
        with open(image, "rb") as f:
            cut = f.read()[:100]
        os.mkdir(self.path("folder"))
        os.mkdir(self.path("emptyfolder"))
        return {
            "image": image, "u8": self.npy("u8.npy", self.image.astype(np.uint8)), "folder": self.path("folder"), "emptyfolder": self.path("emptyfolder"),
            "nowhere": self.path("nowhere"), "out": self.path("digits_out"), "cut": self.save("cut.npy", cut), "cutpb": self.save("cut.pb", b"\x08\x04\x4a\xff"),
            "text": self.save("text.onnx", b"hello"), "words": self.save("words.npy", b"hello"), "empty": self.save("empty", b""),
            "half": self.save("half.onnx", whole[:300]), "picture": self.save("a.png", png(np.zeros((4, 4, 3), np.uint8))),
            "labels": self.save("labels.txt", b"zero\none\n"), "ragged": self.save("ragged.csv", b"1,2\n3\n"), "quoted": self.save("quoted.csv", b'1,"2\n'),
            "blank": self.save("blank.csv", b"\n\n"), "list": self.save("list.txt", image.encode() + b"\n"), "openquote": self.save("open.txt", b'"a b\n'),
            "badlist": self.save("bad.txt", b"picture=1\n"), "report": self.save("report.json", b'{"format": 2}')}

    def arrays(self):
        def npy(name, described, version=1, size=None):
            header = ("{" + described + ", }\n").encode()
            return self.save(name + ".npy", b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H", len(header) if size is None else size) + header + bytes(64))

        def shaped(name, shape, kind="'<f4'", **settings):
            return npy(name, f"'descr': {kind}, 'fortran_order': False, 'shape': {shape}", **settings)
        made = {name: shaped(name, "(2,)", kind) for name, kind in (("objects", "'|O'"), ("records", "[('a', '<f4')]"), ("doubles", "'<f8'"), ("times", "'<M8[ns]'"))}
        made |= {name: shaped(name, shape) for name, shape in (("negative", "(-2,)"), ("endless", f"({2**63 - 1},)"), ("squared", f"({2**32}, {2**32})"), ("digitsshape", f"({10**30},)"), ("listshape", "[2]"))}
        return {**made, "version9": shaped("version9", "(2,)", version=9), "longheader": shaped("longheader", "(2,)", size=65000),
                "noshape": npy("noshape", "'descr': '<f4'"), "nodescr": npy("nodescr", "'shape': (2,)")}

    def archives(self):
        with open(self.npy("one.npy", np.ones(2, np.float32)), "rb") as f:
            one = f.read()

        def archive(name, entries, method=zipfile.ZIP_STORED):
            with warnings.catch_warnings(), zipfile.ZipFile(self.path(name + ".npz"), "w", method) as f:
                warnings.simplefilter("ignore")
                for entry in entries:
                    f.writestr(entry, one)
            return self.path(name + ".npz")
        flipped = archive("whole", ["x.npy"])
        with open(flipped, "rb") as f:
            damaged = bytearray(f.read())
        damaged[len(one)] ^= 1
        return {"twice": archive("twice", ["x.npy", "x.npy"]), "lzma": archive("lzma", ["x.npy"], zipfile.ZIP_LZMA), "bzip2": archive("bzip2", ["x.npy"], zipfile.ZIP_BZIP2),
                "climbing": archive("climbing", ["../x.npy"]), "noarrays": archive("noarrays", ["readme.txt"]), "nozip": self.save("nozip.npz", b"PK"),
                "flipped": self.save("flipped.npz", bytes(damaged))}

    def protos(self):
        def pb(name, **fields):
            return self.save(name + ".pb", TensorProto(**fields).SerializeToString())
        return {"outside": pb("outside", dims=[2], data_type=1, data_location=TensorProto.EXTERNAL), "number99": pb("number99", dims=[2], data_type=99),
                "toomany": pb("toomany", dims=[3], data_type=1, raw_data=bytes(8)), "minus": pb("minus", dims=[-1], data_type=1), "emptypb": pb("emptypb")}

    def media(self):
        whole = png(np.zeros((4, 4, 3), np.uint8))
        data = whole.index(b"IDAT") + 6

        def wav(name, kind=1, channels=1, bits=16, size=16, begin=b"RIFF\0\0\0\0WAVE", late=False):
            form = b"fmt " + struct.pack("<IHHIIHH", 16, kind, channels, 8000, 16000, 2, bits)
            samples = b"data" + struct.pack("<I", size) + bytes(16)
            return self.save(name + ".wav", begin + (samples + form if late else form + samples) if begin else b"")

        def sized(name, width, height):
            head = whole[:16] + struct.pack(">II", width, height) + whole[24:29]
            return self.save(name + ".png", head + struct.pack(">I", zlib.crc32(head[12:])) + whole[33:])
        return {"pngcrc": self.save("crc.png", whole[:data] + bytes([whole[data] ^ 1]) + whole[data + 1:]), "pngcut": self.save("cut.png", whole[:50]),
                "pngshort": self.save("short.png", png(np.zeros((4, 4, 3), np.uint8))[:-16]), "pngzero": sized("zero", 0, 4), "pngvast": sized("vast", 65535, 65535),
                "pngwide": sized("wide", 1000001, 1),
                "nopicture": self.save("no.png", b"hello"), "emptyjpg": self.save("empty.jpg", b""), "gif": self.save("a.gif", b"GIF89a"),
                "wavcut": wav("cut", size=1 << 20), "wavnone": wav("none", channels=0), "wavmp3": wav("mp3", kind=85), "wav7": wav("seven", bits=7),
                "wavempty": wav("empty", begin=b""), "wavlate": wav("late", late=True)}

    def odd_files(self):
        os.symlink("loop", self.path("loop"))
        os.symlink("gone", self.path("dangling"))
        self.socket = socket.socket(socket.AF_UNIX)
        self.addCleanup(self.socket.close)
        self.socket.bind(self.path("socket"))
        suites = {"nosuite": b"[]", "gonesuite": b'[{"model": "m", "scenario": "s", "path": "gone.onnx"}]', "nullsuite": b"null", "textsuite": b'"a"', "numbersuite": b'[{"model": "d", "scenario": "s", "path": 5}]',
                  "flopssuite": b'[{"model": "d", "scenario": "s", "path": "x", "flops": null}, {"model": "d", "scenario": "s", "path": "x", "flops": "x"}]',
                  "shortsuite": b"[5]", "flagsuite": b'[{"model": "d", "scenario": "s", "path": "x", "hand_back": 1}]', "deepsuite": b"[" * 100_000}
        for name, content in suites.items():
            os.mkdir(self.path(name))
            self.save(name + "/index.json", content)
        tables = {"utf16": "1,2\n".encode("utf-16"), "zerocsv": b"1,\x002\n", "commas": b"1,2,\n", "comma5": b"1,5;2,5\n", "titles": b"a,b\n"}
        f32 = TensorProto.FLOAT
        same = [helper.make_node("Identity", ["x"], ["y"])]
        return {**{name: self.path(name) for name in (*suites, "loop", "dangling", "socket")}, **{name: self.save(name + ".csv", content) for name, content in tables.items()},
                "line": self.graph("line.onnx", same, values("x", f32, ["n"]), values("y", f32, ["n"])),
                "photo": self.graph("photo.onnx", same, *[values(n, f32, [1, 3, "h", "w"]) for n in "xy"]), "zerolist": self.save("zero.txt", b"\0\n"),
                "textreport": self.save("text.json", b'{"format": 2, "scenarios": 5}'), "nullreport": self.save("null.json", b"null")}

    def folders(self):
        """Folders of inputs and outputs, with files that nothing uses."""
        def folder(name, *files):
            os.mkdir(self.path(name))
            for file in files:
                (self.npy if file.endswith("npy") else self.pb)(f"{name}/{file}", np.ones(2, np.float32))
            return self.path(name)
        return {"other": folder("other", "w.npy", "y.npy"), "bothnames": folder("bothnames", "output_0.npy", "y.npy"), "one": folder("one", "input_0.npy"), "numbers": folder("numbers", "input_0.npy", "input_1.npy"), "numberedout": folder("numberedout", "output_0.npy", "output_1.pb"),
                "bothkinds": folder("bothkinds", "input_0.npy", "input_0.pb", "output_0.npy", "output_0.pb")}

    def test_every_case(self):
        places = {**self.models(), **self.files(), **self.arrays(), **self.archives(), **self.protos(), **self.media(), **self.odd_files(), **self.folders()}
        os.environ.pop("COLUMNS", None)
        count = 0
        for place, code, text, parts in cases():
            words = shlex.split(text.format_map(places))
            with self.subTest(place=place, words=text):
                self.check(words, code, parts)
            count += 1
        self.assertGreaterEqual(count, 720)

    def check(self, words, code, parts):
        got, out, err = retort(*words)
        self.assertEqual((got, out), (code, ""), err)
        self.assertRegex(err, r"^retort[ :]")
        self.assertIsNone(RAW.search(err), err)
        for part in parts:
            self.assertIn(part, err)
        if words[0] in NO_JSON or any(w.startswith("--json") for w in words):
            return
        got, out, again = retort(*words, "--json")
        self.assertEqual(got, code, again)
        told = json.loads(out)
        self.assertEqual((set(told), told["exit_code"]), ({"error", "exit_code"}, code))
        self.assertIn(told["error"].splitlines()[0][:60], again)

    def test_suffixes_in_capitals_and_lists_with_a_mark(self):
        """Files of cameras and spreadsheets."""
        model = self.odd_files()["photo"]
        code, _, err = retort("run", model, "-i", self.save("IMG_1.PNG", png(np.zeros((4, 4, 3), np.uint8))))
        self.assertEqual(code, 0, err)
        listed = self.save("list.txt", b"\xef\xbb\xbf" + self.npy("image.npy", self.image).encode() + b"\r\n")
        code, _, err = retort("run", DIGITS, "--list", listed)
        self.assertEqual(code, 0, err)

    def test_no_command(self):
        code, out, err = retort()
        self.assertEqual((code, out), (2, ""))
        self.assertRegex(err, r"^retort: name a command\n")

    def test_names_are_cleaned(self):
        """Control characters in a model's names do not reach the terminal, and an output stays in its line."""
        name = "evil\x1b[31m\n\x07\u202ename"
        ports = values([name], TensorProto.FLOAT, [2]), values([name + "2"], TensorProto.FLOAT, [2])
        node = helper.make_node("Relu", [name], [name + "2"], name=name)
        model = self.graph("evil.onnx", [node], *ports)
        for words in (["run"], ["inspect", "--nodes", "--weights"], ["profile", "--repeat", "2"], ["convert"], ["ops"], ["run", "--layers"],
                      ["diff", "--against-model", model], ["bench", "--runs", "5", "--starts", "1"]):
            code, out, err = retort(words[0], model, *words[1:])
            self.assertEqual(code, 0, err)
            for character in "\x1b\x07\u202e":
                self.assertNotIn(character, out + err, words)
        self.assertIn(r"evil\x1b[31m\n\x07\u202ename2", retort("run", model)[1])
        self.assertIn(name + "2", json.loads(retort("run", model, "--json")[1])["outputs"])
        err = retort("run", DIGITS, "--config", "a\x1b[31m\x7f\u009b=1")[2]  # the engine's warning
        self.assertIn(r"config key 'a\x1b[31m\x7f\x9b'", err)
        code, _, err = retort("run", model, "-i", "x\x1b=1")
        self.assertEqual(code, 1)
        self.assertNotIn("\x1b", err)

    def test_outputs_of_similar_names_are_all_saved(self):
        names = ["a/b", "a:b", "a_b", "n" * 300, "n" * 299 + "m"]
        nodes = [helper.make_node("Mul", ["x", f"c{i}"], [n]) for i, n in enumerate(names)]
        graph = helper.make_graph(nodes, "g", values("x", TensorProto.FLOAT, [1]), values(names, TensorProto.FLOAT, [1]),
                                  [numpy_helper.from_array(np.array([i], np.float32), f"c{i}") for i in range(len(names))])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), self.path("m.onnx"))
        code, _, err = retort("run", self.path("m.onnx"), "-i", "x=1", "--save", self.path("out"))
        self.assertEqual(code, 0, err)
        saved = [np.load(os.path.join(self.path("out"), f))[0] for f in os.listdir(self.path("out"))]
        self.assertEqual(sorted(saved), list(range(len(names))))

    def test_config_keys_that_mean_nothing_warn(self):
        code, _, err = retort("run", DIGITS, "--config", "session.bogus=1")
        self.assertEqual(code, 0)
        self.assertIn("session.bogus", err)
        self.assertIn("session.strict is 'banana' and counts as 0", retort("run", DIGITS, "--config", "session.strict=banana")[2])
        for command in (["bench", "--runs", "5", "--starts", "1"], ["profile", "--repeat", "2"], ["inspect", "--placement"], ["diff", "--against-model", DIGITS]):
            code, _, err = retort(command[0], DIGITS, *command[1:], "--config", "session.dynamic_block=4")
            self.assertEqual(code, 0, err)
            self.assertIn("session.dynamic_block", err, command)

    def test_a_closed_pipe(self):
        done = subprocess.run(f"'{TOOL}' ops | head -1", shell=True, capture_output=True, encoding="utf-8")
        self.assertEqual(len(done.stdout.splitlines()), 1)
        self.assertIsNone(RAW.search(done.stderr))


if __name__ == "__main__":
    sys.exit(unittest.main())
