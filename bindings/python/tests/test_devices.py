"""Hardware, EP devices, plug-ins, streams, copies between devices, compiled models. Plug-in cases run in a process each."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import retort
from models import add
from retort import _native as C

HERE = str(Path(__file__).resolve().parent)
PRELUDE = f"""
import gc, os, pickle, sys
sys.path.insert(0, {HERE!r})
import numpy as np
import retort
from retort import _native as C
from models import add, model
from onnx import helper
retort.register_execution_provider_library("loopback", os.environ["RETORT_LOOPBACK"])
DEVICES = {{device.ep_name: device for device in retort.get_ep_devices()}}
DEVICE = DEVICES["loopback"]
X = np.arange(4, dtype=np.float32)
FEED = {{"x": X, "y": X}}
def on_device(*extra):
    options = retort.SessionOptions()
    options.add_provider_for_devices([DEVICE], dict(extra))
    return options
"""


def run(loopback: str, code: str) -> str:
    program = PRELUDE + textwrap.dedent(code)
    environment = {**os.environ, "RETORT_LOOPBACK": loopback}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, timeout=300, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr.decode() + done.stdout.decode()
    return done.stdout.decode()


def cpu() -> Any:
    return next(device for device in retort.get_ep_devices() if device.ep_name == "CPUExecutionProvider")


def test_the_processor_is_a_device() -> None:
    device = cpu()
    assert device.ep_vendor and isinstance(device.ep_metadata, dict) and device.ep_options == {}
    hardware = device.device
    assert hardware.type == C.OrtHardwareDeviceType.CPU
    assert isinstance(hardware.vendor_id, int) and isinstance(hardware.device_id, int)
    assert isinstance(hardware.vendor, str) and isinstance(hardware.metadata, dict)
    assert device == cpu() and hash(device) == hash(cpu()) and device != 5
    assert hardware in C.get_hardware_devices()
    with pytest.raises(RuntimeError):
        device.memory_info(C.OrtDeviceMemoryType.DEFAULT)
    with pytest.raises(Exception):  # noqa: B017 the processor has no streams
        device.create_sync_stream()


def test_sessions_for_devices() -> None:
    options = retort.SessionOptions()
    options.add_provider_for_devices([cpu()], {})
    session = retort.InferenceSession(add(), options)
    assert session.get_providers() == ["CPUExecutionProvider"]
    assert session.get_input_epdevices()[0] == cpu()
    with pytest.raises(C.InvalidArgument):
        options.add_provider_for_devices([], {})


def test_policies_choose_the_processor() -> None:
    for policy in (C.OrtExecutionProviderDevicePolicy.PREFER_CPU, C.OrtExecutionProviderDevicePolicy.MAX_EFFICIENCY):
        options = retort.SessionOptions()
        options.set_provider_selection_policy(policy)
        assert options.has_providers()
        assert retort.InferenceSession(add(), options).get_providers() == ["CPUExecutionProvider"]


def test_libraries_that_do_not_exist() -> None:
    with pytest.raises(C.Fail, match="/nope.so"):
        retort.register_execution_provider_library("nope", "/nope.so")
    with pytest.raises(C.Fail):
        retort.unregister_execution_provider_library("nope")


def test_compatibility_of_models_and_hardware(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(add())
    assert C.get_compatibility_info_from_model(str(path), "CPUExecutionProvider") is None
    assert C.get_compatibility_info_from_model_bytes(add(), "CPUExecutionProvider") is None
    found = C.get_model_compatibility_for_ep_devices([cpu()], "text")
    assert found == C.OrtCompiledModelCompatibility.EP_NOT_APPLICABLE
    details = C.get_hardware_device_ep_incompatibility_details("CPUExecutionProvider", cpu().device)
    assert details == {"reasons_bitmask": 0, "notes": None, "error_code": 0}


def test_which_provider_runs_which_node() -> None:
    with pytest.raises(Exception, match="record_ep_graph_assignment_info"):
        retort.InferenceSession(add()).get_provider_graph_assignment_info()
    options = retort.SessionOptions()
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    (part,) = retort.InferenceSession(add(), options).get_provider_graph_assignment_info()
    assert part.ep_name == "CPUExecutionProvider"
    assert [(node.name, node.domain, node.op_type) for node in part.get_nodes()] == [("sum", "", "Add")]


def test_a_plug_in_runs_a_model(loopback: str) -> None:
    run(loopback, """
        session = retort.InferenceSession(add(), on_device())
        assert session.get_providers() == ["loopback", "CPUExecutionProvider"], session.get_providers()
        assert session.run(None, FEED)[0].tolist() == [0, 2, 4, 6]
        assert session.get_input_epdevices() == [DEVICE, DEVICE]
        by_name = retort.InferenceSession(add(), providers=["loopback"])
        assert by_name.get_providers()[0] == "loopback"
        assert by_name.run(None, FEED)[0].tolist() == [0, 2, 4, 6]
        copy = pickle.loads(pickle.dumps(on_device(("style", "kernels"))))
        assert retort.InferenceSession(add(), copy).get_providers()[0] == "loopback"
    """)


def test_providers_that_a_delegate_chose(loopback: str) -> None:
    run(loopback, """
        def providers(data):
            options = retort.SessionOptions()
            options.set_provider_selection_policy_delegate(lambda devices, *_: [d for d in devices if d.ep_name == "loopback"])
            return retort.InferenceSession(data, options).get_providers()
        assert providers(add()) == ["loopback", "CPUExecutionProvider"]
        if C.is_retort():  # also if it runs no node; the official library tells nothing then
            texts = model([helper.make_node("Identity", ["x"], ["y"])], {"x": (8, [2])}, {"y": (8, [2])})
            assert providers(texts) == ["loopback", "CPUExecutionProvider"]
    """)


def test_memory_streams_and_copies(loopback: str) -> None:
    run(loopback, """
        info = DEVICE.memory_info(C.OrtDeviceMemoryType.DEFAULT)
        assert info.name == "Loopback"
        stream = DEVICE.create_sync_stream()
        assert stream.get_handle() != 0
        there = retort.OrtValue.ortvalue_from_shape_and_type([4], np.float32, memory_info=info)
        here = retort.OrtValue.ortvalue_from_numpy(X)
        back = retort.OrtValue.ortvalue_from_numpy(np.zeros(4, np.float32))
        retort.copy_tensors([here], [there])
        retort.copy_tensors([there], [back])
        assert back.numpy().tolist() == X.tolist()
        try:
            retort.copy_tensors([here], [])
            raise SystemExit("no error")
        except C.InvalidArgument as error:
            assert "1 sources and 0 destinations" in str(error)
    """)


def test_bindings_on_a_device(loopback: str) -> None:
    run(loopback, """
        session = retort.InferenceSession(add(), on_device())
        info = DEVICE.memory_info(C.OrtDeviceMemoryType.DEFAULT)
        x = retort.OrtValue.ortvalue_from_shape_and_type([4], np.float32, memory_info=info)
        z = retort.OrtValue.ortvalue_from_shape_and_type([4], np.float32, memory_info=info)
        retort.copy_tensors([retort.OrtValue.ortvalue_from_numpy(X)], [x])
        binding = session.io_binding()
        binding.bind_ortvalue_input("x", x)
        binding.bind_ortvalue_input("y", x)
        binding.bind_ortvalue_output("z", z)
        for _ in range(3):
            session.run_with_iobinding(binding)
        assert binding.copy_outputs_to_cpu()[0].tolist() == [0, 2, 4, 6]
        del x, z, binding, session
        gc.collect()
    """)


@pytest.mark.retort_only("the official package leaves the environment's libraries to the program")
def test_unregistering_ends_a_plug_in(loopback: str) -> None:
    run(loopback, """
        session = retort.InferenceSession(add(), on_device())
        session.run(None, FEED)
        del session, DEVICE, DEVICES
        gc.collect()
        retort.unregister_execution_provider_library("loopback")
        assert all(device.ep_name != "loopback" for device in retort.get_ep_devices())
    """)


def test_capacity_of_a_device() -> None:
    with pytest.raises(C.NotImplemented):
        cpu().memory_capacity()


def test_models_are_compiled(loopback: str, tmp_path: Path) -> None:
    source, target = tmp_path / "model.onnx", tmp_path / "compiled.onnx"
    source.write_bytes(add())
    run(loopback, f"""
        options = on_device()
        def compiler():
            return retort.ModelCompiler(options, {str(source)!r}, embed_compiled_data_into_model=True)
        compiler().compile_to_file({str(target)!r})
        data = compiler().compile_to_bytes()
        pieces = []
        compiler().compile_to_stream(pieces.append)
        from_bytes = retort.ModelCompiler(options, add(), embed_compiled_data_into_model=True).compile_to_bytes()
        for compiled in ({str(target)!r}, data, b"".join(pieces), from_bytes):
            session = retort.InferenceSession(compiled, on_device())
            assert session.run(None, FEED)[0].tolist() == [0, 2, 4, 6]
        def fail(piece):
            raise OSError("disk full")
        try:
            compiler().compile_to_stream(fail)
            raise SystemExit("no error")
        except Exception as error:
            assert "OSError: disk full" in str(error), error
    """)


def test_initializers_are_placed_by_a_function(loopback: str, tmp_path: Path) -> None:
    run(loopback, f"""
        w = helper.make_tensor("w", 1, [64], [float(i) for i in range(64)])
        nodes = [helper.make_node("Erf", ["x"], ["e"]), helper.make_node("Sub", ["e", "w"], ["y"])]
        data = model(nodes, {{"x": [64]}}, {{"y": [64]}}, weights=[w])
        open({str(tmp_path / "in.onnx")!r}, "wb").write(data)
        weights, seen = open({str(tmp_path / "weights.bin")!r}, "wb"), []
        def place(name, value, info):
            seen.append((name, value.numpy().shape, info))
            offset = weights.tell()
            weights.write(value.numpy().tobytes())
            return retort.OrtExternalInitializerInfo("weights.bin", offset, value.tensor_size_in_bytes())
        options = retort.SessionOptions()
        compiler = retort.ModelCompiler(options, {str(tmp_path / "in.onnx")!r}, get_initializer_location_func=place)
        compiler.compile_to_file({str(tmp_path / "out.onnx")!r})
        weights.close()
        assert seen == [("w", (64,), None)], seen
        session = retort.InferenceSession({str(tmp_path / "out.onnx")!r})
        zero = np.zeros(64, np.float32)
        assert session.run(None, {{"x": zero}})[0].tolist() == [-float(i) for i in range(64)]
    """)


def test_external_initializer_info() -> None:
    info = retort.OrtExternalInitializerInfo("file", 16, 32)
    assert (info.filepath, info.file_offset, info.byte_size) == ("file", 16, 32)


def test_values_of_a_session(tmp_path: Path) -> None:
    session = retort.InferenceSession(add())
    value = session.create_ortvalue_from_shape_and_type([2, 3], np.float32, "cpu")
    assert value.shape() == [2, 3] and value.data_type() == "tensor(float)"
    assert session.create_ortvalue_from_shape_and_type([2], 7, "cpu").data_type() == "tensor(int64)"
    with pytest.raises(RuntimeError):
        session.create_ortvalue_from_shape_and_type([2], np.float32, "cuda")
    del session
    value.update_inplace(np.ones((2, 3), np.float32))
    assert value.numpy().sum() == 6
