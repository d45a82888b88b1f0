"""The swap that the README shows: the drop-in in place of the libonnxruntime.so that a Python package's wheel
carries."""
import importlib.util
import json
import os
import shutil
import sys
import unittest

import made
import onnx
from onnx import TensorProto, helper

PACKAGE, LIBRARY = "sherpa_onnx", os.path.join("lib", "libonnxruntime.so")
DROP_IN = os.path.join(made.OUT, "lib", "libonnxruntime.so.1")
SILERO = os.path.join(os.path.dirname(made.ROOT), "shared", "models", "silero-vad-v5", "model.onnx")
# Finds speech in twelve seconds: two of every three have tones like a voice's.
DETECT = """
import json, math, random, sys
import sherpa_onnx

config = sherpa_onnx.VadModelConfig()
config.silero_vad.model, config.sample_rate, config.num_threads = sys.argv[1], 16000, 1
detector = sherpa_onnx.VoiceActivityDetector(config, buffer_size_in_seconds=30)
draw = random.Random(1)
tones = [(k, sum(math.exp(-((k * 120 - f) / 200) ** 2) for f in (500, 1500, 2500))) for k in range(1, 26)]

def sample(i):
    t = i / 16000
    loud = math.sin(6 * math.pi * t) ** 2 if t % 3 < 2 else 0
    phase = 2 * math.pi * (120 * t - 4.5 * math.cos(4.4 * t))
    return 0.002 * draw.gauss(0, 1) + (0.2 * loud * sum(a * math.sin(k * phase) for k, a in tones) if loud else 0)

found = []
for start in range(0, 12 * 16000, 512):
    detector.accept_waveform([sample(i) for i in range(start, start + 512)])
detector.flush()
while not detector.empty():
    found.append([detector.front.start, len(detector.front.samples)])
    detector.pop()
libraries = {line.split(maxsplit=5)[5].strip() for line in open("/proc/self/maps") if "libonnxruntime" in line}
print(json.dumps([found, sorted(libraries)]))
"""


def loudness(path):
    """A model with the inputs and outputs of Silero's detector, which returns the loudness of the sound."""
    def tensor(name, values, kind=TensorProto.FLOAT, shape=()):
        return helper.make_tensor(name, kind, shape, values)

    nodes = [helper.make_node("Mul", ["input", "input"], ["squares"]), helper.make_node("ReduceMean", ["squares", "axes"], ["power"]),
             helper.make_node("Mul", ["power", "gain"], ["scaled"]), helper.make_node("Sub", ["scaled", "bias"], ["logit"]),
             helper.make_node("Sigmoid", ["logit"], ["output"]), helper.make_node("Identity", ["state"], ["stateN"])]
    ports = {name: helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in (
        ("input", TensorProto.FLOAT, [None, None]), ("state", TensorProto.FLOAT, [2, None, 128]), ("sr", TensorProto.INT64, []),
        ("output", TensorProto.FLOAT, [None, 1]), ("stateN", TensorProto.FLOAT, [2, None, 128]))}
    graph = helper.make_graph(nodes, "loudness", [ports[n] for n in ("input", "state", "sr")], [ports[n] for n in ("output", "stateN")],
                              [tensor("axes", [1], TensorProto.INT64, (1,)), tensor("gain", [1000.0]), tensor("bias", [2.0])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


class Swap(unittest.TestCase):
    def setUp(self):
        found = importlib.util.find_spec(PACKAGE)
        if not found:
            self.skipTest(f"no {PACKAGE}; tools/setup.sh swap installs it")
        site = os.path.dirname(os.path.dirname(found.origin))
        self.site = made.fresh("site")
        for name in (PACKAGE, PACKAGE + ".libs"):
            if os.path.isdir(os.path.join(site, name)):
                shutil.copytree(os.path.join(site, name), os.path.join(self.site, name))
        self.library = os.path.join(self.site, PACKAGE, LIBRARY)

    def detect(self, model):
        printed = made.run(sys.executable, "-c", DETECT, model, env=made.bare(PYTHONPATH=self.site)).splitlines()[-1]
        found, libraries = json.loads(printed)
        self.assertEqual(libraries, [self.library])  # and no second one
        return found

    def engine(self):
        return made.run(os.path.join(made.OUT, "bin", "retort"), "devices", "--library", self.library)

    def test_same_results(self):
        models = [loudness(os.path.join(self.site, "loudness.onnx"))] + ([SILERO] if os.path.exists(SILERO) else [])
        self.assertIn("engine: ONNX Runtime", self.engine())
        theirs = [self.detect(m) for m in models]
        self.assertTrue(all(len(found) >= 2 for found in theirs), theirs)
        os.rename(self.library, self.library + ".official")
        shutil.copy(DROP_IN, self.library)
        self.assertIn("engine: Retort", self.engine())
        self.assertEqual([self.detect(m) for m in models], theirs)
        os.rename(self.library + ".official", self.library)
        self.assertIn("engine: ONNX Runtime", self.engine())


if __name__ == "__main__":
    unittest.main(verbosity=2)
