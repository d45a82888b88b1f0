#!/usr/bin/env python3
"""retort run shows, saves and reads every element type, sequences and maps, and all forms of .npy files."""
import json
import os
import sys
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tool import ToolTest, retort

# Type, raw bytes of its elements as ONNX packs them, the numbers.
SMALL = {
    "int4": (bytes([0x9F, 0x07]), [-1, -7, 7]),
    "uint4": (bytes([0x9F, 0x07]), [15, 9, 7]),
    "int2": (bytes([0b10010011, 0b01]), [-1, 0, 1, -2, 1]),
    "uint2": (bytes([0b10010011, 0b01]), [3, 0, 1, 2, 1]),
    "float4e2m1": (bytes([0x71, 0x0D]), [0.5, 6, -3]),
    "float8e4m3fn": (bytes([0x38, 0xFE, 0x01, 0x7F]), [1, -448, 2.0 ** -9, None]),
    "float8e4m3fnuz": (bytes([0x40, 0xFF, 0x01, 0x80]), [1, -240, 2.0 ** -10, None]),
    "float8e5m2": (bytes([0x3C, 0xFB, 0x01, 0xFF]), [1, -57344, 2.0 ** -16, None]),
    "float8e5m2fnuz": (bytes([0x40, 0xFF, 0x01, 0x80]), [1, -57344, 2.0 ** -17, None]),
    "float8e8m0": (bytes([127, 130, 0, 255]), [1, 8, 2.0 ** -127, None]),
}


