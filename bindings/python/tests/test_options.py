"""SessionOptions, RunOptions and the enumerations of their properties."""

from __future__ import annotations

import gc
import json
import pickle
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import retort
from models import add, endless, model
from onnx import TensorProto, helper

NUMBERS = {
    "GraphOptimizationLevel": {
        "ORT_DISABLE_ALL": 0, "ORT_ENABLE_BASIC": 1, "ORT_ENABLE_EXTENDED": 2, "ORT_ENABLE_LAYOUT": 3, "ORT_ENABLE_ALL": 99,
    },
    "ExecutionMode": {"ORT_SEQUENTIAL": 0, "ORT_PARALLEL": 1},
    "ExecutionOrder": {"DEFAULT": 0, "PRIORITY_BASED": 1, "MEMORY_EFFICIENT": 2},
    "OrtExecutionProviderDevicePolicy": {
        "DEFAULT": 0, "PREFER_CPU": 1, "PREFER_NPU": 2, "PREFER_GPU": 3, "MAX_PERFORMANCE": 4, "MAX_EFFICIENCY": 5,
        "MIN_OVERALL_POWER": 6,
    },
    "OrtCompileApiFlags": {"NONE": 0, "ERROR_IF_NO_NODES_COMPILED": 1, "ERROR_IF_OUTPUT_FILE_EXISTS": 2},
    "OrtHardwareDeviceType": {"CPU": 0, "GPU": 1, "NPU": 2},
}

DEFAULTS: dict[str, Any] = {
    "enable_cpu_mem_arena": True, "enable_mem_pattern": True, "enable_mem_reuse": True, "enable_profiling": False,
    "execution_mode": retort.ExecutionMode.ORT_SEQUENTIAL, "execution_order": retort.ExecutionOrder.DEFAULT,
    "graph_optimization_level": retort.GraphOptimizationLevel.ORT_ENABLE_ALL, "inter_op_num_threads": 0,
    "intra_op_num_threads": 0, "log_severity_level": -1, "log_verbosity_level": 0, "logid": "",
    "optimized_model_filepath": "", "profile_file_prefix": "onnxruntime_profile_", "use_deterministic_compute": False,
    "use_per_session_threads": True,
}


@pytest.mark.parametrize("name", NUMBERS)
def test_members_of_enumerations_have_the_official_numbers(name: str) -> None:
    kind = getattr(retort.capi.onnxruntime_pybind11_state, name)
    assert {member.name: int(member) for member in kind} == NUMBERS[name]
    first = next(iter(kind))
    assert str(first) == f"{name}.{first.name}" and repr(first) == f"<{name}.{first.name}: {int(first)}>"
    assert kind(int(first)) is first and pickle.loads(pickle.dumps(first)) is first


def test_properties_have_the_official_defaults() -> None:
    options = retort.SessionOptions()
    for name, value in DEFAULTS.items():
        assert getattr(options, name) == value, name
    assert {name for name in dir(options) if isinstance(getattr(type(options), name), property)} >= set(DEFAULTS)


def changed() -> retort.SessionOptions:
    options = retort.SessionOptions()
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    options.execution_mode = retort.ExecutionMode.ORT_PARALLEL
    options.graph_optimization_level = retort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.inter_op_num_threads = 2
    options.intra_op_num_threads = 3
    options.log_severity_level = 3
    options.logid = "test"
    options.use_deterministic_compute = True
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_free_dimension_override_by_name("n", 4)
    return options


def test_sessions_take_a_copy_of_their_options() -> None:
    options = changed()
    session = retort.InferenceSession(add(), options)
    options.intra_op_num_threads = 1
    options.add_session_config_entry("later", "1")
    copy = session.get_session_options()
    assert (copy.intra_op_num_threads, copy.inter_op_num_threads, copy.logid) == (3, 2, "test")
    assert copy.get_session_config_entry("session.intra_op.allow_spinning") == "0"
    with pytest.raises(RuntimeError, match="does not have configuration with key: later"):
        copy.get_session_config_entry("later")
    assert session.get_inputs()[0].shape == [4]


