"""OrtValue: tensors and other values of the engine, and copies between them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native as C
from ._devices import OrtDevice, OrtDeviceVendorId

if TYPE_CHECKING:
    from ._sparse import SparseTensor

_CUDA = 2  # kDLCUDA: memory of the device alone


class OrtValue(C.Buffered):
    """A value of the engine: a tensor on any device, a tensor of strings, a sequence, a map or a sparse tensor.

    Make one from an array with `OrtValue.ortvalue_from_numpy(array)`: on the CPU it lies over the memory of the array
    and keeps it alive. Read one with `numpy()`, `numpy.asarray(value)`, `memoryview(value)` or `from_dlpack(value)` of
    any library.
    The memory belongs to the value, or to the object that it was made from, and is freed with the last of both.
    Reading from several threads is safe; writing while others read is not.
    """

    __slots__ = ("__weakref__", "_numpy_obj", "_ortvalue", "_session")

    def __init__(
        self,
        ortvalue: C.OrtValue,
        numpy_obj: np.ndarray | None = None,
        session: C.InferenceSession | None = None,
    ) -> None:
        """Wraps a native value; programs call one of the class methods instead.

        Args:
            ortvalue: the native value.
            numpy_obj: an array over whose memory the value lies; it is kept.
            session: a session whose allocator made the memory; it is kept.

        Raises:
            ValueError: the first argument is not a native value.
        """
        if not isinstance(ortvalue, C.OrtValue):
            raise ValueError(
                f"OrtValue: got {type(ortvalue).__name__}, expected a native OrtValue; "
                "use OrtValue.ortvalue_from_numpy() or another class method"
            )
        self._ortvalue = ortvalue
        self._numpy_obj = numpy_obj
        self._session = session

    def _get_c_value(self) -> C.OrtValue:
        return self._ortvalue

    @property
    def _is_webgpu_buffer(self) -> bool:
        return self._ortvalue._is_webgpu_buffer()

    @classmethod
    def ortvalue_from_numpy(
        cls,
        numpy_obj: np.ndarray,
        /,
        device_type: str = "cpu",
        device_id: int = 0,
        vendor_id: int | OrtDeviceVendorId = -1,
    ) -> OrtValue:
        """A tensor with the elements of an array.

        On the CPU, the tensor lies over the memory of the array if that is contiguous: later changes of the array are
        seen, and the array is kept alive. On another device, and for strings, the elements are copied.

        Args:
            numpy_obj: any dtype that the engine has, those of ml_dtypes included.
            device_type: the device, see `OrtDevice.make`.
            device_id: the number of the device.
            vendor_id: the vendor, if the name of the device does not imply it.
        """
        device = OrtDevice.make(device_type, device_id, vendor_id)
        value = C.OrtValue.ortvalue_from_numpy(numpy_obj, device._get_c_device())
        return cls(value, numpy_obj if device_type.lower() == "cpu" else None)

    @classmethod
    def ortvalue_from_numpy_with_onnx_type(cls, data: np.ndarray, /, onnx_element_type: int) -> OrtValue:
        """A tensor over the memory of an array whose bytes are taken for elements of another type.

        This is for types that NumPy does not have, if ml_dtypes is not used: an array of uint16 can hold bfloat16.

        Args:
            data: a contiguous array; it is kept alive.
            onnx_element_type: a number of onnx.TensorProto.DataType whose elements are as large as those of the array.
        """
        return cls(C.OrtValue.ortvalue_from_numpy_with_onnx_type(data, onnx_element_type), data)

    @classmethod
    def ortvalue_from_shape_and_type(
        cls,
        shape: Sequence[int],
        element_type: Any,
        device_type: str = "cpu",
        device_id: int = 0,
        vendor_id: int | OrtDeviceVendorId = -1,
        memory_info: C.OrtMemoryInfo | None = None,
    ) -> OrtValue:
        """A new tensor; its elements have no defined values.

        Args:
            shape: the extents.
            element_type: a dtype or what numpy.dtype() accepts, or a number of onnx.TensorProto.DataType.
            device_type: the device, see `OrtDevice.make`.
            device_id: the number of the device.
            vendor_id: the vendor, if the name of the device does not imply it.
            memory_info: memory to use in place of that of the device that the other arguments name, for example
                `ep_device.memory_info(OrtDeviceMemoryType.HOST_ACCESSIBLE)`.
        """
        by_number = isinstance(element_type, int)
        if memory_info is not None:
            if device_type != "cpu" or device_id != 0 or vendor_id != -1:
                warnings.warn(
                    "OrtValue.ortvalue_from_shape_and_type: device_type, device_id and vendor_id have no effect beside "
                    "memory_info; leave them out",
                    stacklevel=2,
                )
            make_there = (
                C.OrtValue.ortvalue_from_shape_and_onnx_type_for_memory_info
                if by_number
                else C.OrtValue.ortvalue_from_shape_and_type_for_memory_info
            )
            return cls(make_there(shape, element_type, memory_info))
        device = OrtDevice.make(device_type, device_id, vendor_id)._get_c_device()
        make = (
            C.OrtValue.ortvalue_from_shape_and_onnx_type if by_number else C.OrtValue.ortvalue_from_shape_and_type
        )
        return cls(make(shape, element_type, device))

    @classmethod
    def ort_value_from_sparse_tensor(cls, sparse_tensor: SparseTensor) -> OrtValue:
        """A value that shares the memory of a sparse tensor."""
        return cls(C.OrtValue.ort_value_from_sparse_tensor(sparse_tensor._get_c_tensor()))

    def as_sparse_tensor(self) -> SparseTensor:
        """The sparse tensor of this value, in the same memory.

        Raises:
            Exception: the value is not a sparse tensor.
        """
        from ._sparse import SparseTensor

        return SparseTensor(self._ortvalue.as_sparse_tensor())

    def data_ptr(self) -> int:
        """The address of the first element, on the device where the tensor is."""
        return self._ortvalue.data_ptr()

    def device_name(self) -> str:
        """The name of the device where the value is, in small letters: "cpu", "cuda", "npu"..."""
        return self._ortvalue.device_name().lower()

    def shape(self) -> Sequence[int]:
        """The extents of a tensor, or the dense extents of a sparse tensor."""
        return self._ortvalue.shape()

    def data_type(self) -> str:
        """The type as text, for example "tensor(float)" or "seq(tensor(int64))"."""
        return self._ortvalue.data_type()

    def element_type(self) -> int:
        """The type of the elements of a tensor, as a number of onnx.TensorProto.DataType."""
        return self._ortvalue.element_type()

    def tensor_size_in_bytes(self) -> int:
        """How many bytes the elements of a tensor occupy."""
        return self._ortvalue.tensor_size_in_bytes()

    def has_value(self) -> bool:
        """False only for an optional that is empty."""
        return self._ortvalue.has_value()

    def is_tensor(self) -> bool:
        """Whether this is a (dense) tensor."""
        return self._ortvalue.is_tensor()

    def is_sparse_tensor(self) -> bool:
        """Whether this is a sparse tensor."""
        return self._ortvalue.is_sparse_tensor()

    def is_tensor_sequence(self) -> bool:
        """Whether this is a sequence of tensors."""
        return self._ortvalue.is_tensor_sequence()

    def numpy(self) -> np.ndarray:
        """The elements of a tensor as an array.

        The array shares the memory of the value and keeps it alive, except for strings and for elements that share
        bytes (int4, uint4 and smaller), which are copied. Sequences give a list, maps a dict. A tensor in memory of a
        CUDA device is copied, as programs for CUDA expect.

        Raises:
            Exception: the value is on another device whose memory the host cannot read, or it is a sparse tensor.
        """
        value = self._ortvalue
        if value.is_tensor() and value.device_name() == "Cuda" and value.__dlpack_device__()[0] == _CUDA:  # not pinned
            host = OrtDevice.make("cpu", 0)._get_c_device()
            copied = C.OrtValue.ortvalue_from_shape_and_onnx_type(value.shape(), value.element_type(), host)
            copied.update_inplace(value)
            return copied.numpy()
        return value.numpy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """For numpy.asarray(value): see `numpy`.

        Args:
            dtype: convert the elements to this dtype.
            copy: True: always copy; False: fail rather than copy; None: copy only if it must be.
        """
        array = self.numpy()
        if copy is None:
            return array if dtype is None else np.asarray(array, dtype=dtype)
        return np.array(array, dtype=dtype, copy=copy)

    def __dlpack__(self, *, stream: Any = None, **options: Any) -> Any:
        """For from_dlpack(value) of other libraries: a capsule over the memory of the tensor, which it keeps alive.

        Args:
            stream: a stream of the consumer for which the data must be ready.
            options: `max_version`, `dl_device` and `copy` of the newer protocol.
        """
        if not options:
            return self._ortvalue.__dlpack__(stream)
        return self._ortvalue.__dlpack__(stream=stream, **options)

    def __dlpack_device__(self) -> tuple[int, int]:
        """The device of the tensor as DLPack's numbers: its kind (1 is the CPU) and which one."""
        return self._ortvalue.__dlpack_device__()

    @classmethod
    def from_dlpack(cls, data: Any, /) -> OrtValue:
        """A tensor over the memory of another library's tensor, without a copy.

        Args:
            data: an object with `__dlpack__` (a tensor of torch, JAX, CuPy or NumPy), or a capsule. It is kept alive.

        Raises:
            TypeError: it is neither.
        """
        return cls(C.OrtValue.from_dlpack(data))

    def update_inplace(self, data: np.ndarray | OrtValue) -> None:
        """Copies elements into the memory of this tensor, which stays where it is.

        Args:
            data: an array or a tensor, on any device, of the same element type and number of elements.

        Raises:
            TypeError: it is neither an array nor an OrtValue.
        """
        if isinstance(data, OrtValue):
            self._ortvalue.update_inplace(data._ortvalue)
        elif isinstance(data, np.ndarray):
            self._ortvalue.update_inplace(data)
        else:
            raise TypeError(
                f"OrtValue.update_inplace: got {type(data).__name__}, expected numpy.ndarray or OrtValue"
            )

    def __repr__(self) -> str:
        kind = self.data_type()
        if not (self.is_tensor() or self.is_sparse_tensor()):
            return f"<OrtValue {kind}>"
        return f"<OrtValue {kind} {list(self.shape())} on {self.device_name()}>"

    def __reduce__(self) -> tuple[object, ...]:
        if not self.is_tensor() or self.device_name() != "cpu":
            raise TypeError(
                f"{self!r} cannot be pickled: only tensors on the CPU can; copy it with numpy() or copy_tensors() first"
            )
        return _value_of_array, (self.numpy(),)


def _value_of_array(array: np.ndarray) -> OrtValue:
    return OrtValue.ortvalue_from_numpy(array)


def copy_tensors(src: Sequence[OrtValue], dst: Sequence[OrtValue], stream: C.OrtSyncStream | None = None) -> None:
    """Copies tensors between devices, each into the tensor at the same place of the other sequence.

    Args:
        src: the tensors to read.
        dst: tensors of the same types and shapes to write.
        stream: a stream of a device (`OrtEpDevice.create_sync_stream`) on which the copies are queued; None: the call
            returns when the copies are done.

    Raises:
        Exception: the sequences differ in length, or no provider copies between two of the devices.
    """
    C.copy_tensors([value._get_c_value() for value in src], [value._get_c_value() for value in dst], stream)
