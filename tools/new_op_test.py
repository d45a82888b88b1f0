#!/usr/bin/env python3
"""Tests that new_op writes what the hand-written files of operators have, and that its files compile."""
import glob
import importlib.machinery
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
spec = importlib.util.spec_from_loader("new_op", importlib.machinery.SourceFileLoader("new_op", os.path.join(HERE, "new_op")))
new_op = importlib.util.module_from_spec(spec)
spec.loader.exec_module(new_op)
places = new_op.places


def generated(name, domain=""):
    return new_op.operator_file(new_op.schema_of(name, domain))


def field(text, name):
    found = re.search(rf"\.{name} = (.*?),\n(?=    \.|\}}\))", text, re.S)
    return re.sub(r"\s+", " ", found.group(1)) if found else None


def letters(text, key):
    """["T", "int64"] for {"X: T?", "axes: int64..."}"""
    return [formal.split(": ")[1].rstrip("?.") for formal in re.findall(r'"([^"]*)"', field(text, key) or "")]


def told_of(text):
    """Name, domain and class in an operator's file."""
    return (re.search(r'\.name = "(\w+)"', text)[1], (re.search(r'\.domain = "([\w.]+)"', text) or [0, ""])[1],
            re.search(r"define<(.*?)>\(\{", text, re.S)[1])


def operators():
    """(path below src/ops without extension, text) of every operator."""
    for path in sorted(glob.glob(os.path.join(ROOT, "src", "ops", "*", "*.cc"))):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        if re.search(r"^extern const OpDef op_", text, re.M):
            yield os.path.relpath(path, os.path.join(ROOT, "src", "ops"))[:-3].split(os.sep), text


def difference(written, wanted):
    """How the letters of an operator's file differ from those that new_op writes; "" if they agree. T and types like
    int64 have a meaning; other letters only show which parameters share a type. An operator without T chooses no kernel
    by a type: T is then a letter like others."""
    def free(letter):
        return not letter[0].islower() and (letter != "T" or "T" not in written)
    there, back = {}, {}
    if len(written) != len(wanted):
        return f"{len(written)} parameters, not {len(wanted)}"
    for a, b in zip(written, wanted):
        if free(a) != free(b) or (not free(a) and a != b) or (free(a) and (there.setdefault(a, b), back.setdefault(b, a)) != (b, a)):
            return f"{a} where new_op says {b}"
    return ""


# Kernels that are not chosen by the first constraint of several types: T is another one here, or all types are fixed.
OWN_LETTERS = {"DynamicQuantizeLSTM", "BifurcationDetector", "NGramRepeatBlock", "WordConvEmbedding", "GatherPacked", "GroupQueryAttention", "QMoE"}


