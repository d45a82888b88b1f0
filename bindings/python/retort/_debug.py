"""Information for reports of problems."""

from __future__ import annotations

import os

from . import _native as C


def print_debug_info() -> None:
    """Prints the versions of the package, the engine, the system and of installed packages of the same kind."""
    import platform
    from importlib.metadata import distributions

    from .capi.build_and_package_info import __version__, package_name

    print(f"{package_name} version: {__version__}")
    print(f"engine: {'Retort' if C.is_retort() else 'ONNX Runtime'} {C.get_version_string()} at {C.library_path()}")
    print(f"platform: {platform.platform()}, Python {platform.python_version()}")
    print(f"providers: {', '.join(C.get_available_providers())}")
    for variable in ("RETORT_LIBRARY", "LD_LIBRARY_PATH" if os.name != "nt" else "PATH"):
        print(f"{variable}: {os.environ.get(variable, 'not set')}")
    prefixes = ("retort", "onnxruntime", "ort-", "onnx", "numpy", "ml-dtypes", "ml_dtypes")
    found = {f"{each.metadata['Name']} {each.version}" for each in distributions()}
    print("packages:", ", ".join(sorted(name for name in found if name.lower().startswith(prefixes))))


def preload_dlls(
    cuda: bool = True, cudnn: bool = True, msvc: bool = True, directory: str | os.PathLike[str] | None = None
) -> None:
    """Does nothing: the engine needs no library of CUDA. A provider for GPUs is a plug-in, which loads its own.

    Args:
        cuda, cudnn, msvc, directory: accepted as the official package does.
    """