def test_options_survive_pickle() -> None:
    options = changed()
    copy = pickle.loads(pickle.dumps(options))
    for name in DEFAULTS:
        assert getattr(copy, name) == getattr(options, name), name
    assert copy.get_session_config_entry("session.intra_op.allow_spinning") == "0"
    assert retort.InferenceSession(add(), copy).get_inputs()[0].shape == [4]


def test_what_cannot_be_pickled_says_so() -> None:
    options = retort.SessionOptions()
    options.add_initializer("w", retort.OrtValue.ortvalue_from_numpy(np.zeros(2, np.float32)))
    with pytest.raises(TypeError, match="initializers"):
        pickle.dumps(options)
    options = retort.SessionOptions()
    options.set_provider_selection_policy_delegate(lambda *_: [])
    with pytest.raises(TypeError, match="delegate"):
        pickle.dumps(options)


def test_flags_take_truth_values_and_no_texts() -> None:
    options = retort.SessionOptions()
    options.enable_profiling = 1  # type: ignore[assignment]
    assert options.enable_profiling is True
    options.enable_profiling = None  # type: ignore[assignment]
    assert options.enable_profiling is False
    for value in ("no", 2.5):
        with pytest.raises(TypeError):
            options.enable_profiling = value  # type: ignore[assignment]
    with pytest.raises(TypeError):
        options.intra_op_num_threads = 2.5  # type: ignore[assignment]
    options.intra_op_num_threads = np.int64(2)  # type: ignore[assignment]
    assert options.intra_op_num_threads == 2


def test_config_entries_are_checked() -> None:
    options = retort.SessionOptions()
    with pytest.raises(RuntimeError):
        options.add_session_config_entry("", "x")
    with pytest.raises(RuntimeError):
        options.add_session_config_entry("k" * 3000, "x")
    options.add_session_config_entry("key", "1")
    options.add_session_config_entry("key", "2")
    assert options.get_session_config_entry("key") == "2"


def test_providers_by_name() -> None:
    options = retort.SessionOptions()
    assert not options.has_providers()
    options.add_provider("CPUExecutionProvider", {})
    assert options.has_providers()
    with pytest.raises(RuntimeError, match="Unknown Provider Type: Nope"):
        options.add_provider("Nope", {})
    assert retort.InferenceSession(add(), options).get_providers() == ["CPUExecutionProvider"]


def test_a_replaced_initializer_is_used_and_kept() -> None:
    w = helper.make_tensor("w", 1, [2], [1.0, 1.0])
    data = model([helper.make_node("Add", ["x", "w"], ["y"])], {"x": [2]}, {"y": [2]}, weights=[w])
    value = retort.OrtValue.ortvalue_from_numpy(np.array([10, 20], np.float32))
    options = retort.SessionOptions()
    options.add_initializer("w", value)
    session = retort.InferenceSession(data, options)
    del value, options
    gc.collect()
    assert session.run(None, {"x": np.zeros(2, np.float32)})[0].tolist() == [10, 20]


def test_the_creation_of_a_session_can_be_cancelled() -> None:
    options = retort.SessionOptions()
    options.set_load_cancellation_flag(True)
    with pytest.raises(retort.capi.onnxruntime_pybind11_state.ModelLoadCanceled):
        retort.InferenceSession(add(), options)
    options.set_load_cancellation_flag(False)
    retort.InferenceSession(add(), options)