class NewOp(unittest.TestCase):
    def test_file_and_class_names(self):
        for name, file in {"LeakyRelu": "leaky_relu", "MatMul": "matmul", "LRN": "lrn", "RMSNormalization": "rms_normalization",
                           "ConvTranspose": "conv_transpose", "PRelu": "prelu", "IsNaN": "is_nan"}.items():
            self.assertEqual(places.file_name(name, ""), file)
        for name, domain, file, of_class in (("Gelu", "com.microsoft", "microsoft_gelu", "MicrosoftGelu"), ("CDist", "com.microsoft", "c_dist", "CDist"),
                                             ("SVMRegressor", "ai.onnx.ml", "svm_regressor", "SvmRegressor"), ("Shape", "", "shape", "ShapeOp"),
                                             ("Pad", "retort", "nhwc_pad", "NhwcPad")):
            self.assertEqual((places.file_name(name, domain), places.class_name(name, domain, ROOT)), (file, of_class))

    def test_families_of_operators_that_are_not_there(self):
        for name, domain, folder in (("BifurcationDetector", "com.microsoft", "text"), ("CDist", "com.microsoft", "math"), ("QMoE", "com.microsoft", "quant"), ("MatMulNBits", "com.microsoft", "quant"), ("GatherND", "com.microsoft", "shape"),
                                     ("GatedRelativePositionBias", "com.microsoft", "nn"), ("SomethingNew", "ai.onnx.ml", "ml"), ("Anything", "retort", "fused")):
            self.assertEqual(places.family(name, domain), folder, name)

    def test_it_knows_where_every_operator_lies(self):
        found, used = 0, set()
        for (folder, file), text in operators():
            name, domain, of_class = told_of(text)
            with self.subTest(operator=f"{domain}.{name}"):
                self.assertEqual((places.family(name, domain), places.file_name(name, domain)), (folder, file))
                if re.search(rf"^struct {re.escape(of_class)}\b", text, re.M):  # otherwise the class is that of a family, with parameters
                    self.assertEqual(of_class, places.class_name(name, domain, ROOT))
            found += 1
            used.add(next((pattern for _, pattern in places.FAMILIES if re.search(pattern, name)), ""))
        self.assertGreater(found, 200)
        self.assertEqual({pattern for _, pattern in places.FAMILIES} - used, set(), "patterns that no operator has")

    def test_it_knows_versions_and_constraints_of_every_operator(self):
        listed = set()
        for (_, _), text in operators():
            name, domain, _ = told_of(text)
            if domain == "retort":
                continue  # operators that passes make have no schema
            if name in OWN_LETTERS:
                listed.add(name)
                continue
            with self.subTest(operator=f"{domain}.{name}"):
                said = generated(name, domain)
                self.assertEqual(field(text, "since"), field(said, "since"))
                self.assertEqual(difference(*(letters(of, "inputs") + letters(of, "outputs") for of in (text, said))), "")
        self.assertEqual(listed, OWN_LETTERS, "operators that do not exist")

    def test_what_the_comparison_sees(self):
        self.assertEqual(difference(["T", "S", "S", "int64"], ["T", "T2", "T2", "int64"]), "")
        self.assertEqual(difference(["V", "V", "I"], ["T", "T", "U"]), "")
        for written, wanted in ((["T", "S", "V"], ["T", "U", "U"]), (["T", "S", "S"], ["T", "U", "V"]), (["T", "U"], ["T", "T"]),
                                (["T", "I"], ["T", "int64"]), (["T", "int32"], ["T", "int64"]), (["T"], ["T", "T"])):
            self.assertNotEqual(difference(written, wanted), "", (written, wanted))

    def test_agrees_with_the_operators_there_are(self):
        for name in ("LeakyRelu", "Celu", "MaxPool", "LpPool", "Softmax", "Add"):
            path, = glob.glob(os.path.join(ROOT, "src", "ops", "*", places.file_name(name, "") + ".cc"))
            with open(path, encoding="utf-8") as f:
                written = f.read()
            for key in ("since", "inputs", "outputs", "types"):
                self.assertEqual(field(generated(name), key), field(written, key), f"{name}: {key}")

    def test_com_microsoft(self):
        text = generated("QuickGelu", "com.microsoft")
        self.assertIn("float alpha = 1.702f;", text)
        self.assertIn("c.shape(0)", text)  # inferred with ONNX Runtime
        self.assertEqual([field(text, k) for k in ("domain", "since", "inputs", "outputs", "types")],
                         ['"com.microsoft"', "{1}", '{"X: T"}', '{"Y: T"}', "kFloats"])
        self.assertIn('required("groups", &GroupNorm::groups)', generated("GroupNorm", "com.microsoft"))
        self.assertIn('{.domain = "com.microsoft"}', new_op.test_file(new_op.schema_of("CDist", "com.microsoft")))

    def test_the_domain_of_passes(self):
        self.assertEqual([field(generated("Gemm", "retort"), k) for k in ("domain", "since", "inputs", "traits")],
                         ['"retort"', None, '{"A: T", "B: T", "C: T?"}', "kInternal"])
        self.assertEqual(field(generated("Anything", "retort"), "inputs"), '{"X: T"}')

    def test_attributes(self):
        text = generated("LeakyRelu")
        self.assertIn("float alpha = 0.01f;", text)
        self.assertIn('attr("alpha", &LeakyRelu::alpha)', text)
        self.assertIn('required("kernel_shape", &MaxPool::kernel_shape)', generated("MaxPool"))
        self.assertIn('std::string auto_pad = "NOTSET";', generated("MaxPool"))

    def test_shape_inference_is_probed(self):
        self.assertIn("c.shape(0)", generated("LeakyRelu"))
        self.assertIn("c.broadcast({0, 1})", generated("Mod"))
        self.assertIn("shape inference of Concat is not written", generated("Concat"))

    def test_offers_a_cost(self):
        self.assertIn("Cost cost(const CostContext&) const", generated("Einsum"))

    def test_fixed_types_and_options(self):
        self.assertEqual(field(generated("Reshape"), "inputs"), '{"data: T", "shape: int64"}')
        self.assertIn('"B: T?"', field(generated("Conv"), "inputs"))
        self.assertIn('..."', field(generated("Concat"), "inputs"))

    def test_what_it_writes_compiles(self):
        # Elementwise; variadic; a tensor as attribute; a body; strings; another domain; bounds that follow from the
        # data.
        text = ""
        for name, domain in [("LeakyRelu", ""), ("Einsum", ""), ("ConstantOfShape", ""), ("Scan", ""), ("StringSplit", ""),
                             ("LabelEncoder", "ai.onnx.ml"), ("NonMaxSuppression", ""), ("CDist", "com.microsoft"), ("MultiHeadAttention", "com.microsoft"),
                             ("Gelu", "com.microsoft"), ("Gemm", "retort")]:
            text += generated(name, domain) + new_op.test_file(new_op.schema_of(name, domain))
        result = self.compile(text)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_an_operator_that_is_there_is_left_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(os.path.join(folder, "src", "ops", "nn"))
            open(os.path.join(folder, "src", "ops", "nn", "relu.cc"), "w", encoding="utf-8").close()
            done = subprocess.run([sys.executable, os.path.join(HERE, "new_op"), "Relu", "--root", folder], capture_output=True, encoding="utf-8")
            self.assertEqual((done.returncode, done.stderr.strip()), (1, os.path.join("src", "ops", "nn", "relu.cc") + " exists already"))
            self.assertFalse(os.path.exists(os.path.join(folder, "src", "ops", "math")))

    def test_an_operator_without_a_family(self):
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, os.path.join(HERE, "new_op"), "Snpe", "--domain", "com.microsoft", "--root", folder]
            done = subprocess.run(command, capture_output=True, encoding="utf-8")
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, "--family, one of .*math.*shape")
            done = subprocess.run([*command, "--family", "text"], capture_output=True, encoding="utf-8")
            self.assertEqual(done.stdout.split(), [os.path.join("src", "ops", "text", f) for f in ("snpe.cc", "snpe_test.cc")])

    def test_an_operator_with_more_inputs_than_there_is_room_for(self):
        with tempfile.TemporaryDirectory() as folder:
            command = ["new_op", "QMoE", "--domain", "com.microsoft", "--root", folder]
            with unittest.mock.patch.object(new_op, "room_for_ports", lambda: (16, 8)), unittest.mock.patch.object(sys, "argv", command):
                self.assertRaisesRegex(SystemExit, r"has \d+ inputs.* 16 and 8.*src/ops/op.h", new_op.main)
            self.assertEqual(os.listdir(folder), [])

    def test_the_python_of_the_venv_takes_over(self):
        """Starts new_op with the Python that the venv was made from, which has no package onnx of its own."""
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
            path, = glob.glob(os.path.join(folder, "lib", "python3*", "site-packages"))
            packages = [p for p in sys.path if os.path.isdir(os.path.join(p, "onnx"))]
            with open(os.path.join(path, "onnx.pth"), "w", encoding="utf-8") as f:
                f.write("\n".join(packages))
            base = os.path.realpath(os.path.join(folder, "bin", "python"))
            for onnx_inside in (True, False):
                if not onnx_inside:
                    os.remove(os.path.join(path, "onnx.pth"))
                done = subprocess.run([base, "-S", os.path.join(HERE, "new_op"), "LeakyRelu", "--print"], capture_output=True, encoding="utf-8",
                                      env={**os.environ, "VENV": folder, "PYTHONPATH": ""})
                self.assertEqual((done.returncode == 0, "LeakyRelu" in done.stdout), (onnx_inside, onnx_inside), done.stderr)
                self.assertEqual("make venv" in done.stderr, not onnx_inside)

    def compile(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".cc", encoding="utf-8") as f:
            f.write(text)
            f.flush()
            return subprocess.run([os.environ.get("CXX", "g++"), "-std=c++20", "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers", "-fsyntax-only", "-I", os.path.join(ROOT, "src"), f.name],
                                  capture_output=True, encoding="utf-8")


if __name__ == "__main__":
    unittest.main()
