"""DLPack with memory of the CUDA provider, on the stand-ins of tests/cuda/software. Each test is a process of its own."""
import os
import subprocess
import sys
import textwrap

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
PRELUDE = f"""
import ctypes, gc, os, sys
sys.path.insert(0, {HERE!r})
import numpy as np, pytest, retort
from onnx import TensorProto, helper
from retort.capi import _pybind_state as C
import cuda_tools as cuda
from cuda_tools import DEVICE, EP, HOST, X, on_host
from value_tools import read_capsule
"""


@pytest.fixture(name="run")
def fixture_run(cuda_plugin, software_cuda, tmp_path):
    """Runs a program with the provider; its work on the device comes late."""

    def run(code):
        env = {**os.environ, "RETORT_CUDA": cuda_plugin, "RETORT_CUDA_LIBRARIES": software_cuda, "SOFTWARE_CUDA_DELAY_US": "20000",
               "XDG_CACHE_HOME": str(tmp_path)}
        done = subprocess.run([sys.executable, "-c", PRELUDE + textwrap.dedent(code)], capture_output=True, encoding="utf-8", timeout=120, check=False,
                              env=env)
        assert done.returncode == 0, done.stdout + done.stderr

    return run


def test_capsules(run):
    run("""
        value = C.OrtValue.ortvalue_from_numpy(X, DEVICE)
        assert value.__dlpack_device__() == (2, 0)
        capsule = value.to_dlpack()
        tensor = read_capsule(capsule)
        assert (tensor.device, tensor.device_id, tensor.offset) == (2, 0, 0) and tensor.data == value.data_ptr()
        back = C.OrtValue.from_dlpack(capsule)
        assert back.data_ptr() == value.data_ptr() and back.device_name() == "Cuda" and back.__dlpack_device__() == (2, 0)
        assert "versioned" in repr(value.__dlpack__(max_version=(1, 0), dl_device=(2, 0)))
        with pytest.raises(BufferError, match="device"):
            value.__dlpack__(dl_device=(1, 0))
        del value
        gc.collect()
        assert on_host(back).tolist() == X.tolist()
    """)


def test_element_types(run):
    run("""
        for proto, code, bits in ((1, 2, 32), (10, 2, 16), (16, 4, 16), (11, 2, 64), (7, 0, 64), (6, 0, 32), (2, 1, 8), (9, 6, 8)):
            value = C.OrtValue.ortvalue_from_shape_and_onnx_type([2, 3], proto, DEVICE)
            capsule = value.to_dlpack()
            tensor = read_capsule(capsule)
            assert (tensor.code, tensor.bits, tensor.device) == (code, bits, 2)
            assert C.OrtValue.from_dlpack(capsule).element_type() == proto
    """)


@pytest.mark.parametrize("version", [0, 1])
def test_tensors_of_others_in_a_run(run, version):
    run(f"""
        source, target = cuda.Foreign(X, {version}), cuda.Foreign(np.zeros_like(X), {version})
        session = cuda.session()
        x, z = retort.OrtValue.from_dlpack(source), retort.OrtValue.from_dlpack(target)
        assert x.data_ptr() == source.address and list(x.shape()) == [2, 3]
        binding = session.io_binding()
        binding.bind_ortvalue_input("x", x)
        binding.bind_ortvalue_output("z", z)
        session.run_with_iobinding(binding)
        assert target.read().tolist() == (-X).tolist()
        assert session.run(None, {{"x": source}})[0].tolist() == (-X).tolist()
        assert source.released == 1  # that of the run
        del x, z, binding
        gc.collect()
        assert (source.released, target.released) == (2, 1)
    """)


def test_strides(run):
    run("""
        for strides in ((1, 2), (6, 1)):
            source = cuda.Foreign(X, strides=strides)
            with pytest.raises(RuntimeError, match="contiguous"):
                C.OrtValue.from_dlpack(source)
            assert source.released == 1
        assert C.OrtValue.from_dlpack(cuda.Foreign(X, strides=(3, 1))).shape() == [2, 3]
    """)


def test_the_consumer_sees_work_that_is_done(run):
    run("""
        stream = EP.create_sync_stream()
        source = C.OrtValue.ortvalue_from_numpy(X, DEVICE)
        for given in (None, 1, 2, 12345):
            value = C.OrtValue.ortvalue_from_numpy(np.zeros_like(X), DEVICE)
            C.copy_tensors([source], [value], stream)
            capsule = value.__dlpack__(stream=given)
            assert cuda.query(stream.get_handle()) == 0 and on_host(value).tolist() == X.tolist()
        for _ in range(20):
            C.copy_tensors([source], [value], stream)
        unordered = value.__dlpack__(stream=-1)
        assert cuda.query(stream.get_handle()) != 0  # the consumer does not want to wait
        for wrong in ("1", -2, 1.5):
            with pytest.raises(TypeError, match="stream"):
                value.__dlpack__(stream=wrong)
    """)


def test_tensors_of_others_are_complete(run):
    run("""
        stream = cuda.new_stream()
        source = cuda.Foreign(np.zeros_like(X))
        source.write_late(X, stream)
        value = C.OrtValue.from_dlpack(source)
        assert cuda.query(stream) == 0 and on_host(value).tolist() == X.tolist()
    """)


def test_memory_is_released_when_work_is_done(run):
    run("""
        stream = cuda.new_stream()
        value, other = (C.OrtValue.ortvalue_from_numpy(X, DEVICE) for _ in range(2))
        capsule = value.to_dlpack()
        for _ in range(20):
            cuda.copy_late(other.data_ptr(), value.data_ptr(), X.nbytes, stream)
        assert cuda.query(stream) != 0
        del capsule
        assert cuda.query(stream) == 0
        source = cuda.Foreign(X)
        value = C.OrtValue.from_dlpack(source)
        for _ in range(20):
            cuda.copy_late(other.data_ptr(), value.data_ptr(), X.nbytes, stream)
        del value
        gc.collect()
        assert source.released == 1 and cuda.query(stream) == 0
    """)


def test_pinned_memory(run):
    run("""
        info = EP.memory_info(C.OrtDeviceMemoryType.HOST_ACCESSIBLE)
        value = C.OrtValue.ortvalue_from_shape_and_type_for_memory_info([2, 3], np.float32, info)
        value.update_inplace(X)
        assert value.__dlpack_device__() == (3, 0)
        array = np.from_dlpack(value)
        assert array.tolist() == X.tolist() and array.ctypes.data == value.data_ptr()
        capsule = value.__dlpack__(dl_device=(1, 0))
        assert read_capsule(capsule).device == 1
        capsule = value.to_dlpack()
        assert read_capsule(capsule).device == 3
        back = C.OrtValue.from_dlpack(capsule)
        assert back.numpy().tolist() == X.tolist() and back.data_ptr() == value.data_ptr()
    """)
