"""A process with the CUDA provider (environment: RETORT_CUDA), and memory of the device that does not belong to it."""
import ctypes
import os

import numpy as np
import retort
from onnx import TensorProto, helper
from retort.capi import _pybind_state as C

from value_tools import HOST, DlTensor

retort.register_execution_provider_library("cuda", os.environ["RETORT_CUDA"])
EP = next(device for device in retort.get_ep_devices() if device.ep_name == "CUDAExecutionProvider")
DEVICE = C.OrtDevice(C.OrtDevice.gpu(), 0, 0x10DE, 0)
X = np.arange(6, dtype=np.float32).reshape(2, 3)
DRIVER = ctypes.CDLL(os.path.join(os.environ["RETORT_CUDA_LIBRARIES"], "libcuda.so.1"))
CONTEXT = ctypes.c_void_p()


def call(name, *arguments):
    """A function of the driver, in the context of the device."""
    DRIVER.cuCtxSetCurrent(CONTEXT)
    result = getattr(DRIVER, name)(*arguments)
    if result:
        raise RuntimeError(f"{name} gives {result}")


if DRIVER.cuDevicePrimaryCtxRetain(ctypes.byref(CONTEXT), 0):
    raise RuntimeError("the device has no context")


def new_stream():
    stream = ctypes.c_void_p()
    call("cuStreamCreate", ctypes.byref(stream), 1)
    return stream.value


def query(stream):
    """0 if all work on the stream is done."""
    DRIVER.cuCtxSetCurrent(CONTEXT)
    return DRIVER.cuStreamQuery(ctypes.c_void_p(stream))


def copy_late(to, start, count, stream):
    call("cuMemcpyDtoDAsync_v2", ctypes.c_uint64(to), ctypes.c_uint64(start), ctypes.c_size_t(count), ctypes.c_void_p(stream))


def on_host(value):
    result = C.OrtValue.ortvalue_from_numpy(np.zeros(value.shape(), np.float32), HOST)
    result.update_inplace(value)
    return result.numpy().copy()


def session():
    x, z = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 3]) for name in "xz")
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["z"])], "g", [x], [z])
    data = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9).SerializeToString()
    options = retort.SessionOptions()
    options.add_provider_for_devices([EP], {})
    return retort.InferenceSession(data, options)


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Managed(ctypes.Structure):
    """DLManagedTensor of DLPack."""

    _fields_ = [("tensor", DlTensor), ("context", ctypes.c_void_p), ("deleter", DELETER)]


class VersionedManaged(ctypes.Structure):
    """DLManagedTensorVersioned of DLPack."""

    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p), ("deleter", DELETER), ("flags", ctypes.c_uint64),
                ("tensor", DlTensor)]


class Foreign:
    """A tensor of another package on the device, which counts how often its memory was given back."""

    def __init__(self, array, version=1, strides=None):
        address = ctypes.c_uint64()
        call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(array.nbytes))
        self.address, self.shape, self.version, self.strides, self.released, self._kept = address.value, array.shape, version, strides, 0, []
        self.write_late(array, None)
        call("cuCtxSynchronize")

    def write_late(self, array, stream):
        self._kept.append(array)
        call("cuMemcpyHtoDAsync_v2", ctypes.c_uint64(self.address), ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes), ctypes.c_void_p(stream))

    def read(self):
        array = np.zeros(self.shape, np.float32)
        call("cuMemcpyDtoHAsync_v2", ctypes.c_void_p(array.ctypes.data), ctypes.c_uint64(self.address), ctypes.c_size_t(array.nbytes), None)
        call("cuCtxSynchronize")
        return array

    def _release(self, _):
        self.released += 1

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, **options):
        if not self.version and options.get("max_version"):
            raise TypeError("an older protocol")
        rank = len(self.shape)
        extents = [(ctypes.c_int64 * rank)(*values) for values in (self.shape, self.strides or self.shape)]
        strides = ctypes.cast(extents[1], ctypes.POINTER(ctypes.c_int64)) if self.strides else None
        tensor = DlTensor(self.address, 2, 0, rank, 2, 32, 1, extents[0], strides, 0)
        deleter = DELETER(self._release)
        managed = VersionedManaged(1, 0, None, deleter, 0, tensor) if self.version else Managed(tensor, None, deleter)
        name = ctypes.create_string_buffer(b"dltensor_versioned" if self.version else b"dltensor")
        self._kept += [extents, deleter, managed, name]
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
        return make(ctypes.addressof(managed), ctypes.addressof(name), None)
