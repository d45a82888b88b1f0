"""OrtValue, OrtValueVector: made of arrays, asked, changed."""
import gc
import sys
import weakref

import numpy as np
import pytest
import retort
from onnx import TensorProto, helper
from retort.capi import _pybind_state as C

from value_tools import HOST, address_of, value_of

# dtype, number in onnx.TensorProto.DataType, name
DTYPES = [("f4", 1, "float"), ("u1", 2, "uint8"), ("i1", 3, "int8"), ("u2", 4, "uint16"), ("i2", 5, "int16"),
          ("i4", 6, "int32"), ("i8", 7, "int64"), ("?", 9, "bool"), ("f2", 10, "float16"), ("f8", 11, "double"),
          ("u4", 12, "uint32"), ("u8", 13, "uint64")]


@pytest.mark.parametrize("dtype,proto,name", DTYPES)
def test_array_is_read_where_it_lies(dtype, proto, name):
    array = np.arange(6).reshape(2, 3).astype(dtype)
    value = value_of(array)
    assert value.data_ptr() == address_of(array)
    assert (value.data_type(), value.element_type(), value.shape()) == (f"tensor({name})", proto, [2, 3])
    assert value.tensor_size_in_bytes() == array.nbytes
    assert value.device_name() == "Cpu"
    assert value.is_tensor() and value.has_value()
    assert not value.is_sparse_tensor() and not value.is_tensor_sequence()
    back = value.numpy()
    assert back.dtype == array.dtype and back.ctypes.data == address_of(array)
    np.testing.assert_array_equal(back, array)


def test_value_keeps_the_array_and_array_the_value():
    array = np.arange(1000, dtype=np.float32)
    references = sys.getrefcount(array)
    value = value_of(array)
    assert sys.getrefcount(array) == references + 1
    view = value.numpy()
    del value
    gc.collect()
    assert sys.getrefcount(array) == references + 1, "the view needs the memory"
    view[0] = 7
    assert array[0] == 7
    del view
    gc.collect()
    assert sys.getrefcount(array) == references


@pytest.mark.parametrize("layout", ["transposed", "strided", "big endian", "unaligned"])
def test_other_layouts_are_copied_right(layout):
    base = np.arange(24, dtype=np.int32).reshape(4, 6)
    array = {
        "transposed": lambda: base.T,
        "strided": lambda: base[::2, 1::2],
        "big endian": lambda: base.astype(">i4"),
        "unaligned": lambda: unaligned_copy(base),
    }[layout]()
    value = value_of(array)
    assert value.data_ptr() != address_of(array)
    assert value.shape() == list(array.shape)
    np.testing.assert_array_equal(value.numpy(), array)


def unaligned_copy(array):
    bytes_ = np.zeros(array.nbytes + 1, np.uint8)
    view = bytes_[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    assert not view.flags.aligned
    return view


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1, 1, 1)])
def test_scalars_and_empty_arrays(shape):
    array = np.ones(shape, np.float32)
    value = value_of(array)
    assert value.shape() == list(shape)
    np.testing.assert_array_equal(value.numpy(), array)


STRINGS = [
    np.array(["a", "é", "", "日本😀"]),
    np.array([b"ab", b"c", b""]),
    np.array(["x", "a longer string than others"], object),
    np.array([["a"], ["b"]]).astype(">U3"),
    np.array("one"),
    np.array([], "U1"),
    np.array(["in\0side"]),
]


@pytest.mark.parametrize("array", STRINGS, ids=lambda array: f"{array.dtype.str}{list(array.shape)}")
def test_strings(array):
    value = value_of(array)
    assert value.data_type() == "tensor(string)" and value.element_type() == 8
    back = value.numpy()
    assert back.dtype == object and back.shape == array.shape
    expected = [text.decode() if isinstance(text, bytes) else str(text) for text in array.reshape(-1).tolist()]
    assert back.reshape(-1).tolist() == expected


def test_string_dtype_of_numpy_2():
    if not hasattr(np.dtypes, "StringDType"):
        pytest.skip("NumPy 1 has no StringDType")
    array = np.array(["a", "日本", "x" * 100], np.dtypes.StringDType())
    assert value_of(array).numpy().tolist() == array.tolist()


def test_objects_become_their_text():
    assert value_of(np.array(["x", None, 3, 1.5], object)).numpy().tolist() == ["x", "None", "3", "1.5"]


def test_strings_that_utf8_cannot_express():
    with pytest.raises(RuntimeError, match="55296"):
        value_of(np.array(["\ud800"]))


