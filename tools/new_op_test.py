#!/usr/bin/env python3
"""That new_op says of operators what the hand-written files say, and that what it writes compiles."""
import glob
import importlib.machinery
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
spec = importlib.util.spec_from_loader("new_op", importlib.machinery.SourceFileLoader("new_op", os.path.join(HERE, "new_op")))
new_op = importlib.util.module_from_spec(spec)
spec.loader.exec_module(new_op)


def generated(name, domain=""):
    schemas = new_op.history(name, domain)
    return new_op.operator_file(schemas[-1], [s.since_version for s in schemas])


def field(text, name):
    found = re.search(rf"\.{name} = (.*?),\n(?=    \.|\}}\))", text, re.S)
    return re.sub(r"\s+", " ", found.group(1)) if found else None


class NewOp(unittest.TestCase):
    def test_file_names(self):
        for name, file in {"LeakyRelu": "leaky_relu", "MatMul": "matmul", "LRN": "lrn", "RMSNormalization": "rms_normalization",
                           "ConvTranspose": "conv_transpose", "PRelu": "prelu"}.items():
            self.assertEqual(new_op.snake(name), file)

    def test_agrees_with_the_operators_there_are(self):
        for name in ("LeakyRelu", "Celu", "MaxPool", "LpPool", "Softmax", "Add"):
            path, = glob.glob(os.path.join(ROOT, "src", "ops", "*", new_op.snake(name) + ".cc"))
            with open(path, encoding="utf-8") as f:
                written = f.read()
            for key in ("since", "inputs", "outputs", "types"):
                self.assertEqual(field(generated(name), key), field(written, key), f"{name}: {key}")

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
                             ("LabelEncoder", "ai.onnx.ml"), ("NonMaxSuppression", "")]:
            text += generated(name, domain) + new_op.test_file(new_op.history(name, domain)[-1])
        result = self.compile(text)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_an_operator_that_is_there_is_left_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(os.path.join(folder, "src", "ops", "nn"))
            open(os.path.join(folder, "src", "ops", "nn", "relu.cc"), "w", encoding="utf-8").close()
            done = subprocess.run([sys.executable, os.path.join(HERE, "new_op"), "Relu", "--root", folder], capture_output=True, encoding="utf-8")
            self.assertEqual((done.returncode, done.stderr.strip()), (1, os.path.join("src", "ops", "nn", "relu.cc") + " exists already"))
            self.assertFalse(os.path.exists(os.path.join(folder, "src", "ops", "math")))

    def test_the_python_of_the_venv_takes_over(self):
        """A venv links to the Python that it was made by, and that one has no onnx."""
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
