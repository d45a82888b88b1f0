"""What run() and bindings take and give, beyond what test_sessions.py and test_bind.py have."""

from __future__ import annotations

import collections
import gc
import os
import pickle
import sys
import types
from typing import Any

import numpy as np
import pytest
import retort
from models import add, model
from onnx import TensorProto, helper
from retort import _native as C

X = np.arange(4, dtype=np.float32)


def feed() -> dict[str, Any]:
    return {"x": X, "y": X}


def test_mappings_other_than_dicts() -> None:
    session = retort.InferenceSession(add())
    for mapping in (
        collections.OrderedDict(feed()), collections.ChainMap(feed()), types.MappingProxyType(feed()),
        collections.UserDict(feed()),
    ):
        assert session.run(None, mapping)[0].tolist() == [0, 2, 4, 6]
    for wrong in ([1], 5, None):
        with pytest.raises((TypeError, AttributeError)):
            session.run(None, wrong)  # type: ignore[arg-type]


def test_names_of_outputs() -> None:
    session = retort.InferenceSession(add())
    for names in (None, [], (), ["z"], ("z",)):
        assert [result.tolist() for result in session.run(names, feed())] == [[0, 2, 4, 6]]
    first, second = session.run(["z", "z"], feed())
    assert first.tolist() == second.tolist()
    with pytest.raises(C.InvalidArgument, match="nope"):
        session.run(["nope"], feed())
    for wrong in ("z", [1], 5):
        with pytest.raises(TypeError):
            session.run(wrong, feed())  # type: ignore[arg-type]


def test_keys_that_are_equal_but_not_the_same_object() -> None:
    name = "".join(["a_", "long_", "name"])
    data = model([helper.make_node("Identity", ["a_long_name"], ["y"])], {"a_long_name": [4]}, {"y": [4]})
    session = retort.InferenceSession(data)
    assert session.run(None, {name: X})[0].tolist() == X.tolist()

    class Text(str):
        pass

    assert session.run(None, {Text(name): X})[0].tolist() == X.tolist()
    for key in (1, "a_long_nam", "a_long_name\ud800"):
        with pytest.raises((C.InvalidArgument, ValueError)):
            session.run(None, {name: X, key: X})  # type: ignore[dict-item]


def test_many_inputs_in_any_order() -> None:
    names = [f"input_{i}" for i in range(40)]
    data = model([helper.make_node("Sum", names, ["y"])], {name: [1] for name in names}, {"y": [1]})
    session = retort.InferenceSession(data)
    values = {name: np.array([i], np.float32) for i, name in enumerate(names)}
    expected = float(sum(range(40)))
    assert session.run(None, values)[0][0] == expected
    assert session.run(None, dict(reversed(values.items())))[0][0] == expected
    del values["input_7"], values["input_9"]
    with pytest.raises(ValueError, match=r"Required inputs \(\['input_7', 'input_9'\]\) are missing"):
        session.run(None, values)


def test_a_misspelt_input_is_reported_as_missing() -> None:
    session = retort.InferenceSession(add())
    with pytest.raises(ValueError, match=r"Required inputs \(\['y'\]\) are missing from input feed \(\['x', 'Y'\]\)"):
        session.run(None, {"x": X, "Y": X})
    with pytest.raises(C.InvalidArgument, match="Invalid input name: Y; the inputs are 'x', 'y'"):
        session.run(None, {"x": X, "y": X, "Y": X})


def test_a_refused_run_keeps_nothing() -> None:
    session = retort.InferenceSession(add())
    x = np.ones(1000, np.float32)
    before = sys.getrefcount(x)
    for wrong in ({"x": x}, {"x": x, "Y": x}, {"x": x, "y": x, "Y": x}, {"x": x, "y": object()}, {"x": x, "y": x[:9]}):
        for _ in range(10):
            with pytest.raises((ValueError, RuntimeError, C.InvalidArgument, C.Fail)):
                session.run(None, wrong)
    del wrong
    gc.collect()
    assert sys.getrefcount(x) == before


def test_many_outputs() -> None:
    names = [f"output_{i}" for i in range(20)]
    data = model([helper.make_node("Split", ["x"], names, num_outputs=20, axis=0)], {"x": [20]}, {n: [1] for n in names})
    results = retort.InferenceSession(data).run(None, {"x": np.arange(20, dtype=np.float32)})
    assert [float(result[0]) for result in results] == list(range(20))