@pytest.mark.parametrize("wrong", [[1, 2], 3.0, None, "text", np.float32(1)])
def test_only_arrays_become_values(wrong):
    with pytest.raises(RuntimeError, match="numpy arrays"):
        value_of(wrong)


def test_dtypes_without_tensor_type():
    with pytest.raises(RuntimeError, match=r"datetime64\[s\] has no tensor type") as caught:
        value_of(np.zeros(2, "M8[s]"))
    assert caught.value.code == 2 and caught.value.node is None


def test_new_tensors():
    for value in (C.OrtValue.ortvalue_from_shape_and_type([2, 3], np.float32, HOST),
                  C.OrtValue.ortvalue_from_shape_and_type((2, 3), "f4", HOST),
                  C.OrtValue.ortvalue_from_shape_and_onnx_type([2, 3], 1, HOST)):
        assert (value.data_type(), value.shape()) == ("tensor(float)", [2, 3])
        value.numpy()[...] = 5
        assert value.numpy().sum() == 30
    info = C.OrtMemoryInfo("Cpu", C.OrtAllocatorType.ORT_DEVICE_ALLOCATOR, 0, C.OrtMemType.DEFAULT)
    assert C.OrtValue.ortvalue_from_shape_and_type_for_memory_info([4], np.int64, info).shape() == [4]
    assert C.OrtValue.ortvalue_from_shape_and_onnx_type_for_memory_info([4], 7, info).element_type() == 7


@pytest.mark.parametrize("shape,what", [([2, -3], "negative"), ([2**40, 2**40], "memory")])
def test_impossible_shapes(shape, what):
    with pytest.raises(RuntimeError, match=what):
        C.OrtValue.ortvalue_from_shape_and_type(shape, np.float32, HOST)


@pytest.mark.parametrize("proto", [0, 27, 99, -1])
def test_unknown_element_types(proto):
    with pytest.raises(RuntimeError, match=f"tensor type {proto} is not supported"):
        C.OrtValue.ortvalue_from_shape_and_onnx_type([2], proto, HOST)


def test_memory_of_a_device_that_is_not_there():
    gpu = C.OrtDevice(C.OrtDevice.cuda(), C.OrtDevice.default_memory(), 0x10DE, 0)
    for make in (lambda: C.OrtValue.ortvalue_from_numpy(np.zeros(2, np.float32), gpu),
                 lambda: C.OrtValue.ortvalue_from_shape_and_type([2], np.float32, gpu)):
        with pytest.raises(RuntimeError, match="Can't allocate memory on"):
            make()


def test_update_in_place():
    value = C.OrtValue.ortvalue_from_shape_and_type([2, 3], np.float32, HOST)
    address = value.data_ptr()
    value.update_inplace(np.arange(6, dtype=np.float32).reshape(3, 2))
    np.testing.assert_array_equal(value.numpy(), np.arange(6).reshape(2, 3))
    value.update_inplace(np.arange(6, dtype=np.float32).reshape(3, 2).T)
    np.testing.assert_array_equal(value.numpy(), np.arange(6).reshape(3, 2).T)
    value.update_inplace(value_of(np.full((2, 3), 9, np.float32)))
    assert value.numpy().tolist() == [[9] * 3] * 2
    assert value.data_ptr() == address
    with pytest.raises(RuntimeError, match="does not match the size"):
        value.update_inplace(np.zeros(5, np.float32))
    with pytest.raises(RuntimeError, match="double do not fit"):
        value.update_inplace(np.zeros((2, 3)))
    with pytest.raises(TypeError):
        value.update_inplace([1, 2])


def test_update_of_strings():
    value = value_of(np.array(["a", "b"]))
    value.update_inplace(np.array(["a longer text than before", "é"]))
    assert value.numpy().tolist() == ["a longer text than before", "é"]


def test_memory_of_a_read_only_array_stays_as_it_is():
    array = np.arange(3, dtype=np.float32)
    array.flags.writeable = False
    value = value_of(array)
    assert not value.numpy().flags.writeable
    with pytest.raises(RuntimeError, match="read-only"):
        value.update_inplace(np.zeros(3, np.float32))
    assert array.tolist() == [0, 1, 2]


def test_other_element_type_over_the_same_bytes():
    array = np.array([0x3F80, 0x4000], np.uint16)
    value = C.OrtValue.ortvalue_from_numpy_with_onnx_type(array, 16)
    assert value.data_type() == "tensor(bfloat16)" and value.data_ptr() == address_of(array)
    with pytest.raises(RuntimeError, match="have 4 bytes"):
        C.OrtValue.ortvalue_from_numpy_with_onnx_type(np.zeros(2, np.float32), 16)


