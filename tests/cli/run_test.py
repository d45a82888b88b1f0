#!/usr/bin/env python3
"""retort run: kinds of inputs, reports and saved files."""
import base64
import json
import os
import struct
import sys
import unittest
import zlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tool import DIGITS, ToolTest, retort

# 16 x 16 pixels of the colour (200, 100, 50), quality 90; decoders may be off by one or two.
JPEG = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAMCAgMCAgMDAwMEAwMEBQgFBQQEBQoHBwYIDAoMDAsKCwsNDhIQDQ4RDgsLEBYQERMUFRUVDA8XGBYUGBIUFRT/2wBDAQMEBAUEBQkFBQkU"
    "DQsNFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBT/wAARCAAQABADASIAAhEBAxEB/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL"
    "/8QAtRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1"
    "dnd4eXqDhIWGh4iJipKTlJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6/8QAHwEAAwEBAQEBAQEBAQAAAAAAAAECAwQF"
    "BgcICQoL/8QAtREAAgECBAQDBAcFBAQAAQJ3AAECAxEEBSExBhJBUQdhcRMiMoEIFEKRobHBCSMzUvAVYnLRChYkNOEl8RcYGRomJygpKjU2Nzg5OkNERUZHSElKU1RVVldYWVpjZGVm"
    "Z2hpanN0dXZ3eHl6goOEhYaHiImKkpOUlZaXmJmaoqOkpaanqKmqsrO0tba3uLm6wsPExcbHyMnK0tPU1dbX2Nna4uPk5ebn6Onq8vP09fb3+Pn6/9oADAMBAAIRAxEAPwCpRRRX4ef0"
    "gf/Z")


def png(pixels):
    """The file of [height, width, 3] bytes."""
    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows))
            + chunk(b"IEND", b""))


