"""Sequences, maps, optionals, strings and plain Python objects through a run."""
import gc

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import retort

from value_tools import value_of

ml_dtypes = pytest.importorskip("ml_dtypes")


def session_of(nodes, inputs, outputs, opset=18):
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    return retort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def tensor(name, proto=TensorProto.FLOAT, shape=None):
    return helper.make_tensor_value_info(name, proto, shape)


def sequence(name, proto=TensorProto.FLOAT):
    return helper.make_tensor_sequence_value_info(name, proto, None)


def mapping(name, key, value=TensorProto.FLOAT, in_sequence=False):
    info = onnx.ValueInfoProto(name=name)
    kind = info.type.sequence_type.elem_type.map_type if in_sequence else info.type.map_type
    kind.key_type = key
    kind.value_type.tensor_type.elem_type = value
    return info


def optional(name, proto=TensorProto.FLOAT):
    return helper.make_value_info(name, helper.make_optional_type_proto(helper.make_tensor_type_proto(proto, None)))


def identity(proto, opset=18):
    return session_of([helper.make_node("Identity", ["x"], ["y"])], [tensor("x", proto)], [tensor("y", proto)], opset)


@pytest.fixture(name="at", scope="module")
def fixture_at():
    """Element `i` of sequence `s`."""
    return session_of([helper.make_node("SequenceAt", ["s", "i"], ["o"])], [sequence("s"), tensor("i", 7, [])],
                      [tensor("o")])


@pytest.fixture(name="length", scope="module")
def fixture_length():
    return session_of([helper.make_node("SequenceLength", ["s"], ["n"])], [sequence("s")], [tensor("n", 7, [])])


def test_sequence_out():
    session = session_of([helper.make_node("SequenceConstruct", ["a", "b"], ["s"])], [tensor("a"), tensor("b")],
                         [sequence("s")])
    feed = {"a": np.ones(2, np.float32), "b": np.zeros((2, 2), np.float32)}
    result = session.run(None, feed)[0]
    assert isinstance(result, list) and [item.tolist() for item in result] == [[1, 1], [[0, 0], [0, 0]]]
    value = session.run_with_ort_values(None, {name: retort.OrtValue(value_of(array)) for name, array in feed.items()})[0]
    assert value.is_tensor_sequence() and value.data_type() == "seq(tensor(float))" and value.element_type() == 1
    assert "length=2" in repr(value._ortvalue)
    with pytest.raises(RuntimeError):
        value.shape()


def test_sequence_in(at):
    items = [np.ones(2, np.float32), np.arange(3, dtype=np.float32)]
    for given in (items, tuple(items), [[1.0, 1.0], [0.0, 1.0, 2.0]], [value_of(item) for item in items]):
        assert at.run(None, {"s": given, "i": np.array(1)})[0].tolist() == [0, 1, 2]


def test_sequence_as_a_value(at):
    session = session_of([helper.make_node("SequenceConstruct", ["a"], ["s"])], [tensor("a")], [sequence("s")])
    value = session.run_with_ort_values(None, {"a": retort.OrtValue(value_of(np.arange(3, dtype=np.float32)))})[0]
    del session
    gc.collect()
    assert at.run(None, {"s": value, "i": np.array(0)})[0].tolist() == [0, 1, 2]


def test_empty_sequence(length):
    assert length.run(None, {"s": []})[0] == 0
    assert length.run(None, {"s": [np.ones(1, np.float32)]})[0] == 1


@pytest.mark.parametrize("proto", [TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING, TensorProto.BOOL,
                                   TensorProto.DOUBLE, TensorProto.UINT8, TensorProto.FLOAT16])
def test_empty_sequence_of_each_type(proto):
    session = session_of([helper.make_node("SequenceLength", ["s"], ["n"])], [sequence("s", proto)],
                         [tensor("n", 7, [])])
    assert session.run(None, {"s": []})[0] == 0


def test_wrong_sequences(at):
    for wrong in (np.ones((2, 2), np.float32), {"a": 1}, 3.0, "text"):
        with pytest.raises(Exception, match="(?s)s.*list"):
            at.run(None, {"s": wrong, "i": np.array(0)})
    with pytest.raises(Exception):
        at.run(None, {"s": [np.ones(2)], "i": np.array(0)})
    with pytest.raises(Exception, match=r"'s'\[1\]"):
        at.run(None, {"s": [np.ones(2, np.float32), object()], "i": np.array(0)})