def test_a_delegate_chooses_devices() -> None:
    calls: list[Any] = []

    def choose(devices: Any, model_metadata: Any, runtime_metadata: Any, most: int) -> Any:
        calls.append((devices, model_metadata, runtime_metadata, most))
        return [device for device in devices if device.ep_name == "CPUExecutionProvider"]

    options = retort.SessionOptions()
    options.set_provider_selection_policy_delegate(choose)
    assert options.has_providers()
    session = retort.InferenceSession(add(), options)
    assert session.get_providers() == ["CPUExecutionProvider"]
    devices, metadata, _, most = calls[0]
    assert devices[0].ep_name == "CPUExecutionProvider" and isinstance(metadata, dict) and most >= 1


def test_an_exception_of_a_delegate_is_reported() -> None:
    def fail(*_: Any) -> Any:
        raise ValueError("no such device")

    options = retort.SessionOptions()
    options.set_provider_selection_policy_delegate(fail)
    with pytest.raises(Exception, match="ValueError: no such device"):
        retort.InferenceSession(add(), options, enable_fallback=0)


def test_options_that_a_delegate_refers_to_are_collected() -> None:
    options = retort.SessionOptions()

    class Chooser:
        def __init__(self) -> None:
            self.options = options

        def __call__(self, devices: Any, *_: Any) -> Any:
            return devices[:1]

    chooser = Chooser()
    options.set_provider_selection_policy_delegate(chooser)
    gone = weakref.ref(chooser)
    del options, chooser, Chooser
    gc.collect()
    assert gone() is None


def test_run_options() -> None:
    options = retort.RunOptions()
    assert (options.log_severity_level, options.log_verbosity_level, options.logid) == (-1, 0, "")
    assert (options.only_execute_path_to_fetches, options.terminate) == (False, False)
    options.log_severity_level, options.log_verbosity_level, options.logid = 3, 1, "run"
    options.add_run_config_entry("key", "value")
    assert options.get_run_config_entry("key") == "value"
    with pytest.raises(RuntimeError, match="does not have configuration with key: other"):
        options.get_run_config_entry("other")
    copy = pickle.loads(pickle.dumps(options))
    assert (copy.log_severity_level, copy.logid, copy.get_run_config_entry("key")) == (3, "run", "value")
    feed = {"x": np.ones(1, np.float32), "y": np.ones(1, np.float32)}
    assert retort.InferenceSession(add()).run(None, feed, options)[0] == [2]
    with pytest.raises(TypeError):
        retort.InferenceSession(add()).run(None, feed, 5)  # type: ignore[arg-type]


def test_terminate_ends_runs_of_other_threads() -> None:
    session, options = retort.InferenceSession(endless()), retort.RunOptions()
    feed = {"steps": np.array(10**9), "start": np.zeros(256, np.float32)}
    errors: list[Exception] = []

    def run() -> None:
        try:
            session.run(None, feed, options)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    threads[0].join(0.2)
    options.terminate = True
    for thread in threads:
        thread.join(10)
    assert len(errors) == 2 and all(isinstance(e, retort.capi.onnxruntime_pybind11_state.Fail) for e in errors)
    options.terminate = False
    assert session.run(None, {**feed, "steps": np.array(1)}, options)[0][0] == 1


@pytest.mark.retort_only("the C interface has no function for the seed")
def test_the_seed_of_random_operators() -> None:
    """set_seed() holds for sessions that are made later, and an entry of a session comes before it."""
    data = model([helper.make_node("RandomNormalLike", ["x"], ["y"])], {"x": [8]}, {"y": [8]})
    feed = {"x": np.zeros(8, np.float32)}

    def numbers(entry: str | None = None) -> list[float]:
        options = retort.SessionOptions()
        if entry:
            options.add_session_config_entry("session.random_seed", entry)
        result: list[float] = retort.InferenceSession(data, options).run(None, feed)[0].tolist()
        return result

    seven = numbers("7")
    retort.set_seed(7)
    assert numbers() == numbers() == seven
    retort.set_seed(8)
    assert numbers() != seven
    assert numbers("7") == seven
    with pytest.raises(retort.capi._pybind_state.InvalidArgument, match=r"session\.random_seed is 'x'"):
        numbers("x")


