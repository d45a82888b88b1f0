"""Many cycles of each object of the rooms of values: resident memory must not grow.

RETORT_CYCLES is their number, by default 20,000; the full test has 100,000.
"""
import gc
import os

import numpy as np
import pytest
from retort.capi import _pybind_state as C

from value_tools import HOST, value_of

CYCLES = int(os.environ.get("RETORT_CYCLES", "20000"))
# Allocators keep some pages. The smallest object of Python has 16 bytes, one with contents 40 and more.
ALLOWED = (1 << 19) + 16 * CYCLES
ARRAY = np.arange(64, dtype=np.float32)
BIG_ENDIAN = ARRAY.astype(">f4")
TEXTS = np.array(["a", "a text that is too long for a short string"], object)
SPARSE = C.SparseTensor.sparse_coo_from_numpy([99], ARRAY, np.arange(64), HOST)
VALUE = value_of(ARRAY)


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def refused(call, *arguments):
    try:
        call(*arguments)
    except (RuntimeError, TypeError, ValueError, BufferError):
        return
    raise AssertionError(f"{call} accepted {arguments}")


def vector():
    made = C.OrtValueVector()
    made.push_back(VALUE)
    made.push_back(ARRAY.__dlpack__())
    made.push_back_batch([ARRAY], [ARRAY.ctypes.data], [np.float32], [[64]], [HOST])
    return [value.shape() for value in made], made.to_dlpacks(None)


def adapter():
    made = C.AdapterFormat()
    made.parameters = {"a": VALUE}
    return made.parameters


OBJECTS = {
    "OrtValue of an array": lambda: value_of(ARRAY).numpy(),
    "OrtValue of another layout": lambda: value_of(BIG_ENDIAN).numpy(),
    "OrtValue of strings": lambda: value_of(TEXTS).numpy(),
    "OrtValue, new": lambda: C.OrtValue.ortvalue_from_shape_and_type([64], np.float32, HOST).numpy(),
    "OrtValue of another type": lambda: C.OrtValue.ortvalue_from_numpy_with_onnx_type(ARRAY.view(np.uint16), 16),
    "OrtValue, changed": lambda: VALUE.update_inplace(ARRAY),
    "questions": lambda: (VALUE.shape(), VALUE.data_type(), VALUE.device_name(), repr(VALUE)),
    "memoryview": lambda: memoryview(VALUE),
    "DLPack out": lambda: np.from_dlpack(VALUE),
    "DLPack, versioned": lambda: VALUE.__dlpack__(max_version=(1, 0)),
    "DLPack, not consumed": lambda: VALUE.to_dlpack(),
    "DLPack in": lambda: C.OrtValue.from_dlpack(ARRAY),
    "DLPack, copied": lambda: VALUE.__dlpack__(copy=True),
    "OrtValueVector": vector,
    "SparseTensor": lambda: C.SparseTensor.sparse_coo_from_numpy([99], ARRAY, np.arange(64), HOST),
    "views of SparseTensor": lambda: (SPARSE.values(), SPARSE.get_coo_data().indices()),
    "SparseTensor as OrtValue": lambda: C.OrtValue.ort_value_from_sparse_tensor(SPARSE).as_sparse_tensor(),
    "OrtDevice": lambda: repr(C.OrtDevice(1, 0, 0)),
    "OrtMemoryInfo": lambda: C.OrtMemoryInfo("Cpu", C.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, C.OrtMemType.DEFAULT),
    "OrtArenaCfg": lambda: C.OrtArenaCfg({"max_mem": 1}),
    "AdapterFormat": adapter,
    "mistake: not an array": lambda: refused(value_of, [1]),
    "mistake: dtype": lambda: refused(value_of, np.zeros(2, "M8[s]")),
    "mistake: size": lambda: refused(VALUE.update_inplace, np.zeros(3, np.float32)),
    "mistake: type": lambda: refused(VALUE.update_inplace, np.zeros(64)),
    "mistake: strides": lambda: refused(C.OrtValue.from_dlpack, ARRAY[::2]),
    "mistake: shape": lambda: refused(C.OrtValue.ortvalue_from_shape_and_type, [-1], np.float32, HOST),
    "mistake: device": lambda: refused(C.OrtValue.ortvalue_from_numpy, ARRAY, C.OrtDevice(1, 0, 0)),
    "mistake: indices": lambda: refused(C.SparseTensor.sparse_coo_from_numpy, [9], ARRAY, [0.5], HOST),
    "mistake: memory": lambda: refused(C.OrtMemoryInfo, "?", C.OrtAllocatorType.INVALID, 0, C.OrtMemType.DEFAULT),
    "mistake: adapter": lambda: refused(C.AdapterFormat.read_adapter, "/dev/null"),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_memory_stays_flat(name):
    cycle = OBJECTS[name]
    grown = []
    for _ in range(4):  # what allocators keep settles; a leak grows each time
        before = resident()
        for _ in range(CYCLES):
            cycle()
        gc.collect()
        grown.append(resident() - before)
        if grown[-1] < ALLOWED:
            return
    raise AssertionError(f"bytes in each {CYCLES} cycles: {grown}")