@pytest.mark.parametrize("labels,key", [({"classlabels_strings": ["p", "q"]}, 8), ({"classlabels_int64s": [3, 4]}, 7)])
def test_maps_out(labels, key):
    node = helper.make_node("ZipMap", ["a"], ["z"], domain="ai.onnx.ml", **labels)
    session = session_of([node], [tensor("a", 1, [None, 2])], [mapping("z", key, in_sequence=True)])
    rows = session.run(None, {"a": np.array([[1, 2], [3, 4]], np.float32)})[0]
    names = next(iter(labels.values()))
    assert rows == [dict(zip(names, [1.0, 2.0])), dict(zip(names, [3.0, 4.0]))]
    assert all(type(value) is float for row in rows for value in row.values())
    value = session.run_with_ort_values(None, {"a": retort.OrtValue(value_of(np.ones((1, 2), np.float32)))})[0]
    assert value.data_type() == f"seq(map({'string' if key == 8 else 'int64'},tensor(float)))"
    assert not value.is_tensor_sequence()


@pytest.mark.parametrize("labels,key", [({"classlabels_int64s": [5, 1, -2]}, 7),
                                        ({"classlabels_strings": ["é", "b", "a10"]}, 8)])
def test_entries_of_maps_are_in_the_order_of_keys(labels, key):
    node = helper.make_node("ZipMap", ["a"], ["z"], domain="ai.onnx.ml", **labels)
    session = session_of([node], [tensor("a", 1, [None, 3])], [mapping("z", key, in_sequence=True)])
    a = np.arange(12, dtype=np.float32).reshape(4, 3)
    keys = sorted(next(iter(labels.values())), key=lambda k: k if key == 7 else k.encode())
    rows = session.run(None, {"a": a})[0]
    assert [list(row) for row in rows] == [keys] * 4
    assert [list(row.values()) for row in rows] == a[:, ::-1].tolist()
    assert all(type(v) is float for row in rows for v in row.values())
    rows[0].clear()  # no row shares its entries with another
    assert len(rows[1]) == 3


def test_map_in():
    node = helper.make_node("DictVectorizer", ["m"], ["o"], domain="ai.onnx.ml", string_vocabulary=["a", "b", "c"])
    session = session_of([node], [mapping("m", 8)], [tensor("o")])
    assert session.run(None, {"m": {"a": 1.0, "c": 2}})[0].tolist() == [[1, 0, 2]]
    assert session.run(None, {"m": {"b": np.float32(3)}})[0].tolist() == [[0, 3, 0]]
    for wrong in ({"a": "x"}, {1: 1.0}, {}, [{"a": 1.0}], np.ones(2, np.float32), {"a": 1.0, 2: 1.0}):
        with pytest.raises(Exception, match="m"):
            session.run(None, {"m": wrong})


def test_map_of_integers_in():
    node = helper.make_node("CastMap", ["m"], ["o"], domain="ai.onnx.ml", cast_to="TO_FLOAT")
    session = session_of([node], [mapping("m", 7)], [tensor("o")])
    assert session.run(None, {"m": {2: 5.0, 1: 4.0}})[0].reshape(-1).tolist() == [4, 5]


def test_optional_in():
    session = session_of([helper.make_node("OptionalHasElement", ["x"], ["o"])], [optional("x")], [tensor("o", 9)])
    assert not session.run(None, {"x": None})[0]
    assert not session.run(None, {})[0]
    assert session.run(None, {"x": np.ones(2, np.float32)})[0]


def test_optional_out():
    node = helper.make_node("Optional", [], ["x"], type=helper.make_tensor_type_proto(1, [None]))
    session = session_of([node], [], [optional("x")])
    assert session.run(None, {}) == [None]
    value = session.run_with_ort_values(None, {})[0]
    assert not value.has_value()
    assert repr(value._ortvalue) == "OrtValue(without value)"
    for question in ("data_type", "shape", "numpy", "element_type", "data_ptr"):
        with pytest.raises(RuntimeError):
            getattr(value, question)()


