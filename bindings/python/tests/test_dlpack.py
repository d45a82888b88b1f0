"""DLPack both ways: NumPy, and torch where it is installed."""
import gc
import sys
import threading

import numpy as np
import pytest
import retort
from onnx import TensorProto, helper
from retort.capi import _pybind_state as C

from models import add, model
from value_tools import HOST, address_of, read_capsule, value_of

# number in onnx.TensorProto.DataType, DLPack's type code and bits
CODES = [(1, 2, 32), (2, 1, 8), (3, 0, 8), (4, 1, 16), (5, 0, 16), (6, 0, 32), (7, 0, 64), (9, 6, 8), (10, 2, 16),
         (11, 2, 64), (12, 1, 32), (13, 1, 64), (16, 4, 16), (17, 10, 8), (18, 11, 8), (19, 12, 8), (20, 13, 8),
         (21, 1, 4), (22, 0, 4), (23, 17, 4), (24, 14, 8), (25, 1, 2), (26, 0, 2)]


@pytest.mark.parametrize("proto,code,bits", CODES)
def test_element_types(proto, code, bits):
    value = C.OrtValue.ortvalue_from_shape_and_onnx_type([4, 5], proto, HOST)
    capsule = value.to_dlpack()
    tensor = read_capsule(capsule)
    assert (tensor.code, tensor.bits, tensor.lanes) == (code, bits, 1)
    assert tensor.shape[:2] == [4, 5] and tensor.strides[:2] == [5, 1]
    assert (tensor.device, tensor.device_id, tensor.offset) == (1, 0, 0)
    assert tensor.data == value.data_ptr()
    back = C.OrtValue.from_dlpack(capsule)
    assert back.element_type() == proto and back.data_ptr() == value.data_ptr()


def test_numpy_reads_the_same_memory():
    value = value_of(np.arange(6, dtype=np.float32).reshape(2, 3))
    array = np.from_dlpack(value)
    assert address_of(array) == value.data_ptr()
    np.testing.assert_array_equal(array, value.numpy())
    assert value.__dlpack_device__() == (1, 0)


def test_arrays_of_numpy_in_both_versions_of_dlpack():
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    for source in (array, array.__dlpack__(), array.__dlpack__(max_version=(1, 0))):
        value = C.OrtValue.from_dlpack(source)
        assert value.data_ptr() == address_of(array)
        assert value.shape() == [2, 3]


def test_memory_lives_as_long_as_someone_needs_it():
    array = np.arange(1000.0)
    references = sys.getrefcount(array)
    value = C.OrtValue.from_dlpack(array)
    consumer = np.from_dlpack(value)
    del value
    gc.collect()
    assert consumer.sum() == array.sum() and sys.getrefcount(array) > references
    del consumer
    gc.collect()
    assert sys.getrefcount(array) == references


def test_unused_capsules_give_their_memory_back():
    array = np.arange(10.0)
    references = sys.getrefcount(array)
    value = value_of(array)
    for capsule in (value.to_dlpack(), value.__dlpack__(), value.__dlpack__(max_version=(1, 0))):
        del capsule
    del value
    gc.collect()
    assert sys.getrefcount(array) == references


def test_a_capsule_is_used_once():
    capsule = np.arange(3).__dlpack__()
    C.OrtValue.from_dlpack(capsule)
    with pytest.raises(TypeError, match="once"):
        C.OrtValue.from_dlpack(capsule)


@pytest.mark.parametrize("wrong", [3, "text", None, []])
def test_objects_without_dlpack(wrong):
    with pytest.raises(TypeError, match="capsule"):
        C.OrtValue.from_dlpack(wrong)


def test_strides_are_refused_and_the_memory_given_back():
    array = np.arange(6.0).reshape(2, 3)
    references = sys.getrefcount(array)
    for wrong in (array.T, array[:, :2]):
        with pytest.raises(RuntimeError, match="contiguous"):
            C.OrtValue.from_dlpack(wrong)
    del wrong
    gc.collect()
    assert sys.getrefcount(array) == references