def wav(kind, bits, channels, data):
    form = struct.pack("<HHIIHH", kind, channels, 16000, 16000 * channels * bits // 8, channels * bits // 8, bits)
    body = b"WAVEfmt " + struct.pack("<I", len(form)) + form + b"LIST" + struct.pack("<I", 3) + b"abc\0" + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


class Run(ToolTest):
    def file(self, name, content):
        with open(self.path(name), "wb") as f:
            f.write(content)
        return self.path(name)

    def identity(self, *shape, dtype=TensorProto.FLOAT):
        value = [helper.make_tensor_value_info(n, dtype, shape) for n in "xy"]
        return self.model([helper.make_node("Identity", ["x"], ["y"])], value[:1], value[1:])

    def through(self, model, file, *words):
        """The tensor that the model's input received."""
        code, out, err = retort("run", model, "-i", file, *words, "--save", self.path("out"))
        self.assertEqual(code, 0, err)
        return np.load(self.path("out/y.npy"))

    def test_picture(self):
        pixels = np.random.default_rng(3).integers(0, 256, (5, 7, 3), np.uint8)
        file = self.file("a.png", png(pixels))
        as_floats = pixels.astype(np.float32) / 255
        mean, std = np.array([0.485, 0.456, 0.406], np.float32), np.array([0.229, 0.224, 0.225], np.float32)
        got = self.through(self.identity(1, 3, 5, 7), file, "--mean", "0.485,0.456,0.406", "--std", "0.229,0.224,0.225")
        np.testing.assert_allclose(got[0], ((as_floats - mean) / std).transpose(2, 0, 1), rtol=1e-5, atol=1e-6)
        got = self.through(self.identity("n", "h", "w", 3), file, "--scale", 255, "--bgr")
        np.testing.assert_array_equal(got[0], pixels[:, :, ::-1])
        got = self.through(self.identity(5, 7, 3, dtype=TensorProto.UINT8), file)
        np.testing.assert_array_equal(got, pixels)
        got = self.through(self.identity("n", "c", "h", "w"), file, "--layout", "nchw", "--scale", 255)
        np.testing.assert_array_equal(got[0], pixels.transpose(2, 0, 1))
        self.assertEqual(self.through(self.identity(1, 1, 5, 7), file).shape, (1, 1, 5, 7))

    def test_resize(self):
        flat = np.full((6, 9, 3), (10, 20, 30), np.uint8)
        got = self.through(self.identity(1, 3, 4, 4), self.file("a.png", png(flat)), "--resize", "4x4", "--scale", 255)
        np.testing.assert_array_equal(got[0], np.full((4, 4, 3), (10, 20, 30)).transpose(2, 0, 1))
        ramp = np.repeat(np.arange(0, 256, 16, np.uint8)[None, :, None], 16, 0).repeat(3, 2)
        got = self.through(self.identity(1, 3, 8, 8), self.file("b.png", png(ramp)), "--resize", "8x8", "--scale", 255)[0, 0, 0]
        np.testing.assert_allclose(got[1:-1], ramp[0].reshape(8, 2, 3).mean((1, 2))[1:-1], atol=1)  # halves of a ramp: means of pairs

    def test_jpeg(self):
        got = self.through(self.identity(1, 3, 16, 16), self.file("a.jpg", JPEG), "--scale", 255)
        np.testing.assert_allclose(got[0].reshape(3, -1).T, np.broadcast_to((200, 100, 50), (256, 3)), atol=2)

    def test_where_outputs_go_is_checked_first(self):
        os.mkdir(self.path("d.npz"))
        inside_a_file = self.path(os.path.join("a.npy", "out"))
        self.npy("a.npy", self.image)
        missing = ["-i", "image=/nowhere.npy"]  # reported only by a command that has started its work
        for place, named in ((inside_a_file, "a.npy"), ("/nowhere/a.npz", "/nowhere"), (self.path("d.npz"), "d.npz")):
            self.fails(1, ["run", DIGITS, "--save", place, *missing], f"cannot write '{place}'", named)
        self.assertEqual(retort("run", DIGITS, "--save", self.path("new/deep/"))[0], 0)
        self.assertTrue(os.path.exists(self.path("new/deep/probabilities.npy")))

    def test_shapes_that_nobody_gave(self):
        ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, "length"]) for n in "xy"]
        model = self.model([helper.make_node("Reshape", ["x", "s"], ["y"])], ports[:1], ports[1:])
        given = onnx.load(model)
        given.graph.initializer.append(numpy_helper.from_array(np.array([2, -1]), "s"))
        onnx.save(given, model)
        self.fails(1, ["run", model], "'x' is random", "free extents of its shape are 1; --shape x=1x1 with other numbers")
        self.assertEqual(retort("run", model, "--shape", "x=1x4")[0], 0)
        self.assertNotIn("--shape", retort("run", model, "--shape", "x=1x3")[2])

    def test_more_than_memory(self):
        words = ["run", DIGITS, "--shape", "image=99999999999x1x8x8"]
        if "Sanitizer: allocator is out of memory" in retort(*words)[2]:
            self.skipTest("a sanitizer ends the program where operator new would throw")
        self.fails(1, words, "'image' of shape 99999999999x1x8x8", "memory", "--shape")

    def test_numbers_of_runs(self):
        for wrong in ("0", "-1", "many"):
            self.assertIn(f"--repeat: '{wrong}' is not an integer from 1 to", retort("run", DIGITS, "--repeat", wrong)[2])

    def test_files_that_are_no_model(self):
        for content, hint in ((b"<!DOCTYPE html>", "this is a text file that begins with '<!DOCTYPE html>'"), (b"PK\3\4\0\0", "NAME.onnx"),
                              (b"\x93NUMPY\1\0", "NAME.onnx"), (b"secret:20228", "NAME.onnx: this is a text"), (b"\x08\x0a\x3a\x7f", "it is incomplete")):
            code, _, err = retort("run", self.file("m.onnx", content))
            self.assertEqual((code, "this is not an ONNX model" in err), (1, content[0] != 8), err)
            self.assertIn(hint, err)

    def test_wrong_pictures(self):
        good = png(np.zeros((4, 4, 3), np.uint8))
        model = self.identity(1, 3, 8, 8)
        self.fails(1, ["run", model, "-i", self.file("a.png", good)], "4 x 4 pixels", "[1,3,8,8]", "--resize")
        self.fails(1, ["run", model, "-i", self.file("a.png", good[:40])], "a.png")
        self.fails(1, ["run", model, "-i", self.file("a.jpg", JPEG[:100])], "a.jpg")
        self.fails(1, ["run", model, "-i", self.file("a.png", good), "--resize", "8x8", "--mean", "1,2"], "--mean", "3 channels")
        self.fails(2, ["run", model, "-i", self.file("a.png", good), "--resize", "8x8x"], "8x8x")
        self.fails(2, ["run", model, "-i", self.file("a.png", good), "--mean", "a"], "'a'")
        self.fails(2, ["run", model, "-i", self.file("a.png", good), "--std", "1,0,1"], "'1,0,1': the divisor must not be 0")
        self.fails(1, ["run", self.identity("n", "c", "h", "w"), "-i", self.file("a.png", good)], "--layout")
        self.fails(1, ["run", self.identity(4, 4), "-i", self.file("a.png", good)], "rank 3 or 4")

    def test_sound(self):
        samples = np.array([0, 1, -1, 16384, -32768, 32767], np.int16)
        got = self.through(self.identity(1, "n"), self.file("a.wav", wav(1, 16, 1, samples.tobytes())))
        np.testing.assert_array_equal(got, samples[None].astype(np.float32) / 32768)
        stereo = np.stack([samples, samples[::-1]], 1)
        got = self.through(self.identity("n"), self.file("a.wav", wav(1, 16, 2, stereo.tobytes())))
        np.testing.assert_allclose(got, stereo.astype(np.float32).mean(1) / 32768)
        got = self.through(self.identity("n"), self.file("a.wav", wav(3, 32, 1, np.array([0.5, -0.25], np.float32).tobytes())))
        np.testing.assert_array_equal(got, [0.5, -0.25])
        got = self.through(self.identity("n"), self.file("a.wav", wav(1, 24, 1, b"\x00\x00\x40\x00\x00\xc0")))
        np.testing.assert_array_equal(got, [0.5, -0.5])
        got = self.through(self.identity("n"), self.file("a.wav", wav(1, 8, 1, bytes([0, 128, 192]))))
        np.testing.assert_array_equal(got, [-1, 0, 0.5])
        eight = self.identity(8)
        self.fails(1, ["run", eight, "-i", self.file("a.wav", wav(1, 16, 1, samples.tobytes()))], "6 samples", "--fit")
        np.testing.assert_array_equal(self.through(eight, self.path("a.wav"), "--fit")[6:], [0, 0])
        got = self.through(self.identity("batch", 8, 1), self.path("a.wav"), "--fit")
        self.assertEqual(got.shape, (1, 8, 1))
        np.testing.assert_array_equal(got[0, :6, 0], samples.astype(np.float32) / 32768)
        self.assertEqual(self.through(self.identity("n", 1), self.path("a.wav")).shape, (6, 1))
        self.fails(1, ["run", self.identity(1, 6, 2), "-i", self.path("a.wav")], "[1,6,2]", "[batch,samples,1]")
        self.fails(1, ["run", eight, "-i", self.file("a.wav", wav(2, 4, 1, b"abcd"))], "4 bits")
        self.fails(1, ["run", eight, "-i", self.file("a.wav", b"RIFF")], "a.wav")

    def two_inputs(self):
        ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["batch", 2]) for n in ("a", "b", "y")]
        return self.model([helper.make_node("Add", ["a", "b"], ["y"])], ports[:2], ports[2:])

    def test_npz(self):
        model = self.two_inputs()
        a, b = np.array([[1, 2]], np.float32), np.array([[3, 4]], np.float32)
        for save in (np.savez, np.savez_compressed):
            save(self.path("in.npz"), a=a, b=b)
            code, _, err = retort("run", model, "-i", self.path("in.npz"), "--save", self.path("out.NPZ"))
            self.assertEqual(code, 0, err)
            with np.load(self.path("out.NPZ")) as got:
                np.testing.assert_array_equal(got["y"], a + b)
        np.savez(self.path("in.npz"), a=a, c=b)
        self.fails(1, ["run", model, "-i", self.path("in.npz")], "no input 'c'")
        self.fails(1, ["run", model, "-i", "b=" + self.path("in.npz"), "--random"], "no array 'b'")
        with open(self.path("in.npz"), "rb") as f:
            whole = f.read()
        self.fails(1, ["run", model, "-i", self.file("cut.npz", whole[:len(whole) // 2])], "cut.npz")

    def test_random_is_asked_for(self):
        model = self.two_inputs()
        given = ["-i", "a=" + self.npy("a.npy", np.ones((3, 2), np.float32))]
        self.fails(1, ["run", model, *given], "input 'b' is not given", "--random")
        code, out, err = retort("run", model, *given, "--random", "--json")
        self.assertEqual(code, 0, err)
        self.assertEqual(json.loads(out)["inputs"]["b"]["shape"], [3, 2])  # its free extent is that of a
        values = [json.loads(retort("run", model, "--seed", seed, "--json")[1])["outputs"]["y"]["values"] for seed in (1, 1, 2)]
        self.assertEqual(values[0], values[1])
        self.assertNotEqual(values[0], values[2])
        self.assertIn("seed 1", retort("run", model)[1])

    def test_strings(self):
        model = self.identity("n", dtype=TensorProto.STRING)
        text = numpy_helper.from_array(np.array(["one", "żwei"], object)).SerializeToString()
        code, out, err = retort("run", model, "-i", self.file("x.pb", text), "--save", self.path("out"))
        self.assertEqual(code, 0, err)
        self.assertIn('"one" "żwei"', out)
        tensor = TensorProto()
        with open(self.path("out/y.pb"), "rb") as f:
            tensor.ParseFromString(f.read())
        self.assertEqual(list(numpy_helper.to_array(tensor)), ["one", "żwei"])

    def test_report(self):
        code, out, err = retort("run", DIGITS, "--repeat", 5, "--copies", "--json")
        self.assertEqual((code, err), (0, ""))
        told = json.loads(out)
        self.assertEqual(told["runs"]["count"], 5)
        self.assertRegex(told["engine"], r"^Retort \d+\.\d+\.\d+$")
        self.assertGreaterEqual(told["runs"]["max_ms"], told["runs"]["median_ms"])
        self.assertGreater(told["runs"]["min_ms"], 0)
        self.assertEqual(told["outputs"]["probabilities"]["shape"], [1, 10])
        self.assertEqual(told["per_run"]["copied_bytes"], 0)
        self.assertIn(told["per_run"]["allocations"], (0, None))  # not counted under sanitizers

    def test_copies_are_counted(self):
        """The size of NonZero's output depends on data, so it is allocated."""
        ports = helper.make_tensor_value_info("x", TensorProto.FLOAT, [3]), helper.make_tensor_value_info("y", TensorProto.INT64, [1, None])
        model = self.model([helper.make_node("NonZero", ["x"], ["y"])], ports[:1], ports[1:])
        told = json.loads(retort("run", model, "--copies", "--json")[1])["per_run"]
        self.assertNotEqual(told["allocations"], 0)

    def test_provider(self):
        self.assertEqual(retort("run", DIGITS, "--provider", "CPU")[0], 0)
        self.fails(1, ["run", DIGITS, "--provider", "Frob"], "Frob")
        self.fails(2, ["run", DIGITS, "--provider", "CPU:a"], "KEY=VALUE")


if __name__ == "__main__":
    sys.exit(unittest.main())
