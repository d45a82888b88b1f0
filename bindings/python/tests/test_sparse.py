"""SparseTensor and its views."""
import gc

import numpy as np
import pytest
from retort.capi import _pybind_state as C

from value_tools import HOST

SparseTensor = C.SparseTensor


@pytest.mark.parametrize("indices", [[1, 4, 8], [[0, 1], [1, 1], [2, 2]]], ids=["linear", "pairs"])
@pytest.mark.parametrize("values", [[1.0, 2.0, 3.0], ["a", "bé", "c" * 50]], ids=["floats", "strings"])
def test_coordinates(indices, values):
    values = np.array(values, np.float32 if isinstance(values[0], float) else None)
    tensor = SparseTensor.sparse_coo_from_numpy([3, 3], values, np.array(indices), HOST)
    assert tensor.values().tolist() == values.tolist()
    assert tensor.get_coo_data().indices().tolist() == indices
    assert tensor.dense_shape() == [3, 3] and tensor.device_name() == "Cpu"
    assert tensor.format == C.OrtSparseFormat.ORT_SPARSE_COO
    assert tensor.data_type() == ("sparse_tensor(string)" if values.dtype.kind == "U" else "sparse_tensor(float)")
    with pytest.raises(RuntimeError):
        tensor.get_csrc_data()


def test_rows():
    tensor = SparseTensor.sparse_csr_from_numpy([3, 3], np.array([1, 2, 3], np.int64), [1, 1, 1], [0, 1, 2, 3], HOST)
    view = tensor.get_csrc_data()
    assert (view.inner().tolist(), view.outer().tolist()) == ([1, 1, 1], [0, 1, 2, 3])
    assert tensor.format == C.OrtSparseFormat.ORT_SPARSE_CSRC
    assert tensor.values().tolist() == [1, 2, 3]


def test_blocks():
    blocks = np.arange(8, dtype=np.float32).reshape(2, 2, 2)
    tensor = SparseTensor.blocksparse_from_numpy([4, 4], blocks, np.array([[0, 1], [0, 1]]), HOST)
    indices = tensor.get_blocksparse_data().indices()
    assert indices.dtype == np.int32 and indices.tolist() == [[0, 1], [0, 1]]
    assert tensor.format == C.OrtSparseFormat.ORT_SPARSE_BLOCK_SPARSE
    np.testing.assert_array_equal(tensor.values(), blocks)


def test_it_has_memory_of_its_own():
    values = np.array([1, 2], np.float32)
    tensor = SparseTensor.sparse_coo_from_numpy([9], values, np.array([3, 4]), HOST)
    values[:] = 0
    array = tensor.values()
    indices = tensor.get_coo_data().indices()
    del tensor
    gc.collect()
    assert array.tolist() == [1, 2] and indices.tolist() == [3, 4]


def test_as_a_value_and_back():
    tensor = SparseTensor.sparse_coo_from_numpy([9], np.array([1, 2], np.float32), np.array([3, 4]), HOST)
    value = C.OrtValue.ort_value_from_sparse_tensor(tensor)
    assert value.is_sparse_tensor() and not value.is_tensor()
    assert (value.shape(), value.data_type(), value.element_type()) == ([9], "sparse_tensor(float)", 1)
    del tensor
    assert value.as_sparse_tensor().values().tolist() == [1, 2]
    with pytest.raises(RuntimeError, match="sparse"):
        C.OrtValue.ortvalue_from_numpy(np.zeros(2), HOST).as_sparse_tensor()


def test_mistakes():
    ones = np.ones(3, np.float32)
    with pytest.raises(Exception, match="(?i)ind"):
        SparseTensor.sparse_coo_from_numpy([2, 2], ones, np.array([0, 1]), HOST)
    with pytest.raises(RuntimeError, match="negative"):
        SparseTensor.sparse_coo_from_numpy([-2], ones, np.array([0, 1, 1]), HOST)
    with pytest.raises(RuntimeError, match="index"):
        SparseTensor.sparse_coo_from_numpy([9], ones, np.array([0, 1.5, 2]), HOST)
    gpu = C.OrtDevice(1, 0, 0)
    with pytest.raises(RuntimeError, match="host memory"):
        SparseTensor.sparse_coo_from_numpy([9], ones, np.array([0, 1, 2]), gpu)
    with pytest.raises(RuntimeError):
        SparseTensor.sparse_coo_from_numpy([9], ones, np.array([0, 1, 2]), HOST).to_cuda(gpu)