def test_strings_through_a_run():
    session = identity(TensorProto.STRING)
    texts = np.array([["a", "é"], ["日本😀", ""]])
    for given in (texts, texts.astype(object), texts.tolist()):
        result = session.run(None, {"x": given})[0]
        assert result.dtype == object and result.tolist() == texts.tolist()


def test_plain_objects_get_the_type_of_the_input():
    session = identity(TensorProto.FLOAT)
    for given in ([1.0, 2], (1, 2), np.array([1, 2], ">f4")):
        result = session.run(None, {"x": given})[0]
        assert result.dtype == np.float32 and result.tolist() == [1, 2]
    assert session.run(None, {"x": 3})[0].shape == ()
    assert identity(TensorProto.BOOL).run(None, {"x": [1, 0]})[0].tolist() == [True, False]
    assert identity(TensorProto.INT64).run(None, {"x": [[1], [2]]})[0].dtype == np.int64


def test_nothing_is_cut_off():
    session = identity(TensorProto.INT64)
    with pytest.raises(RuntimeError, match="fractions"):
        session.run(None, {"x": [1.5]})
    with pytest.raises((OverflowError, ValueError)):
        identity(TensorProto.UINT8).run(None, {"x": [300]})


def test_element_types_of_arrays_are_not_converted():
    session = identity(TensorProto.FLOAT)
    for wrong in (np.ones(2), np.ones(2, np.int32), np.float64(1), np.array(["a"])):
        with pytest.raises(Exception, match="(?i)type|float"):
            session.run(None, {"x": wrong})


class WithArray:
    """An object that NumPy can read."""

    def __array__(self, dtype=None, copy=None):
        return np.arange(3, dtype=dtype or np.float32)


class WithDlpack:
    """An object that only DLPack can read."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("given", [WithArray(), WithDlpack(np.arange(3, dtype=np.float32)),
                                   memoryview(np.arange(3, dtype=np.float32)), value_of(np.arange(3, dtype=np.float32))],
                         ids=["__array__", "__dlpack__", "memoryview", "OrtValue"])
def test_objects_with_protocols(given):
    assert identity(TensorProto.FLOAT).run(None, {"x": given})[0].tolist() == [0, 1, 2]


@pytest.mark.parametrize("name,proto,opset", [("bfloat16", 16, 18), ("float8_e4m3fn", 17, 19), ("float8_e5m2", 19, 19),
                                              ("int4", 22, 21), ("uint4", 21, 21)])
def test_small_types_through_a_run(name, proto, opset):
    dtype = getattr(ml_dtypes, name)
    to_float = session_of([helper.make_node("Cast", ["x"], ["y"], to=1)], [tensor("x", proto)], [tensor("y")], opset)
    for given in (np.array([1, 2, 0, 1, 3], dtype), [1, 2, 0, 1, 3]):
        assert to_float.run(None, {"x": given})[0].tolist() == [1, 2, 0, 1, 3]
    node = helper.make_node("Cast", ["x"], ["y"], to=proto)
    to_small = session_of([node], [tensor("x")], [tensor("y", proto)], opset)
    result = to_small.run(None, {"x": [[1.0], [2.0], [0.0]]})[0]
    assert result.dtype == dtype and result.astype(int).tolist() == [[1], [2], [0]]


def test_output_owns_its_memory():
    session = session_of([helper.make_node("Add", ["x", "x"], ["y"])], [tensor("x")], [tensor("y")])
    results = [session.run(None, {"x": np.full(1000, i, np.float32)})[0] for i in range(20)]
    del session
    gc.collect()
    assert [array[0] for array in results] == [2 * i for i in range(20)]
    results[0][:] = 5
    assert results[1][0] == 2 and results[0].flags.writeable


def test_sparse_constant():
    dense = helper.make_tensor_value_info("y", 1, None)
    sparse = onnx.helper.make_sparse_tensor(helper.make_tensor("v", 1, [2], [3.0, 4.0]),
                                            helper.make_tensor("i", 7, [2], [1, 2]), [4])
    nodes = [helper.make_node("Constant", [], ["c"], sparse_value=sparse), helper.make_node("Neg", ["c"], ["y"])]
    assert session_of(nodes, [], [dense]).run(None, {})[0].tolist() == [0, -3, -4, 0]
