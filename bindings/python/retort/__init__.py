"""ONNX models in Python, on the engine Retort.

    import retort

    session = retort.InferenceSession("model.onnx")
    probabilities, = session.run(None, {"image": image})

The names are those of the package onnxruntime, version 1.32, so that a program runs with `import retort as onnxruntime`;
`install_as_onnxruntime()` does this for programs that import it themselves. Beside them, there are

    session.bind(x=a, y=out)          inputs and outputs that stay bound from run to run
    await session.run_async(...)      runs that an event loop waits for, and that end when they are cancelled
    session.copies()                  what the engine had to copy by itself
    inspect, profile, diff, convert, bench    facts about a model; notebooks show pages
    retort.errors                     the classes of exceptions

The engine library is the file that the environment variable RETORT_LIBRARY names, otherwise the one of this package.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

from . import _native

_native.set_package_folder(os.path.dirname(os.path.abspath(__file__)))

from ._copies import disallow_implicit_copies as _disallow_implicit_copies
from ._devices import OrtDevice, OrtDeviceVendorId
from ._iobinding import IOBinding
from ._native import (
    ExecutionMode,
    ExecutionOrder,
    GraphOptimizationLevel,
    LoraAdapter,
    ModelMetadata,
    NodeArg,
    OrtAllocatorType,
    OrtArenaCfg,
    OrtCompileApiFlags,
    OrtDeviceMemoryType,
    OrtEpAssignedNode,
    OrtEpAssignedSubgraph,
    OrtEpContextData,
    OrtEpContextDataBuffer,
    OrtEpDevice,
    OrtExecutionProviderDevicePolicy,
    OrtExternalInitializerInfo,
    OrtHardwareDevice,
    OrtHardwareDeviceType,
    OrtMemoryInfo,
    OrtMemoryInfoDeviceType,
    OrtMemType,
    OrtSparseFormat,
    OrtSyncStream,
    RunOptions,
    SessionIOBinding,
    SessionOptions,
    create_and_register_allocator,
    create_and_register_allocator_v2,
    disable_telemetry_events,
    enable_telemetry_events,
    get_all_providers,
    get_available_providers,
    get_build_info,
    get_device,
    get_ep_devices,
    get_version_string,
    has_collective_ops,
    register_execution_provider_library,
    set_default_logger_callback,
    set_default_logger_severity,
    set_default_logger_verbosity,
    set_global_thread_pool_sizes,
    set_seed,
    unregister_execution_provider_library,
)
from ._session import InferenceSession
from ._texts import add_texts as _add_texts
from ._values import OrtValue, copy_tensors
from .capi.build_and_package_info import __version__, package_name

if TYPE_CHECKING:
    from . import capi, errors
    from ._adapter import AdapterFormat
    from ._bound import Binding, Results
    from ._compiler import ModelCompiler
    from ._copies import Copy, CopyLedger
    from ._debug import preload_dlls, print_debug_info
    from ._install import install_as_onnxruntime
    from ._package import ModelPackage
    from ._package_open import (
        ModelPackageComponentContext,
        ModelPackageContext,
        ModelPackageOptions,
        ModelPackageWriteMode,
    )
    from ._reports import Benchmark, Conversion, Difference, Inspection, Profile, bench, convert, diff, inspect, profile
    from ._sparse import SparseTensor
    from .capi import onnxruntime_validation

__author__ = "The Retort authors"
version = __version__
cuda_version = ""
import_capi_exception = None

_add_texts()
setattr(SessionOptions, "disallow_implicit_copies", _disallow_implicit_copies)

# Names that few programs use are imported at their first use: importing the package is part of each start.
_LATER = {
    "AdapterFormat": "_adapter",
    "Benchmark": "_reports",
    "Binding": "_bound",
    "Conversion": "_reports",
    "Copy": "_copies",
    "CopyLedger": "_copies",
    "Difference": "_reports",
    "Inspection": "_reports",
    "ModelCompiler": "_compiler",
    "ModelPackage": "_package",
    "ModelPackageComponentContext": "_package_open",
    "ModelPackageContext": "_package_open",
    "ModelPackageOptions": "_package_open",
    "ModelPackageWriteMode": "_package_open",
    "Profile": "_reports",
    "Results": "_bound",
    "SparseTensor": "_sparse",
    "bench": "_reports",
    "convert": "_reports",
    "diff": "_reports",
    "inspect": "_reports",
    "install_as_onnxruntime": "_install",
    "preload_dlls": "_debug",
    "print_debug_info": "_debug",
    "profile": "_reports",
}
_LATER_MODULES = {"errors": "errors", "onnxruntime_validation": "capi.onnxruntime_validation"}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name in _LATER:
            value = getattr(importlib.import_module(f"{__name__}.{_LATER[name]}"), name)
        elif name in _LATER_MODULES:
            value = importlib.import_module(f"{__name__}.{_LATER_MODULES[name]}")
        else:
            raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *_LATER, *_LATER_MODULES})


__all__ = [
    "AdapterFormat",
    "Benchmark",
    "Binding",
    "Conversion",
    "Copy",
    "CopyLedger",
    "Difference",
    "ExecutionMode",
    "ExecutionOrder",
    "GraphOptimizationLevel",
    "IOBinding",
    "InferenceSession",
    "Inspection",
    "LoraAdapter",
    "ModelCompiler",
    "ModelMetadata",
    "ModelPackage",
    "ModelPackageComponentContext",
    "ModelPackageContext",
    "ModelPackageOptions",
    "ModelPackageWriteMode",
    "NodeArg",
    "OrtAllocatorType",
    "OrtArenaCfg",
    "OrtCompileApiFlags",
    "OrtDevice",
    "OrtDeviceMemoryType",
    "OrtDeviceVendorId",
    "OrtEpAssignedNode",
    "OrtEpAssignedSubgraph",
    "OrtEpContextData",
    "OrtEpContextDataBuffer",
    "OrtEpDevice",
    "OrtExecutionProviderDevicePolicy",
    "OrtExternalInitializerInfo",
    "OrtHardwareDevice",
    "OrtHardwareDeviceType",
    "OrtMemType",
    "OrtMemoryInfo",
    "OrtMemoryInfoDeviceType",
    "OrtSparseFormat",
    "OrtSyncStream",
    "OrtValue",
    "Profile",
    "Results",
    "RunOptions",
    "SessionIOBinding",
    "SessionOptions",
    "SparseTensor",
    "__version__",
    "bench",
    "capi",
    "convert",
    "copy_tensors",
    "create_and_register_allocator",
    "create_and_register_allocator_v2",
    "cuda_version",
    "diff",
    "disable_telemetry_events",
    "enable_telemetry_events",
    "errors",
    "get_all_providers",
    "get_available_providers",
    "get_build_info",
    "get_device",
    "get_ep_devices",
    "get_version_string",
    "has_collective_ops",
    "import_capi_exception",
    "inspect",
    "install_as_onnxruntime",
    "onnxruntime_validation",
    "package_name",
    "preload_dlls",
    "print_debug_info",
    "profile",
    "register_execution_provider_library",
    "set_default_logger_callback",
    "set_default_logger_severity",
    "set_default_logger_verbosity",
    "set_global_thread_pool_sizes",
    "set_seed",
    "unregister_execution_provider_library",
    "version",
]
