"""bf16, fp8 and elements that share bytes, by way of ml_dtypes."""
import subprocess
import sys

import numpy as np
import pytest
from retort.capi import _pybind_state as C

from value_tools import HOST, address_of, bits_of, value_of

ml_dtypes = pytest.importorskip("ml_dtypes")

# dtype, number in onnx.TensorProto.DataType, name, bytes of five elements
WHOLE = [("bfloat16", 16, "bfloat16", 10), ("float8_e4m3fn", 17, "float8e4m3fn", 5),
         ("float8_e4m3fnuz", 18, "float8e4m3fnuz", 5), ("float8_e5m2", 19, "float8e5m2", 5),
         ("float8_e5m2fnuz", 20, "float8e5m2fnuz", 5), ("float8_e8m0fnu", 24, "float8e8m0", 5)]
PACKED = [("uint4", 21, "uint4", 3), ("int4", 22, "int4", 3), ("float4_e2m1fn", 23, "float4e2m1", 3),
          ("uint2", 25, "uint2", 2), ("int2", 26, "int2", 2)]


def numbers(name):
    """All values of a type of up to 8 bits; some of a larger one."""
    dtype = np.dtype(getattr(ml_dtypes, name))
    if name in ("int4", "uint4", "int2", "uint2"):
        info = ml_dtypes.iinfo(dtype)
        return np.arange(info.min, info.max + 1).astype(dtype)
    bits = {"float4_e2m1fn": 4, "bfloat16": 16}.get(name, 8)
    return np.arange(2**bits).astype(np.uint16 if bits == 16 else np.uint8).view(dtype)


@pytest.mark.parametrize("name,proto,text,size", WHOLE)
def test_types_with_whole_bytes_are_read_in_place(name, proto, text, size):
    array = numbers(name)
    value = value_of(array)
    assert value.data_ptr() == address_of(array)
    assert (value.data_type(), value.element_type()) == (f"tensor({text})", proto)
    assert value_of(array[:5]).tensor_size_in_bytes() == size
    back = value.numpy()
    assert back.dtype == array.dtype and back.ctypes.data == address_of(array)
    assert bits_of(back) == bits_of(array)


@pytest.mark.parametrize("name,proto,text,size", PACKED)
def test_types_that_share_bytes_are_packed(name, proto, text, size):
    array = numbers(name)[:-1]  # an odd number
    value = value_of(array)
    assert (value.data_type(), value.element_type()) == (f"tensor({text})", proto)
    assert value.shape() == [len(array)]
    assert value_of(np.resize(array, 5)).tensor_size_in_bytes() == size
    back = value.numpy()
    assert back.dtype == array.dtype
    assert back.astype(np.float32).tolist() == array.astype(np.float32).tolist()


def test_order_of_elements_in_a_byte():
    packed = C.OrtValue.ortvalue_from_numpy_with_onnx_type(np.array([0x21, 0x0F], np.uint8), 21)
    assert packed.numpy().astype(int).tolist() == [1, 2], "the first element has the low bits"


@pytest.mark.parametrize("name,proto,text,size", WHOLE + PACKED)
def test_new_tensors_of_small_types(name, proto, text, size):
    value = C.OrtValue.ortvalue_from_shape_and_onnx_type([5], proto, HOST)
    assert (value.data_type(), value.tensor_size_in_bytes()) == (f"tensor({text})", size)
    value.update_inplace(np.ones(5, getattr(ml_dtypes, name)))
    assert value.numpy().astype(np.float32).tolist() == [1] * 5
    by_dtype = C.OrtValue.ortvalue_from_shape_and_type([5], getattr(ml_dtypes, name), HOST)
    assert by_dtype.element_type() == proto


def test_layouts_of_small_types():
    array = np.arange(6).reshape(2, 3).astype(ml_dtypes.bfloat16).T
    assert value_of(array).numpy().astype(int).tolist() == array.astype(int).tolist()
    packed = np.arange(6).reshape(2, 3).astype(ml_dtypes.int4)[:, ::2]
    assert value_of(packed).numpy().astype(int).tolist() == [[0, 2], [3, 5]]


def test_without_ml_dtypes_the_message_says_what_to_install():
    program = """
import sys
sys.modules["ml_dtypes"] = None
import numpy as np
from retort.capi import _pybind_state as C
value = C.OrtValue.ortvalue_from_shape_and_onnx_type([2], 16, C.OrtDevice(0, 0, 0))
try:
    value.numpy()
except RuntimeError as error:
    print(error)
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True)
    assert "pip install 'ml_dtypes" in result.stdout