def test_initializers_that_a_run_replaces() -> None:
    w = helper.make_tensor("w", 1, [4], [1.0] * 4)
    data = model([helper.make_node("Add", ["x", "w"], ["y"])], {"x": [4], "w": [4]}, {"y": [4]}, weights=[w])
    session = retort.InferenceSession(data)
    assert [a.name for a in session.get_inputs()] == ["x"]
    assert [a.name for a in session.get_overridable_initializers()] == ["w"]
    assert session.run(None, {"x": X})[0].tolist() == [1, 2, 3, 4]
    assert session.run(None, {"x": X, "w": X})[0].tolist() == [0, 2, 4, 6]
    binding = session.io_binding()
    binding.bind_cpu_input("x", X)
    binding.bind_cpu_input("w", X)
    binding.bind_output("y")
    session.run_with_iobinding(binding)
    assert binding.copy_outputs_to_cpu()[0].tolist() == [0, 2, 4, 6]


def test_node_args_show_names_of_extents() -> None:
    data = model(
        [helper.make_node("Identity", ["x"], ["y"])], {"x": (int(TensorProto.INT64), ["batch", None, 3])},
        {"y": (int(TensorProto.INT64), ["batch", None, 3])},
    )
    (argument,) = retort.InferenceSession(data).get_inputs()
    assert argument.shape == ["batch", None, 3] and argument.type == "tensor(int64)"
    assert str(argument) == "NodeArg(name='x', type='tensor(int64)', shape=['batch', None, 3])"


def test_results_own_their_memory() -> None:
    session = retort.InferenceSession(add())
    first = session.run(None, feed())[0]
    session.run(None, {"x": X + 100, "y": X})
    del session
    gc.collect()
    assert first.tolist() == [0, 2, 4, 6] and first.flags.writeable
    first += 1


def test_values_of_the_engine_as_inputs() -> None:
    session = retort.InferenceSession(add())
    value = retort.OrtValue.ortvalue_from_numpy(X)
    assert session.run(None, {"x": value, "y": X})[0].tolist() == [0, 2, 4, 6]
    assert session.run(None, {"x": value._ortvalue, "y": X})[0].tolist() == [0, 2, 4, 6]


def test_vectors_of_values() -> None:
    session = retort.InferenceSession(add())
    feeds, fetches = C.OrtValueVector(), C.OrtValueVector()
    for _ in range(2):
        feeds.push_back(retort.OrtValue.ortvalue_from_numpy(X)._ortvalue)
    device = retort.OrtDevice.make("cpu", 0)._get_c_device()
    session.run_with_ortvaluevector(retort.RunOptions(), ["x", "y"], feeds, ["z"], fetches, [device])
    assert len(fetches) == 1 and fetches[0].numpy().tolist() == [0, 2, 4, 6]
    with pytest.raises(C.InvalidArgument, match="1 feed_names and 2 feeds"):
        session.run_with_ortvaluevector(retort.RunOptions(), ["x"], feeds, ["z"], fetches, [device])


def test_a_native_session_before_it_is_initialized() -> None:
    session = C.InferenceSession(C.SessionOptions(), add(), False, False)
    with pytest.raises(Exception):  # noqa: B017
        session.run(None, feed(), None)
    session.initialize_session([], [], set())
    assert session.run(["z"], feed(), None)[0].tolist() == [0, 2, 4, 6]
    with pytest.raises(TypeError):
        C.InferenceSession(C.SessionOptions(), 5, True, False)  # type: ignore[arg-type]


def test_bindings_to_memory_of_the_program() -> None:
    session = retort.InferenceSession(add())
    z = np.zeros(4, np.float32)
    binding = session.io_binding()
    binding.bind_input("x", "cpu", 0, np.float32, [4], X.ctypes.data)
    binding.bind_input("y", "cpu", 0, 1, (4,), X.ctypes.data)
    binding.bind_output("z", "cpu", 0, np.float32, [4], z.ctypes.data)
    session.run_with_iobinding(binding)
    assert z.tolist() == [0, 2, 4, 6]
    with pytest.raises(Exception, match="type"):
        binding.bind_output("z", "cpu", 0, "no type", [4], z.ctypes.data)
    binding.clear_binding_outputs()
    binding.clear_binding_inputs()
    assert binding.get_outputs() == []
    with pytest.raises(Exception):  # noqa: B017
        session.run_with_iobinding(binding)


