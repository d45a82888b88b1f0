"""The Python classes, under the name that programs import."""

from __future__ import annotations

from .._adapter import AdapterFormat
from .._compiler import ModelCompiler, make_get_initializer_location_func_wrapper
from .._devices import OrtDevice, OrtDeviceVendorId, get_ort_device_type, get_vendor_id_for_device_type
from .._iobinding import IOBinding
from .._providers import check_and_normalize_provider_args
from .._runs import Session
from .._session import InferenceSession
from .._sparse import SparseTensor
from .._values import OrtValue, copy_tensors

__all__ = [
    "AdapterFormat",
    "IOBinding",
    "InferenceSession",
    "ModelCompiler",
    "OrtDevice",
    "OrtDeviceVendorId",
    "OrtValue",
    "Session",
    "SparseTensor",
    "check_and_normalize_provider_args",
    "copy_tensors",
    "get_ort_device_type",
    "get_vendor_id_for_device_type",
    "make_get_initializer_location_func_wrapper",
]