@pytest.mark.retort_only("the C interface has no function for it")
def test_memory_is_not_reused_if_that_is_switched_off() -> None:
    """Results are the same; the unit tests of the engine look at the memory."""
    nodes = [helper.make_node("Sin" if i % 2 else "Cos", [f"v{i}"], [f"v{i + 1}"]) for i in range(6)]
    data = model(nodes, {"v0": ["n"]}, {"v6": ["n"]})
    feed = {"v0": np.linspace(0, 1, 1000, dtype=np.float32)}
    options = retort.SessionOptions()
    expected = retort.InferenceSession(data, options).run(None, feed)[0]
    options.enable_mem_reuse = False
    assert np.array_equal(retort.InferenceSession(data, options).run(None, feed)[0], expected)


def order_of_nodes(options: retort.SessionOptions, data: bytes, feed: dict[str, np.ndarray], folder: Path) -> list[str]:
    """The names of the nodes as a profile lists them."""
    options.enable_profiling = True
    options.profile_file_prefix = str(folder / "profile")
    session = retort.InferenceSession(data, options)
    session.run(None, feed)
    with open(session.end_profiling(), encoding="utf-8") as file:
        events = json.load(file)
    names = [event["name"] for event in events if event.get("cat") == "Node"]
    return [name.removesuffix("_kernel_time") for name in names if name.endswith("_kernel_time")]


@pytest.mark.retort_only("the C interface has no function for the order")
def test_nodes_run_in_the_order_of_the_options(tmp_path: Path) -> None:
    """Two branches that begin with something large and end with something small."""
    node = helper.make_node
    nodes = [
        node("Add", ["x", "w"], ["a"], "a"), node("Mul", ["x", "w"], ["b"], "b"), node("Size", ["a"], ["s"], "size"),
        node("ReduceMax", ["a"], ["m"], "max a"), node("ReduceMax", ["b"], ["n"], "max b"),
    ]  # fmt: skip
    wide = helper.make_tensor("w", 1, [1000, 1], np.arange(1000))
    outputs: dict[str, Any] = {"m": [1, 1], "n": [1, 1], "s": (int(TensorProto.INT64), [])}
    data = model(nodes, {"x": [1, 4]}, outputs, weights=[wide])
    feed = {"x": np.ones((1, 4), np.float32)}

    def order(value: retort.ExecutionOrder, entry: str = "") -> list[str]:
        options = retort.SessionOptions()
        options.graph_optimization_level = retort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.execution_order = value
        if entry:
            options.add_session_config_entry("session.execution_order", entry)
        names = order_of_nodes(options, data, feed, tmp_path)
        return [name for name in names if name != "size"]  # it follows from the shape, so it may not run

    assert order(retort.ExecutionOrder.DEFAULT) == ["a", "b", "max a", "max b"]
    assert order(retort.ExecutionOrder.PRIORITY_BASED) == ["a", "b", "max a", "max b"]
    assert order(retort.ExecutionOrder.MEMORY_EFFICIENT) == ["a", "max a", "b", "max b"]
    assert order(retort.ExecutionOrder.MEMORY_EFFICIENT, "default") == ["a", "b", "max a", "max b"]
    with pytest.raises(retort.errors.InvalidArgument, match="set it to default, priority or memory"):
        order(retort.ExecutionOrder.DEFAULT, "first")


@pytest.mark.retort_only("the official library has a pattern")
def test_that_the_pattern_has_no_effect_is_logged() -> None:
    told: list[str] = []
    options = retort.SessionOptions()
    options.enable_mem_pattern = False
    options.log_severity_level = 1
    retort.set_default_logger_callback(lambda *message: told.append(str(message[-1])), 1)
    try:
        retort.InferenceSession(add(), options)
    finally:
        retort.set_default_logger_callback(None)
    assert any("switching the pattern off has no effect" in message for message in told)