def test_a_binding_keeps_its_arrays_and_its_session() -> None:
    native = retort.InferenceSession(add())._sess
    binding = C.SessionIOBinding(native)
    binding.bind_input("x", np.ones(1000, np.float32))
    binding.bind_input("y", np.ones(1000, np.float32))
    binding.bind_output("z", retort.OrtDevice.make("cpu", 0)._get_c_device())
    gc.collect()
    waste = [np.full(1000, 7, np.float32) for _ in range(50)]
    native.run_with_iobinding(binding, None)
    outputs = binding.get_outputs()
    del native, binding, waste
    gc.collect()
    assert set(outputs[0].numpy().tolist()) == {2}


def test_errors_of_bound_runs_have_both_classes() -> None:
    """The official package raises RuntimeError for bound runs, and the class of the code for others."""
    session = retort.InferenceSession(add())
    binding = session.io_binding()
    binding.bind_cpu_input("x", X)
    binding.bind_cpu_input("y", np.ones((2, 2, 2), np.float32))
    binding.bind_output("z")
    with pytest.raises(RuntimeError) as caught:
        session.run_with_iobinding(binding)
    error: Any = caught.value
    assert isinstance(error, C.InvalidArgument) and error.code == 2
    assert type(error).__name__ == "InvalidArgument" and str(error).startswith("[ONNXRuntimeError] : 2 : INVALID_ARGUMENT")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is C.InvalidArgument and copy.code == 2 and str(copy) == str(error)


@pytest.mark.retort_only("ONNX Runtime runs a binding in any session")
def test_a_native_binding_of_another_session() -> None:
    binding = C.SessionIOBinding(retort.InferenceSession(add())._sess)
    with pytest.raises(C.InvalidArgument, match="another session"):
        retort.InferenceSession(add())._sess.run_with_iobinding(binding, None)


@pytest.mark.memory
@pytest.mark.parametrize("thing", ["session", "binding", "options", "run", "failed run", "refused run", "bound run", "values"])
def test_memory_stays_flat(thing: str) -> None:
    """Thousands of cycles in groups, or RETORT_CYCLES of them: the memory of the last groups does not grow."""
    session = retort.InferenceSession(add())
    binding = session.io_binding()
    for name, value in feed().items():
        binding.bind_cpu_input(name, value)
    binding.bind_output("z")
    data = add()
    single = retort.SessionOptions()
    single.intra_op_num_threads = 1

    def failed() -> None:
        try:
            session.run(None, {"x": X, "y": np.ones((2, 2), np.float32)})
        except C.InvalidArgument:
            pass

    def refused() -> None:
        try:
            session.run(None, {**feed(), "nope": X})
        except C.InvalidArgument:
            pass

    def options() -> None:
        made = retort.SessionOptions()
        made.add_session_config_entry("a", "b")
        made.add_initializer("w", retort.OrtValue.ortvalue_from_numpy(X))
        retort.RunOptions().add_run_config_entry("a", "b")

    def values() -> None:
        session.run_with_ort_values(["z"], {n: retort.OrtValue.ortvalue_from_numpy(v) for n, v in feed().items()})

    def bound() -> None:
        session.run_with_iobinding(binding)
        binding.get_outputs()

    cycles: dict[str, tuple[Any, int]] = {
        "session": (lambda: retort.InferenceSession(data, single), 100),
        "binding": (lambda: session.io_binding().bind_cpu_input("x", X.copy()), 2000),
        "options": (options, 2000),
        "run": (lambda: session.run(None, feed()), 5000),
        "failed run": (failed, 1000),
        "refused run": (refused, 3000),
        "bound run": (bound, 5000),
        "values": (values, 2000),
    }
    cycle, count = cycles[thing]
    count = max(count, int(os.environ.get("RETORT_CYCLES", "0")) // 6)
    sizes = []
    for _ in range(6):
        for _ in range(count):
            cycle()
        gc.collect()
        sizes.append(resident())
    # The official library takes up to 1 MiB from the system between two groups, and gives it back in others.
    allowed = 512 * 1024 if C.is_retort() else 1536 * 1024
    assert sizes[-1] - sizes[2] < allowed, sizes


def resident() -> int:
    """Bytes of memory of this process."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


@pytest.mark.retort_only("the official library keeps memory in another way")
def test_the_memory_of_a_large_result_is_used_again() -> None:
    session = retort.InferenceSession(model([helper.make_node("Neg", ["x"], ["y"])], {"x": ["n"]}, {"y": ["n"]}))
    x = np.ones(1 << 20, np.float32)  # 4 MiB
    result = session.run(None, {"x": x})[0]
    address = result.ctypes.data
    held = session.run(None, {"x": x + 1})[0]
    assert held.ctypes.data != address and result[0] == -1
    del result
    assert session.run(None, {"x": x})[0].ctypes.data == address
    assert held[-1] == -2