class Values(ToolTest):
    def write(self, name, content):
        with open(self.path(name), "wb") as f:
            f.write(content)
        return self.path(name)

    def message(self, kind, name):
        got = kind()
        with open(self.path(name), "rb") as f:
            got.ParseFromString(f.read())
        return got

    def saved(self, nodes, inputs, outputs, opset=25, ir=13):
        graph = helper.make_graph(nodes, "g", inputs, outputs)
        domains = [helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", 3)]
        onnx.save(helper.make_model(graph, opset_imports=domains, ir_version=ir), self.path("m.onnx"))
        return self.path("m.onnx")

    def identity(self, dtype, shape):
        ports = [helper.make_tensor_value_info(n, dtype, shape) for n in "xy"]
        return self.saved([helper.make_node("Identity", ["x"], ["y"])], ports[:1], ports[1:])

    def run_and_save(self, model, *words):
        code, out, err = retort("run", model, *words, "--save", self.path("out"))
        self.assertEqual(code, 0, err)
        return out

    def test_small_types(self):
        for name, (raw, numbers) in SMALL.items():
            with self.subTest(name):
                dtype = getattr(TensorProto, name.upper())
                model = self.identity(dtype, [None])
                given = TensorProto(dims=[len(numbers)], data_type=dtype, raw_data=raw)
                file = self.write("x.pb", given.SerializeToString())
                out = self.run_and_save(model, "-i", file)
                self.assertRegex(out, rf"y +{name} {len(numbers)} +{numbers[0]:g} {numbers[1]:g} ")
                got = self.message(TensorProto, "out/y.pb")
                self.assertEqual((got.data_type, list(got.dims), got.raw_data), (dtype, [len(numbers)], raw))
                told = json.loads(retort("run", model, "-i", file, "--json")[1])["outputs"]["y"]
                self.assertEqual((told["type"], told["values"]), (name, numbers))
                in_fields = TensorProto(dims=[len(numbers)], data_type=dtype, int32_data=raw)
                self.run_and_save(model, "-i", self.write("x.pb", in_fields.SerializeToString()))
                self.assertEqual(self.message(TensorProto, "out/y.pb").raw_data, raw)
                self.assertEqual(retort("run", model, "--shape", "x=7")[0], 0)  # at random
                self.fails(1, ["run", model, "-i", self.write("z.pb", TensorProto(dims=[9], data_type=dtype, raw_data=raw).SerializeToString())], "does not fit")
                code, _, err = retort("run", model, "-i", file, "--save", self.path("a.npz"))
                self.assertEqual((code, os.path.exists(self.path("a.npz"))), (1, False))
                self.assertIn(f"output 'y' cannot be saved in an .npz file, which has no elements of type {name}", err)

    def test_complex(self):
        for name, dtype in (("complex64", TensorProto.COMPLEX64), ("complex128", TensorProto.COMPLEX128)):
            model, x = self.identity(dtype, [None]), np.array([1 + 2j, -0.5 - 3j], name)
            out = self.run_and_save(model, "-i", self.npy("x.npy", x))
            self.assertRegex(out, rf"y +{name} 2 +1\+2i -0\.5-3i\n")
            np.testing.assert_array_equal(np.load(self.path("out/y.npy")), x)
            code, out, err = retort("run", model, "-i", self.path("x.npy"), "--json", "--save", self.path("out.npz"))
            self.assertEqual((code, json.loads(out)["outputs"]["y"]["values"]), (0, [[1, 2], [-0.5, -3]]), err)
            with np.load(self.path("out.npz")) as got:
                np.testing.assert_array_equal(got["y"], x)
            self.assertRegex(retort("run", model, "-i", self.npy("x.npy", np.ones(20, name)))[1], r" 1\+0i …\n")

    def sequence(self):
        nodes = [helper.make_node("SequenceConstruct", ["a", "b"], ["y"])]
        ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [None]) for n in "ab"]
        return self.saved(nodes, ports, [helper.make_tensor_sequence_value_info("y", TensorProto.FLOAT, [None])], 17, 8)

    def test_sequences(self):
        a, b = np.array([1, 2], np.float32), np.array([3], np.float32)
        given = ["-i", "a=" + self.npy("a.npy", a), "-i", "b=" + self.npy("b.npy", b)]
        out = self.run_and_save(self.sequence(), *given)
        self.assertRegex(out, r"y +sequence of 2\n  \[0\] +float32 2 +1 2\n  \[1\] +float32 1 +3\n")
        for got, want in zip(numpy_helper.to_list(self.message(onnx.SequenceProto, "out/y.pb")), (a, b), strict=True):
            np.testing.assert_array_equal(got, want)
        told = json.loads(retort("run", self.path("m.onnx"), *given, "--json")[1])["outputs"]["y"]
        self.assertEqual([told["type"], [i["values"] for i in told["items"]]], ["sequence", [[1, 2], [3]]])
        code, _, err = retort("run", self.path("m.onnx"), *given, "--save", self.path("a.npz"))
        self.assertEqual((code, os.path.exists(self.path("a.npz"))), (1, False))
        self.assertIn("output 'y' cannot be saved in an .npz file, which has no sequences or maps; give --save a folder", err)

    def test_sequences_are_inputs(self):
        """In the format that --save writes."""
        a, b = np.array([1, 2], np.float32), np.array([3], np.float32)
        self.run_and_save(self.sequence(), "-i", "a=" + self.npy("a.npy", a), "-i", "b=" + self.npy("b.npy", b))
        saved = self.path("out/y.pb")
        port = helper.make_tensor_sequence_value_info
        nodes = [helper.make_node("SequenceErase", ["s", "at"], ["t"]), helper.make_node("ConcatFromSequence", ["s"], ["all"], axis=0)]
        model = self.saved(nodes, [port("s", TensorProto.FLOAT, None), helper.make_tensor_value_info("at", TensorProto.INT64, [])],
                           [port("t", TensorProto.FLOAT, None), helper.make_tensor_value_info("all", TensorProto.FLOAT, None)], 17, 8)
        given = ["-i", "s=" + saved, "-i", "at=" + self.npy("at.npy", np.array(0))]
        out = self.run_and_save(model, *given)
        self.assertRegex(out, r"t +sequence of 1\n  \[0\] +float32 1 +3\nall +float32 3 +1 2 3\n")
        self.assertEqual(retort("profile", model, *given)[0], 0)
        self.assertEqual(retort("diff", model, *given, "--against-model", model)[0], 0)
        self.fails(1, ["run", model], "input 's' is not a tensor", "--input s=FILE.pb")
        self.fails(1, ["run", model, "-i", "s=" + self.path("a.npy"), "--random"], "a.npy", ".pb")
        self.fails(1, ["run", model, "-i", "s=" + self.write("s.pb", b"\x1a\xff"), "--random"], "malformed SequenceProto")

    def test_maps_are_inputs(self):
        kinds = (TensorProto.STRING, "string_vocabulary", ["dog", "cat", "cow"], "string_keys", [b"cat", b"dog"]), \
                (TensorProto.INT64, "int64_vocabulary", [7, 5, 9], "keys", [5, 7])
        for key, attribute, vocabulary, field, keys in kinds:
            kind = helper.make_map_type_proto(key, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
            model = self.saved([helper.make_node("DictVectorizer", ["m"], ["y"], domain="ai.onnx.ml", **{attribute: vocabulary})],
                               [helper.make_value_info("m", kind)], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 3])], 17, 8)
            proto = onnx.MapProto(key_type=key, **{field: keys})
            values = onnx.SequenceProto(elem_type=onnx.SequenceProto.TENSOR)
            values.tensor_values.extend(numpy_helper.from_array(np.float32(v)) for v in (0.25, 0.75))
            self.fails(1, ["run", model, "-i", self.write("m.pb", proto.SerializeToString())], "as many values as keys")
            proto.values.CopyFrom(values)
            out = self.run_and_save(model, "-i", self.write("m.pb", proto.SerializeToString()))
            self.assertRegex(out, r"y +float32 1x3 +0.75 0.25 0\n")
            proto.values.tensor_values[1].CopyFrom(numpy_helper.from_array(np.zeros(2, np.float32)))
            self.fails(1, ["run", model, "-i", self.write("m.pb", proto.SerializeToString())], "single elements")

    def test_optional_values(self):
        kind = helper.make_tensor_type_proto(TensorProto.FLOAT, [2])
        boxed = [helper.make_value_info(n, helper.make_optional_type_proto(kind)) for n in ("some", "none")]
        nodes = [helper.make_node("Optional", ["x"], ["some"]), helper.make_node("Optional", [], ["none"], type=kind)]
        model = self.saved(nodes, [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])], boxed, 17, 8)
        x = np.array([1, 2], np.float32)
        out = self.run_and_save(model, "-i", self.npy("x.npy", x))
        self.assertRegex(out, r"some +float32 2 +1 2\nnone +no value\n")
        np.testing.assert_array_equal(np.load(self.path("out/some.npy")), x)
        self.assertEqual(self.message(onnx.OptionalProto, "out/none.pb").name, "none")
        self.assertIsNone(json.loads(retort("run", model, "--json")[1])["outputs"]["none"])

    def test_maps(self):
        types = [helper.make_sequence_type_proto(helper.make_map_type_proto(key, helper.make_tensor_type_proto(TensorProto.FLOAT, [])))
                 for key in (TensorProto.STRING, TensorProto.INT64)]
        nodes = [helper.make_node("ZipMap", ["x"], ["texts"], domain="ai.onnx.ml", classlabels_strings=["cat", "dog"]),
                 helper.make_node("ZipMap", ["x"], ["numbers"], domain="ai.onnx.ml", classlabels_int64s=[5, 7])]
        model = self.saved(nodes, [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2])],
                           [helper.make_value_info(n, t) for n, t in zip(("texts", "numbers"), types)], 17, 8)
        code, out, err = retort("run", model, "-i", self.npy("x.npy", np.array([[0.25, 0.75]], np.float32)), "--save", self.path("out"))
        if "ZipMap is not known" in err:
            self.skipTest("the engine has no ZipMap")
        self.assertEqual(code, 0, err)
        self.assertRegex(out, r'texts +sequence of 1\n  \[0\] +map\n    keys +string 2 +"cat" "dog"\n    values +float32 2 +0.25 0.75\n')
        for name, want in (("texts", {"cat": 0.25, "dog": 0.75}), ("numbers", {5: 0.25, 7: 0.75})):
            (got,) = self.message(onnx.SequenceProto, f"out/{name}.pb").map_values
            keys = [k.decode() for k in got.string_keys] or list(got.keys)
            self.assertEqual(dict(zip(keys, (float(numpy_helper.to_array(v)) for v in got.values.tensor_values), strict=True)), want)

    def test_no_file_of_an_earlier_run_stays(self):
        words = self.write("w.pb", numpy_helper.from_array(np.array(["one"], object)).SerializeToString())
        self.run_and_save(self.identity(TensorProto.STRING, [1]), "-i", words)
        self.assertEqual(os.listdir(self.path("out")), ["y.pb"])
        self.run_and_save(self.identity(TensorProto.FLOAT, [1]))
        self.assertEqual(os.listdir(self.path("out")), ["y.npy"])
        self.run_and_save(self.identity(TensorProto.STRING, [1]), "-i", words)
        self.assertEqual(os.listdir(self.path("out")), ["y.pb"])

    def test_forms_of_npy(self):
        for name in ("float16", "float32", "float64", "int8", "int32", "int64", "uint16", "complex64", "complex128"):
            x = np.arange(2 * 3 * 4).reshape(2, 3, 4).astype(name)
            model = self.identity(helper.np_dtype_to_tensor_dtype(x.dtype), [2, 3, 4])
            for form in (np.asfortranarray(x), x.astype(x.dtype.newbyteorder(">")), np.asfortranarray(x.astype(x.dtype.newbyteorder(">")))):
                self.run_and_save(model, "-i", self.npy("x.npy", form))
                np.testing.assert_array_equal(np.load(self.path("out/y.npy")), x)
        self.run_and_save(self.identity(TensorProto.FLOAT, [0, 3]), "-i", self.npy("x.npy", np.asfortranarray(np.zeros((0, 3), np.float32))))

    def test_text_in_npy(self):
        text = np.array([["one", "żwei", ""], ["日本", "𝄞", "a\u00e9"]])
        model = self.identity(TensorProto.STRING, [2, 3])
        plain = np.array([[b"one", b"two", b""], [b"a", b"bb", b"ccc"]])
        for form, want in ((text, text), (np.asfortranarray(text), text), (text.astype(text.dtype.newbyteorder(">")), text), (plain, plain.astype(str))):
            self.run_and_save(model, "-i", self.npy("x.npy", form))
            self.assertEqual(numpy_helper.to_array(self.message(TensorProto, "out/y.pb")).tolist(), want.tolist())
        code, out, err = retort("run", model, "-i", self.npy("x.npy", np.full((2, 3), b"caf\xe9")), "--json")  # bytes that are not UTF-8
        self.assertEqual((code, json.loads(out)["outputs"]["y"]["values"]), (0, ["caf\ufffd"] * 6), err)
        header = b"\x93NUMPY\x01\x00\x76\x00" + b"{'descr': '<U1', 'fortran_order': False, 'shape': (2,3), }".ljust(0x75) + b"\n"
        self.fails(1, ["run", model, "-i", self.write("x.npy", header + b"\xff" * 24)], "not Unicode")
        self.fails(1, ["run", model, "-i", self.write("x.npy", header + b"a\0\0\0")], "cut off")
        np.save(self.path("o.npy"), np.array([["a"]], object), allow_pickle=True)
        self.fails(1, ["run", model, "-i", self.path("o.npy")], "element type |O is not supported")


if __name__ == "__main__":
    sys.exit(unittest.main())
