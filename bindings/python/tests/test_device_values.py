"""OrtValues in memory that the host cannot read: that of the plug-in loopback. Each test is a process of its own."""
import os
import subprocess
import sys
import textwrap

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
PRELUDE = f"""
import os, sys
sys.path.insert(0, {HERE!r})
import numpy as np, pytest, retort
from retort.capi import _pybind_state as C
from value_tools import HOST, value_of
retort.register_execution_provider_library("loopback", os.environ["RETORT_LOOPBACK"])
EP = next(device for device in retort.get_ep_devices() if device.ep_name == "loopback")
INFO = EP.memory_info(C.OrtDeviceMemoryType.DEFAULT)
DEVICE = C.OrtDevice(C.OrtDevice.gpu(), 0, INFO.device_vendor_id, INFO.device_id)
X = np.arange(6, dtype=np.float32).reshape(2, 3)
"""


def run(loopback, code):
    command = [sys.executable, "-c", PRELUDE + textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120, check=False,
                          env={**os.environ, "RETORT_LOOPBACK": loopback})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_there_and_back(loopback):
    run(loopback, """
        value = C.OrtValue.ortvalue_from_numpy(X, DEVICE)
        assert (value.shape(), value.data_type(), value.is_tensor()) == ([2, 3], "tensor(float)", True)
        assert value.device_name().lower() != "cpu" and value.device_name() in repr(value)
        back = C.OrtValue.ortvalue_from_shape_and_type([2, 3], np.float32, HOST)
        back.update_inplace(value)
        assert back.numpy().tolist() == X.tolist()
    """)


@pytest.mark.parametrize("make", ["ortvalue_from_shape_and_type([2, 3], np.float32, DEVICE)",
                                  "ortvalue_from_shape_and_onnx_type([2, 3], 1, DEVICE)",
                                  "ortvalue_from_shape_and_type_for_memory_info([2, 3], np.float32, INFO)",
                                  "ortvalue_from_shape_and_onnx_type_for_memory_info([2, 3], 1, INFO)"])
def test_new_tensors_are_updated_in_place(loopback, make):
    run(loopback, f"""
        value = C.OrtValue.{make}
        address = value.data_ptr()
        value.update_inplace(X)
        other = C.OrtValue.ortvalue_from_numpy(2 * X, DEVICE)
        back = value_of(np.zeros_like(X))
        back.update_inplace(value)
        assert back.numpy().tolist() == X.tolist()
        value.update_inplace(other)
        back.update_inplace(value)
        assert back.numpy().tolist() == (2 * X).tolist() and value.data_ptr() == address
    """)


def test_the_host_does_not_read_it(loopback):
    run(loopback, """
        value = C.OrtValue.ortvalue_from_numpy(X, DEVICE)
        for read, error in ((value.numpy, RuntimeError), (lambda: memoryview(value), BufferError),
                            (lambda: retort.OrtValue(value).numpy(), RuntimeError)):
            with pytest.raises(error, match="cannot read"):
                read()
        assert value.__dlpack_device__()[0] not in (1, 3)
        with pytest.raises(BufferError):
            value.__dlpack__(dl_device=(1, 0))
    """)


def test_strings_stay_on_the_host(loopback):
    run(loopback, """
        with pytest.raises(RuntimeError, match="strings cannot"):
            C.OrtValue.ortvalue_from_numpy(np.array(["a"]), DEVICE)
        with pytest.raises(RuntimeError, match="strings cannot"):
            C.OrtValue.ortvalue_from_shape_and_onnx_type_for_memory_info([2], 8, INFO)
    """)


def test_a_wrong_vendor_lists_the_devices(loopback):
    run(loopback, """
        wrong = C.OrtDevice(C.OrtDevice.gpu(), 0, INFO.device_vendor_id + 1, 0)
        with pytest.raises(RuntimeError, match=f"of vendor {INFO.device_vendor_id}"):
            C.OrtValue.ortvalue_from_numpy(X, wrong)
    """)


def test_adapters_have_host_memory(loopback, tmp_path):
    run(loopback, f"""
        adapter = C.AdapterFormat()
        adapter.parameters = {{"a": C.OrtValue.ortvalue_from_numpy(X, DEVICE)}}
        with pytest.raises(RuntimeError, match="host memory"):
            adapter.export_adapter({str(tmp_path / "x")!r})
    """)


@pytest.mark.memory
def test_memory_on_the_device_does_not_leak(loopback):
    run(loopback, """
        import gc
        def resident():
            with open("/proc/self/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
        big = np.zeros(1 << 16, np.float32)
        def cycle():
            value = C.OrtValue.ortvalue_from_numpy(big, DEVICE)
            value_of(np.zeros_like(big)).update_inplace(value)
        for _ in range(50):
            cycle()
        before = resident()
        for _ in range(1000):
            cycle()
        gc.collect()
        assert resident() - before < 16 << 20
    """)