def test_buffer_protocol():
    array = np.arange(6, dtype=np.int16).reshape(2, 3)
    view = memoryview(value_of(array))
    assert (view.format, view.shape, view.itemsize) == ("h", (2, 3), 2)
    assert view.tolist() == array.tolist()
    view[0, 0] = 42
    assert array[0, 0] == 42


def test_questions_that_only_tensors_answer():
    sparse = C.SparseTensor.sparse_coo_from_numpy([3], np.ones(1, np.float32), np.zeros(1, np.int64), HOST)
    value = C.OrtValue.ort_value_from_sparse_tensor(sparse)
    for question in ("numpy", "data_ptr", "tensor_size_in_bytes", "to_dlpack", "__dlpack_device__"):
        with pytest.raises(RuntimeError):
            getattr(value, question)()


def test_repr_shows_what_it_is():
    assert repr(value_of(np.zeros((2, 3), np.float32))) == "OrtValue(tensor(float), shape=[2, 3], device=Cpu)"


def test_vector():
    vector = C.OrtValueVector()
    array = np.arange(4, dtype=np.float32)
    vector.reserve(2)
    vector.push_back(value_of(array))
    vector.push_back(np.arange(3).__dlpack__())
    vector.push_back_batch([array], [address_of(array)], [np.float32], [[2, 2]], [HOST])
    vector.shrink_to_fit()
    assert len(vector) == 3
    assert [value.shape() for value in vector] == [[4], [3], [2, 2]]
    assert vector[2].data_ptr() == address_of(array)
    assert vector.element_type_at(1) == 7
    capsules = vector.to_dlpacks(None)
    assert [type(capsule).__name__ for capsule in capsules] == ["PyCapsule"] * 3
    assert [value.shape() for value in vector.to_dlpacks(C.OrtValue.from_dlpack)] == [[4], [3], [2, 2]]
    assert type(vector.dlpack_at(0)).__name__ == "PyCapsule"
    for index in (3, -1):
        with pytest.raises((IndexError, TypeError)):
            vector[index]
    with pytest.raises(RuntimeError, match="same length"):
        vector.push_back_batch([array], [], [], [], [])


def test_vector_keeps_its_values():
    vector = C.OrtValueVector()
    vector.push_back(value_of(np.arange(3, dtype=np.float32)))
    value = vector[0]
    del vector
    gc.collect()
    assert value.numpy().tolist() == [0, 1, 2]


def test_read_only_memory_is_no_output(digits):
    session = retort.InferenceSession(str(digits), providers=["CPUExecutionProvider"])
    array = np.zeros((1, 10), np.float32)
    array.flags.writeable = False
    binding = session.io_binding()
    for bind in (lambda value: binding.bind_ortvalue_output("probabilities", value),
                 lambda value: binding._iobinding.bind_ortvalue_output("probabilities", value._ortvalue)):
        with pytest.raises(RuntimeError, match="read-only"):
            bind(retort.OrtValue(value_of(array)))
    binding.bind_ortvalue_output("probabilities", retort.OrtValue(value_of(array.copy())))


def test_bound_element_types_are_those_of_onnx():
    """The numbers 24 to 26 differ from those of the C interface."""
    node = helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.INT2, [4])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=11)
    session = retort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    packed = np.array([0b01_00_11_10], np.uint8)  # -2, -1, 0, 1
    binding.bind_input("x", "cpu", 0, TensorProto.INT2, [4], address_of(packed))
    binding.bind_output("y")
    session.run_with_iobinding(binding)
    assert binding.copy_outputs_to_cpu()[0].tolist() == [-2, -1, 0, 1]


def test_release_that_runs_python_and_the_engine(digits):
    """The last reference of an array is dropped within the engine's release, and its callback runs a model."""
    session = retort.InferenceSession(str(digits), providers=["CPUExecutionProvider"])
    image = np.zeros((1, 1, 8, 8), np.float32)
    results = []

    def last_words(_):
        inner = value_of(np.ones(1000, np.float32))
        results.append(session.run(None, {"image": image})[0].shape)
        del inner

    for _ in range(100):
        array = np.ones(1000, np.float32)
        value = value_of(array)
        keep = weakref.ref(array, last_words)
        del array, value
        assert keep() is None
    assert results == [(1, 10)] * 100
