"""What workers of Ray and Spark share: batches that are padded, one copy of the weights for each host."""
import os
import subprocess
import sys

import numpy as np
import onnx
import pytest
import retort
from onnx import TensorProto, helper, numpy_helper
from retort._worker import Batches


@pytest.fixture
def batches(digits, tmp_path):
    return Batches(str(digits), sizes=(4, 16), cache=str(tmp_path))


@pytest.mark.parametrize("rows", [1, 3, 4, 5, 16, 17, 40])
def test_any_number_of_rows(digits, batches, rows):
    images = np.random.default_rng(rows).random((rows, 1, 8, 8), np.float32)
    expected, = retort.InferenceSession(digits).run(None, {"image": images})
    found = batches({"image": images, "other": range(rows)})["probabilities"]
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_no_rows(batches):
    assert batches({"image": np.empty((0, 1, 8, 8), np.float32)})["probabilities"].shape == (0, 10)
    assert batches({"image": []})["probabilities"].shape == (0, 10)


def test_columns_of_other_types(batches):
    images = np.random.default_rng(0).random((3, 1, 8, 8))
    expected = batches({"image": images.astype(np.float32)})["probabilities"]
    as_objects = np.empty(3, object)
    as_objects[:] = list(images)
    for column in (images, images.tolist(), as_objects):
        np.testing.assert_array_equal(batches({"image": column})["probabilities"], expected)


def test_mistakes(batches, tmp_path):
    with pytest.raises(KeyError):
        batches({"picture": np.zeros((1, 1, 8, 8), np.float32)})
    summed = helper.make_graph([helper.make_node("ReduceSum", ["x"], ["y"], keepdims=1)], "g",
                               [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 2])], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1])])
    model = helper.make_model(summed, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString()
    with pytest.raises(ValueError, match="output 'y' has 1 rows"):
        Batches(model, sizes=(4,), cache=str(tmp_path))({"x": np.ones((3, 2), np.float32)})


WORKER = """
import sys, numpy
from retort._worker import Batches
batches = Batches(sys.argv[1], cache=sys.argv[2], sizes=(1,))
batches({"x": numpy.ones((1, 2048), numpy.float32)})
print("ready", flush=True)
sys.stdin.readline()
"""


def private_kib(process):
    """The memory that no other process maps."""
    with open(f"/proc/{process.pid}/smaps_rollup", encoding="utf-8") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith("Private_"))


@pytest.mark.memory
@pytest.mark.retort_only("the official library has no packed weights that processes share")
def test_the_second_worker_has_no_copy_of_the_weights(tmp_path):
    random = np.random.default_rng(0)
    weights = [(f"w{i}", random.standard_normal((2048, 2048), np.float32)) for i in range(4)]  # 64 MiB
    nodes = [helper.make_node("MatMul", [f"x{i}" if i else "x", f"w{i}"], [f"x{i + 1}"]) for i in range(4)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 2048])],
                              [helper.make_tensor_value_info("x4", TensorProto.FLOAT, ["rows", 2048])], [numpy_helper.from_array(w, n) for n, w in weights])
    path = tmp_path / "wide.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    workers = [subprocess.Popen([sys.executable, "-c", WORKER, str(path), str(tmp_path / "cache")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8",
                                env={**os.environ, "MALLOC_TRIM_THRESHOLD_": "0"}) for _ in range(2)]
    assert [worker.stdout.readline() for worker in workers] == ["ready\n"] * 2
    private = [private_kib(worker) for worker in workers]  # while both have their sessions
    for worker in workers:
        worker.communicate("\n")
    assert max(private) < 48 * 1024, f"private memory of the workers: {private} KiB, of which weights would be 65536"
