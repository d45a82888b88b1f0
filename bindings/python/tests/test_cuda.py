"""The CUDA provider as programs that exist use it: by name, with memory named "cuda", and as a device of a plug-in.

RETORT_CUDA names the plug-in libretort_cuda.so, which must lie beside the engine for programs that only give its name.
Each test is a process of its own.
"""
import ctypes
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

PRELUDE = """
import os, sys
import numpy as np, retort as ort
model, plugin = sys.argv[1:]
x = (np.arange(64, dtype=np.float32).reshape(1, 1, 8, 8) * 7 % 17) / 16
expected = ort.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, {"image": x})[0]
def same(found):
    np.testing.assert_allclose(found, expected, atol=2e-3)  # products may round their factors to 10 bits
"""


@pytest.fixture(scope="module")
def cuda():
    """The plug-in, if it finds a device."""
    plugin = os.environ.get("RETORT_CUDA", "")
    if not os.path.exists(plugin):
        pytest.skip("no CUDA: RETORT_CUDA is not set to libretort_cuda.so")
    code = "import retort, sys; retort.register_execution_provider_library('cuda', sys.argv[1]); print(*[d.ep_name for d in retort.get_ep_devices()])"
    found = subprocess.run([sys.executable, "-c", code, plugin], capture_output=True, encoding="utf-8", check=True, timeout=60).stdout
    if "CUDAExecutionProvider" not in found:
        pytest.skip("no CUDA: neither a GPU nor the software CUDA (RETORT_CUDA_LIBRARIES)")
    return plugin


def run(digits, plugin, code, **environment):
    command = [sys.executable, "-c", PRELUDE + textwrap.dedent(code), str(digits), plugin]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120, check=False, env={**os.environ, **environment})
    assert done.returncode == 0, done.stdout + done.stderr


def beside(plugin):
    """The engine that the plug-in lies beside."""
    engine = pathlib.Path(plugin).parent / "libretort.so.1"
    if not engine.exists():
        pytest.skip(f"the plug-in does not lie beside an engine: there is no {engine}")
    return {"RETORT_LIBRARY": str(engine)}


@pytest.mark.retort_only("the official library has a CUDA provider of its own")
def test_the_provider_by_name(digits, cuda):
    run(digits, cuda, """
        assert ort.get_available_providers() == ["CUDAExecutionProvider", "CPUExecutionProvider"]
        for providers in (["CUDAExecutionProvider"], ["CUDAExecutionProvider", "CPUExecutionProvider"],
                          [("CUDAExecutionProvider", {"device_id": 0})],
                          [("CUDAExecutionProvider", {"device_id": "0", "use_tf32": "0"}), "CPUExecutionProvider"]):
            session = ort.InferenceSession(model, providers=providers)
            assert session.get_providers() == ["CUDAExecutionProvider", "CPUExecutionProvider"]
            same(session.run(None, {"image": x})[0])
    """, **beside(cuda))


@pytest.mark.retort_only("the official library has a CUDA provider of its own")
def test_memory_by_name(digits, cuda):
    run(digits, cuda, """
        session = ort.InferenceSession(model, providers=["CUDAExecutionProvider"])
        value = ort.OrtValue.ortvalue_from_numpy(x, "cuda", 0)
        assert value.device_name() == "cuda" and value.numpy().tolist() == x.tolist()
        binding = session.io_binding()
        binding.bind_input("image", "cuda", 0, np.float32, [1, 1, 8, 8], value.data_ptr())
        binding.bind_output("probabilities", "cuda")
        session.run_with_iobinding(binding)
        assert binding.get_outputs()[0].device_name() == "cuda"
        same(binding.copy_outputs_to_cpu()[0])
        same(binding.get_outputs()[0].numpy())
        out = ort.OrtValue.ortvalue_from_shape_and_type([1, 10], np.float32, "cuda", 0)
        binding = session.io_binding()
        binding.bind_ortvalue_input("image", value)
        binding.bind_output("probabilities", "cuda", 0, np.float32, [1, 10], out.data_ptr())
        session.run_with_iobinding(binding)
        same(out.numpy())
    """, **beside(cuda))


def test_a_device_of_the_plug_in(digits, cuda):
    run(digits, cuda, """
        ort.register_execution_provider_library("cuda", plugin)
        device = next(d for d in ort.get_ep_devices() if d.ep_name == "CUDAExecutionProvider")
        options = ort.SessionOptions()
        options.add_provider_for_devices([device], {"use_tf32": "0"})
        session = ort.InferenceSession(model, options)
        place = device.memory_info(ort.OrtDeviceMemoryType.DEFAULT)
        image = ort.OrtValue.ortvalue_from_shape_and_type(x.shape, np.float32, memory_info=place)
        image.update_inplace(x)
        stream = device.create_sync_stream()
        assert stream.get_handle() != 0
        binding = session.io_binding()
        binding.bind_ortvalue_input("image", image)
        binding.bind_output("probabilities")
        for _ in range(3):
            session.run_with_iobinding(binding)
        same(binding.copy_outputs_to_cpu()[0])
    """)


def has_driver():
    """Whether the loader finds NVIDIA's driver, which no variable hides from the library."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


@pytest.mark.retort_only("the official library has a CUDA provider of its own")
@pytest.mark.skipif(has_driver(), reason="this machine has NVIDIA's driver")
def test_without_a_driver_it_is_not_available(digits, cuda):
    run(digits, cuda, """
        assert ort.get_available_providers() == ["CPUExecutionProvider"]
        same(ort.InferenceSession(model, providers=["CUDAExecutionProvider", "CPUExecutionProvider"]).run(None, {"image": x})[0])
    """, **beside(cuda), RETORT_CUDA_LIBRARIES="", CUDA_VISIBLE_DEVICES="")
