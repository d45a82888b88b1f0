"""Sessions as Python objects: loading, fallback, pickling, asyncio, texts, exceptions."""

from __future__ import annotations

import asyncio
import copy
import multiprocessing
import pathlib
import pickle
import threading
import time
import warnings
from typing import Any

import numpy as np
import pytest
import retort
from models import add, endless
from onnx import TensorProto, helper
from retort import errors


def feed() -> dict[str, Any]:
    return {"x": np.ones(2, np.float32), "y": np.full(2, 2, np.float32)}


def test_models_are_loaded_from_paths_and_bytes(digits: pathlib.Path) -> None:
    by_path, by_bytes = retort.InferenceSession(str(digits)), retort.InferenceSession(digits.read_bytes())
    image = np.zeros((1, 1, 8, 8), np.float32)
    expected = by_path.run(None, {"image": image})[0]
    assert np.array_equal(by_bytes.run(None, {"image": image})[0], expected)
    assert np.array_equal(retort.InferenceSession(digits).run(["probabilities"], {"image": image})[0], expected)
    assert by_path._model_path == str(digits) and by_path._model_bytes is None
    with pytest.raises(TypeError, match="Unable to load from type '<class 'int'>'"):
        retort.InferenceSession(3)  # type: ignore[arg-type]


def test_what_a_session_tells(digits: pathlib.Path) -> None:
    session = retort.InferenceSession(digits)
    (image,), (result,) = session.get_inputs(), session.get_outputs()
    assert (image.name, image.type, image.shape[1:]) == ("image", "tensor(float)", [1, 8, 8])
    assert result.name == "probabilities"
    assert session.get_providers()[-1] == "CPUExecutionProvider"
    assert session.get_provider_options()["CPUExecutionProvider"] == {}
    assert session.get_overridable_initializers() == []
    assert isinstance(session.get_modelmeta(), retort.ModelMetadata)
    assert len(session.get_input_memory_infos()) == len(session.get_output_memory_infos()) == 1
    assert len(session.get_input_epdevices()) == 1
    assert session.get_tuning_results() == []
    text = repr(session)
    assert text.startswith(f"<InferenceSession of '{digits}': image float[")
    assert "-> probabilities float[" in text and "CPUExecutionProvider" in text
    assert "<td>image</td><td>tensor(float)</td><td>[&#x27;batch&#x27;, 1, 8, 8]</td>" in session._repr_html_()


def test_unknown_providers_fall_back_with_warnings() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        session = retort.InferenceSession(add(), providers=["NoSuchProvider"])
    texts = [str(each.message) for each in caught]
    assert any("provider 'NoSuchProvider' is not available" in text for text in texts)
    assert list(session.get_providers()) == ["CPUExecutionProvider"]
    assert session.run(None, feed())[0].tolist() == [3, 3]


