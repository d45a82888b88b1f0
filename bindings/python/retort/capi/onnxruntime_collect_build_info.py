"""Versions of CUDA on this machine."""

from __future__ import annotations

import ctypes
import sys
import warnings


def find_cudart_versions(build_env: bool = False, build_cuda_version: str | None = None) -> list[int] | None:
    """The versions of the CUDA run-time libraries that the system's loader finds; None on other systems than Linux.

    Args:
        build_env: accepted as the official package does.
        build_cuda_version: a version whose library is searched for as well, for example "12".
    """
    if not sys.platform.startswith("linux"):
        warnings.warn("find_cudart_versions only works on Linux", stacklevel=2)
        return None
    names = ["libcudart.so"] + ([f"libcudart.so.{build_cuda_version}"] if build_cuda_version else [])
    versions = {version for version in map(_version_of, names) if version}
    return sorted(versions)


def _version_of(library: str) -> int:
    """The version that a CUDA run-time library states, 0 if there is no such library."""
    version = ctypes.c_int()
    try:
        failed = ctypes.CDLL(library).cudaRuntimeGetVersion(ctypes.byref(version))
    except (OSError, AttributeError):
        return 0
    return 0 if failed else version.value
