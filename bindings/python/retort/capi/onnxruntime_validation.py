"""What the package is, and whether the system is one that it runs on."""

from __future__ import annotations

import platform
import warnings

from .build_and_package_info import __version__, package_name


def check_distro_info() -> None:
    """Warns on systems that the package is not made for."""
    system = platform.system()
    if system not in ("Linux", "Darwin", "Windows"):
        warnings.warn(f"the package is made for Linux, macOS and Windows, not for {system}", stacklevel=2)


def get_package_name_and_version_info() -> tuple[str, str, str]:
    """Name and version of the package, and the version of CUDA that it was built with: none, an empty text."""
    return package_name, __version__, ""


def check_training_module() -> tuple[bool, str, str, str]:
    """Whether there is a training module (there is none), and what `get_package_name_and_version_info` gives."""
    return False, *get_package_name_and_version_info()
