"""AdapterFormat and LoraAdapter: files of adapters."""
import gc
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from retort.capi import _pybind_state as C

from value_tools import value_of


def write(path, parameters, version=3, model_version=5):
    adapter = C.AdapterFormat()
    adapter.adapter_version = version
    adapter.model_version = model_version
    adapter.parameters = {name: value_of(array) for name, array in parameters.items()}
    adapter.export_adapter(str(path))
    return path


PARAMETERS = {
    "a": np.arange(6, dtype=np.float32).reshape(2, 3),
    "a longer name, é": np.arange(3, dtype=np.int64),
    "scalar": np.array(7, np.float64),
    "empty": np.zeros((0, 4), np.float16),
    "bytes": np.array([1, 2, 3], np.uint8),
}


def test_there_and_back(tmp_path):
    adapter = C.AdapterFormat.read_adapter(str(write(tmp_path / "x.onnx_adapter", PARAMETERS)))
    assert (adapter.format_version, adapter.adapter_version, adapter.model_version) == (1, 3, 5)
    gc.collect()
    assert set(adapter.parameters) == set(PARAMETERS)
    for name, array in PARAMETERS.items():
        back = adapter.parameters[name].numpy()
        assert back.dtype == array.dtype and back.shape == array.shape
        np.testing.assert_array_equal(back, array)


def test_without_parameters(tmp_path):
    assert C.AdapterFormat.read_adapter(str(write(tmp_path / "x", {}))).parameters == {}


def test_the_official_package_reads_it(tmp_path, official):
    parameters = {name: array for name, array in PARAMETERS.items() if array.ndim > 0}  # it refuses scalars
    path = write(tmp_path / "x.onnx_adapter", parameters)
    program = f"""
import sys
sys.path.insert(0, {official!r})
from onnxruntime.capi import onnxruntime_pybind11_state as C
adapter = C.AdapterFormat.read_adapter({str(path)!r})
print(adapter.adapter_version, adapter.model_version, sorted((k, v.numpy().tolist()) for k, v in adapter.parameters.items()))
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True)
    expected = sorted((name, array.tolist()) for name, array in parameters.items())
    assert result.stdout.strip() == f"3 5 {expected}"


def test_the_engine_loads_it(tmp_path):
    path = write(tmp_path / "x.onnx_adapter", {"a": PARAMETERS["a"]})
    C.LoraAdapter().Load(str(path))
    C.LoraAdapter().Load(path)


def test_mistakes(tmp_path):
    adapter = C.AdapterFormat()
    adapter.parameters = {"a": 3}
    with pytest.raises(TypeError, match="parameter 'a'"):
        adapter.export_adapter(str(tmp_path / "x"))
    adapter.parameters = {"a": value_of(np.array(["text"]))}
    with pytest.raises(RuntimeError, match="strings"):
        adapter.export_adapter(str(tmp_path / "x"))
    adapter.parameters = {}
    with pytest.raises(RuntimeError, match="for writing"):
        adapter.export_adapter(str(tmp_path / "no such folder" / "x"))
    for read in (C.AdapterFormat.read_adapter, C.LoraAdapter().Load):
        with pytest.raises(RuntimeError):
            read(str(tmp_path / "missing"))
    with pytest.raises(AttributeError):
        adapter.format_version = 2


def test_broken_files(tmp_path):
    whole = write(tmp_path / "x", PARAMETERS).read_bytes()
    broken = pathlib.Path(tmp_path / "broken")
    broken.write_bytes(b"not an adapter")
    with pytest.raises(RuntimeError, match="valid lora parameter format"):
        C.AdapterFormat.read_adapter(str(broken))
    for size in range(len(whole)):
        broken.write_bytes(whole[:size])
        try:
            C.AdapterFormat.read_adapter(str(broken))
        except RuntimeError:
            continue
        assert size >= len(whole) - 8, "only padding may be missing"
    random = np.random.default_rng(0)
    for _ in range(2000):
        changed = bytearray(whole)
        for place in random.integers(0, len(whole), 3):
            changed[place] = random.integers(0, 256)
        broken.write_bytes(changed)
        try:
            C.AdapterFormat.read_adapter(str(broken))
        except (RuntimeError, UnicodeDecodeError):
            pass