@pytest.mark.parametrize("providers", ["CPUExecutionProvider", {"CPUExecutionProvider": {}}, [("CPUExecutionProvider", {})]])
def test_ways_to_name_a_provider(providers: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        session = retort.InferenceSession(add(), providers=providers)
    assert list(session.get_providers()) == ["CPUExecutionProvider"]


def test_options_of_another_type() -> None:
    with pytest.raises(TypeError, match="sess_options: got dict, expected a SessionOptions or None"):
        retort.InferenceSession(add(), {"intra_op_num_threads": 1})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("providers", "options", "message"),
    [
        (3, None, "expected a sequence"),
        ([3], None, "expected a name"),
        (["CPUExecutionProvider"], [], "0 dicts for 1 providers"),
        (["CPUExecutionProvider"], 3, "expected a sequence of dicts"),
        ([("CPUExecutionProvider", {})], [{}], "only names"),
        (["CPUExecutionProvider"], [3], "expected a dict"),
    ],
)
def test_wrong_providers_are_errors(providers: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        retort.InferenceSession(add(), providers=providers, provider_options=options, enable_fallback=0)


def test_set_providers_loads_again() -> None:
    session = retort.InferenceSession(add())
    old = session._sess
    session.set_providers(["CPUExecutionProvider"])
    assert session._sess is not old
    assert session.run(None, feed())[0].tolist() == [3, 3]
    session.disable_fallback()
    assert session._enable_fallback is False
    session.enable_fallback()
    assert session._enable_fallback is True


def test_missing_and_unknown_inputs() -> None:
    session = retort.InferenceSession(add())
    with pytest.raises(ValueError, match=r"Required inputs \(\['y'\]\) are missing from input feed \(\['x'\]\)"):
        session.run(None, {"x": np.ones(2, np.float32)})
    with pytest.raises(errors.InvalidArgument) as caught:
        session.run(None, {**feed(), "q": np.ones(2, np.float32)})
    assert caught.value.code == 2
    with pytest.raises(errors.InvalidArgument):
        session.run(["q"], feed())


def test_exceptions_have_code_node_and_operator() -> None:
    with pytest.raises(errors.NoSuchFile) as missing:
        retort.InferenceSession("/no/such/model.onnx")
    assert (missing.value.code, missing.value.node, missing.value.op) == (3, None, None)
    assert str(missing.value).startswith("[ONNXRuntimeError] : 3 : NO_SUCHFILE : ")
    with pytest.raises(errors.InvalidProtobuf):
        retort.InferenceSession(b"no model")
    session = retort.InferenceSession(add())
    with pytest.raises(Exception) as failed:
        session.run(None, {"x": np.ones(2, np.float32), "y": np.ones(3, np.float32)})
    error = failed.value
    assert isinstance(error, (errors.InvalidArgument, errors.Fail, errors.RuntimeException))
    assert (error.node, error.op) == ("sum", "Add")
    assert session.run(None, feed())[0].tolist() == [3, 3]


def test_exceptions_pickle_with_their_attributes() -> None:
    with pytest.raises(errors.NoSuchFile) as missing:
        retort.InferenceSession("/no/such/model.onnx")
    again = pickle.loads(pickle.dumps(missing.value))
    assert type(again) is errors.NoSuchFile
    assert str(again) == str(missing.value)
    assert again.code == 3


def test_sessions_pickle_by_path_and_by_bytes(digits: pathlib.Path) -> None:
    image = np.ones((1, 1, 8, 8), np.float32)
    options = retort.SessionOptions()
    options.intra_op_num_threads = 2
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = retort.InferenceSession(digits, options)
    expected = session.run(None, {"image": image})[0]
    data = pickle.dumps(session)
    assert len(data) < 2000  # the path, not the model
    again = pickle.loads(data)
    assert np.array_equal(again.run(None, {"image": image})[0], expected)
    assert again.get_session_options().intra_op_num_threads == 2
    assert again.get_session_options().get_session_config_entry("session.intra_op.allow_spinning") == "0"
    from_bytes = pickle.loads(pickle.dumps(retort.InferenceSession(add())))
    assert from_bytes.run(None, feed())[0].tolist() == [3, 3]
    assert copy.copy(from_bytes).run(None, feed())[0].tolist() == [3, 3]


def _run_in_child(session: retort.InferenceSession) -> list[float]:
    return list(session.run(None, feed())[0].tolist())


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_sessions_go_to_other_processes(method: str) -> None:
    context = multiprocessing.get_context(method)
    with context.Pool(2) as pool:
        assert pool.map(_run_in_child, [retort.InferenceSession(add())] * 4) == [[3.0, 3.0]] * 4


def test_values_pickle() -> None:
    value = retort.OrtValue.ortvalue_from_numpy(np.arange(3, dtype=np.int64))
    assert pickle.loads(pickle.dumps(value)).numpy().tolist() == [0, 1, 2]
    device = retort.OrtDevice.make("gpu", 1, 0x10DE)
    again = pickle.loads(pickle.dumps(device))
    assert (again.device_type(), again.device_id(), again.device_vendor_id()) == (1, 1, 0x10DE)


def test_a_run_can_be_awaited() -> None:
    session = retort.InferenceSession(add())

    async def several() -> list[Any]:
        runs = [session.run_async(None, {"x": np.full(2, i, np.float32), "y": np.ones(2, np.float32)}) for i in range(8)]
        return list(await asyncio.gather(*[run for run in runs if run is not None]))

    assert [results[0].tolist() for results in asyncio.run(several())] == [[i + 1, i + 1] for i in range(8)]


def test_errors_of_awaited_runs_are_raised() -> None:
    session = retort.InferenceSession(add())

    async def wrong() -> None:
        run = session.run_async(None, {"x": np.ones(2, np.float32)})
        assert run is not None
        await run

    with pytest.raises(ValueError, match="Required inputs"):
        asyncio.run(wrong())


def test_cancelling_the_task_ends_the_run() -> None:
    session = retort.InferenceSession(endless())
    long = {"steps": np.array(10**9, np.int64), "start": np.zeros(256, np.float32)}

    async def cancelled() -> float:
        task = asyncio.ensure_future(session.run_async(None, long))  # type: ignore[arg-type]
        await asyncio.sleep(0.2)
        begin = time.perf_counter()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.perf_counter() - begin

    assert asyncio.run(cancelled()) < 2
    short = {"steps": np.array(3, np.int64), "start": np.zeros(256, np.float32)}
    assert session.run(None, short)[0][0] == 3


def test_a_timeout_ends_the_run_and_options_can_be_used_again() -> None:
    session = retort.InferenceSession(endless())
    options = retort.RunOptions()
    feed = {"steps": np.array(10**9, np.int64), "start": np.zeros(256, np.float32)}

    async def timed_out() -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(session.run_async(None, feed, run_options=options), 0.1)  # type: ignore[arg-type]

    asyncio.run(timed_out())
    assert options.terminate is False
    feed["steps"] = np.array(2, np.int64)
    assert session.run(None, feed, options)[0][0] == 2


def test_a_run_with_a_callback() -> None:
    session = retort.InferenceSession(add())
    done = threading.Event()
    got: list[Any] = []

    def callback(results: Any, data: Any, error: str) -> None:
        got.extend([results, data, error])
        done.set()

    assert session.run_async(None, feed(), callback, "data") is None
    assert done.wait(10)
    results, data, error = got
    assert (results[0].tolist(), data, error) == ([3, 3], "data", "")


def test_run_with_ort_values() -> None:
    session = retort.InferenceSession(add())
    values = {name: retort.OrtValue.ortvalue_from_numpy(array) for name, array in feed().items()}
    (result,) = session.run_with_ort_values(None, values)
    assert isinstance(result, retort.OrtValue)
    assert result.numpy().tolist() == [3, 3]
    assert repr(result) == "<OrtValue tensor(float) [2] on cpu>"
    assert memoryview(result).tolist() == [3, 3]
    assert np.asarray(memoryview(result)).ctypes.data == result.data_ptr()
    binding = session.io_binding()
    assert repr(binding) == "<IOBinding with no outputs>"
    binding.bind_output("z")
    assert repr(binding) == "<IOBinding with outputs z>"


def test_a_binding_of_another_session_is_an_error() -> None:
    one, other = retort.InferenceSession(add()), retort.InferenceSession(add())
    with pytest.raises(ValueError, match="the binding is of another session"):
        one.run_with_iobinding(other.io_binding())


def test_the_compatible_binding() -> None:
    session = retort.InferenceSession(add())
    binding = session.io_binding()
    x, z = np.ones(2, np.float32), np.zeros(2, np.float32)
    binding.bind_cpu_input("x", x)
    binding.bind_input("y", "cpu", 0, np.float32, x.shape, x.ctypes.data)
    with pytest.raises(ValueError, match="no element_type or no shape"):
        binding.bind_output("z", "cpu", 0, buffer_ptr=z.ctypes.data)
    binding.bind_output("z", "cpu", 0, np.float32, z.shape, z.ctypes.data)
    binding.synchronize_inputs()
    session.run_with_iobinding(binding)
    binding.synchronize_outputs()
    assert z.tolist() == [2, 2]
    binding.bind_output("z")
    session.run_with_iobinding(binding)
    assert binding.copy_outputs_to_cpu()[0].tolist() == [2, 2]
    assert binding.get_outputs()[0].numpy().tolist() == [2, 2]
    assert len(binding.get_outputs_as_ortvaluevector()) == 1
    binding.clear_binding_inputs()
    binding.clear_binding_outputs()
    with pytest.raises(Exception):
        session.run_with_iobinding(binding)


def test_native_objects_say_what_they_are(digits: pathlib.Path) -> None:
    options = retort.SessionOptions()
    assert repr(options) == "<SessionOptions: defaults>"
    options.intra_op_num_threads = 2
    assert repr(options) == "<SessionOptions: intra_op_num_threads=2>"
    assert repr(retort.RunOptions()) == "<RunOptions: terminate=False, logid=''>"
    session = retort.InferenceSession(digits)
    assert repr(session.get_modelmeta()).startswith("<ModelMetadata of 'digits': version ")
    assert repr(session.get_inputs()[0]) == "NodeArg(name='image', type='tensor(float)', shape=['batch', 1, 8, 8])"
    (device, *_) = retort.get_ep_devices()
    assert repr(device).startswith("<OrtEpDevice CPUExecutionProvider of ")
    assert "<OrtHardwareDevice CPU " in repr(device)


@pytest.mark.retort_only
def test_operators_of_the_engine() -> None:
    from retort.capi import _pybind_state as state

    schemas = {(schema.name, schema.domain, schema.since_version): schema for schema in state.get_all_operator_schema()}
    conv = schemas["Conv", "", 22]
    assert [parameter.name for parameter in conv.inputs] == ["X", "W", "B"]
    assert (conv.min_input, conv.max_input, conv.min_output, conv.max_output) == (2, 3, 1, 1)
    kernels = state.get_registered_ep_kernel_defs("CPUExecutionProvider")
    assert any(kernel.op_name == "Conv" for kernel in kernels)
    assert isinstance(conv, state.schemadef.OpSchema)


def test_a_path_with_a_nul_character_names_no_other_file(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(add())
    with pytest.raises(ValueError, match="NUL"):
        retort.InferenceSession(f"{path}\0.onnx")


def test_texts_with_a_nul_character_are_not_cut_off(tmp_path: pathlib.Path) -> None:
    session, options = retort.InferenceSession(add()), retort.SessionOptions()
    with pytest.raises(ValueError, match="NUL character after 'z'"):
        session.run(["z\0"], feed())
    with pytest.raises(ValueError, match="NUL character after 'key'"):
        options.add_session_config_entry("key\0", "1")
    with pytest.raises(ValueError, match="NUL character after '1'"):
        retort.RunOptions().add_run_config_entry("key", "1\0")
    with pytest.raises(ValueError, match="NUL character after 'z'"):
        session.io_binding().bind_output("z\0")
    options.optimized_model_filepath = f"{tmp_path}/saved.onnx\0"
    with pytest.raises(ValueError, match="NUL character after '.*saved.onnx'"):
        retort.InferenceSession(add(), options)
    assert not list(tmp_path.iterdir())


def test_values_of_another_kind_are_named() -> None:
    wrong: Any = feed()
    with pytest.raises(TypeError, match="dict of input names and OrtValues"):
        retort.InferenceSession(add()).run_with_ort_values(None, wrong)


def test_outputs_without_a_declared_shape_show_the_computed_one() -> None:
    node = helper.make_node
    nodes = [
        node("Relu", ["x"], ["relu"]), node("NonZero", ["x"], ["where"]), node("Transpose", ["x"], ["turned"]),
        node("Concat", ["x", "x"], ["twice"], axis=0), node("Concat", ["x", "x"], ["wide"], axis=1),
    ]  # fmt: skip
    inputs: dict[str, Any] = {"x": ["n", 3]}
    outputs: dict[str, Any] = {"relu": None, "where": None, "turned": None, "twice": [None, None], "wide": ["a", None]}
    graph = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info(name, 1, shape) for name, shape in inputs.items()],
        [
            helper.make_tensor_value_info(name, TensorProto.INT64 if name == "where" else TensorProto.FLOAT, shape)
            for name, shape in outputs.items()
        ],
    )
    data = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString()
    for level in (retort.GraphOptimizationLevel.ORT_DISABLE_ALL, retort.GraphOptimizationLevel.ORT_ENABLE_ALL):
        options = retort.SessionOptions()
        options.graph_optimization_level = level
        shapes = {output.name: output.shape for output in retort.InferenceSession(data, options).get_outputs()}
        assert shapes == {"relu": ["n", 3], "where": [2, None], "turned": [3, "n"], "twice": [None, 3], "wide": ["a", 6]}
