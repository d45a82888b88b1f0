"""Small things that the tests of values share."""
import ctypes

import numpy as np
from retort.capi import _pybind_state as C

HOST = C.OrtDevice(C.OrtDevice.cpu(), C.OrtDevice.default_memory(), 0)


def value_of(array):
    """C.OrtValue of an array, on the host."""
    return C.OrtValue.ortvalue_from_numpy(array, HOST)


def address_of(array):
    return array.ctypes.data


class DlTensor(ctypes.Structure):
    """DLTensor of DLPack."""

    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("rank", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64)]


def read_capsule(capsule):
    """The DlTensor of a capsule "dltensor"; the capsule must stay alive."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return DlTensor.from_address(get(capsule, b"dltensor"))


def bits_of(array):
    """The bytes of an array, as a list."""
    return np.ascontiguousarray(array).view(np.uint8).tolist()