def test_strides_without_meaning_are_accepted():
    array = np.arange(6.0).reshape(6, 1)[:, :1]
    assert C.OrtValue.from_dlpack(array[:1]).shape() == [1, 1]
    assert C.OrtValue.from_dlpack(np.zeros((0, 3))[:, ::2]).shape() == [0, 2]


def test_versions_devices_and_copies():
    value = value_of(np.arange(3, dtype=np.float32))
    assert "versioned" in repr(value.__dlpack__(max_version=(1, 0)))
    assert "versioned" not in repr(value.__dlpack__(max_version=(0, 8)))
    value.__dlpack__(stream=None, dl_device=(1, 0))
    with pytest.raises(BufferError, match="device"):
        value.__dlpack__(dl_device=(2, 0))
    copy = C.OrtValue.from_dlpack(value.__dlpack__(copy=True))
    assert copy.data_ptr() != value.data_ptr()
    assert copy.numpy().tolist() == [0, 1, 2]


@pytest.mark.parametrize("wrong", [{"stream": "x"}, {"max_version": "x"}, {"max_version": (1,)}, {"copy": "x"}], ids=str)
def test_arguments_of_the_protocol_are_checked(wrong):
    value = value_of(np.ones(2, np.float32))
    with pytest.raises(TypeError, match=f"__dlpack__: {next(iter(wrong))} must be"):
        value.__dlpack__(**wrong)


def test_read_only_memory_stays_so():
    array = np.arange(3, dtype=np.float32)
    array.flags.writeable = False
    value = C.OrtValue.from_dlpack(array)
    assert not value.numpy().flags.writeable
    assert not np.from_dlpack(value).flags.writeable


def test_strings_have_no_dlpack():
    with pytest.raises(RuntimeError, match="string"):
        value_of(np.array(["a"])).to_dlpack()


def test_memory_is_released_in_other_threads():
    array = np.arange(10.0)
    references = sys.getrefcount(array)

    def work():
        for _ in range(200):
            np.from_dlpack(C.OrtValue.from_dlpack(array)).sum()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    assert sys.getrefcount(array) == references


class NotForNumpy:
    """Like a tensor of torch whose type NumPy does not have."""

    def __init__(self, array):
        self._array = array

    def __array__(self, *_, **__):
        raise TypeError("not for NumPy")

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def test_an_input_that_is_no_array():
    session = retort.InferenceSession(add())
    x = np.arange(4, dtype=np.float32)
    assert session.run(None, {"x": NotForNumpy(x), "y": x})[0].tolist() == [0, 2, 4, 6]


@pytest.fixture(name="torch", scope="module")
def fixture_torch():
    """torch, where it is installed."""
    return pytest.importorskip("torch")


class TestTorch:
    """torch, in both directions."""

    @pytest.mark.parametrize("name", ["float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64",
                                      "uint8", "bool"])
    def test_there_and_back(self, torch, name):
        tensor = torch.arange(6).reshape(2, 3).to(getattr(torch, name))
        value = C.OrtValue.from_dlpack(tensor)
        assert value.data_ptr() == tensor.data_ptr() and value.shape() == [2, 3]
        for back in (torch.from_dlpack(value), torch.utils.dlpack.from_dlpack(value.to_dlpack())):
            assert back.dtype == tensor.dtype and back.data_ptr() == tensor.data_ptr()
            assert torch.equal(back, tensor)

    def test_inputs_of_a_run(self, torch):
        data = model([helper.make_node("Identity", ["x"], ["y"])], {"x": (int(TensorProto.BFLOAT16), ["n"])},
                     {"y": (int(TensorProto.BFLOAT16), ["n"])})
        result = retort.InferenceSession(data).run(None, {"x": torch.full((3,), 1.5, dtype=torch.bfloat16)})[0]
        assert result.astype(np.float32).tolist() == [1.5] * 3

    def test_value_keeps_the_tensor(self, torch):
        value = C.OrtValue.from_dlpack(torch.full((1000,), 7.0))
        gc.collect()
        assert value.numpy().sum() == 7000
        tensor = torch.from_dlpack(value)
        del value
        gc.collect()
        assert float(tensor.sum()) == 7000

    def test_strides(self, torch):
        with pytest.raises(RuntimeError, match="contiguous"):
            C.OrtValue.from_dlpack(torch.zeros(2, 3).T)
