"""install_as_onnxruntime: programs that import onnxruntime get this package."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import sys
from collections.abc import Iterable, Iterator, Sequence
from types import ModuleType
from typing import Any

_NAME = "onnxruntime"
_PACKAGE = __name__.partition(".")[0]
# The version of the interface, as programs compare it.
_VERSION = "1.32.0"


class _Alias(ModuleType):
    """The module onnxruntime: the names of this package, and the version of the interface."""

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.modules[_PACKAGE], name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(sys.modules[_PACKAGE])})


class _AliasLoader(importlib.abc.Loader):
    """Puts a module of this package under the name of the official one."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        if spec.name != _NAME:
            return None
        real = sys.modules[_PACKAGE]
        alias = _Alias(_NAME, real.__doc__)
        alias.__file__ = real.__file__
        vars(alias).update(__version__=_VERSION, version=_VERSION, package_name=_NAME)
        return alias

    def exec_module(self, module: ModuleType) -> None:
        if module.__name__ != _NAME:
            sys.modules[module.__name__] = importlib.import_module(_PACKAGE + module.__name__[len(_NAME) :])


class _Distribution(importlib.metadata.Distribution):
    """What programs find that ask for the version of the installed onnxruntime."""

    def read_text(self, filename: str) -> str | None:
        if filename == "METADATA":
            return f"Metadata-Version: 2.1\nName: {_NAME}\nVersion: {_VERSION}+retort\nSummary: {_PACKAGE}\n"
        return None

    def locate_file(self, path: Any) -> Any:
        import pathlib

        return pathlib.Path(sys.modules[_PACKAGE].__path__[0]).parent / path


class _Finder(importlib.metadata.DistributionFinder):
    """Finds onnxruntime and its modules before any that is installed."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != _NAME and not fullname.startswith(f"{_NAME}."):
            return None
        if fullname == _NAME:
            spec = importlib.machinery.ModuleSpec(fullname, _AliasLoader(), is_package=True)
            spec.submodule_search_locations = list(sys.modules[_PACKAGE].__path__)
            return spec
        real = importlib.util.find_spec(_PACKAGE + fullname[len(_NAME) :])
        return None if real is None else importlib.machinery.ModuleSpec(fullname, _AliasLoader())

    def find_distributions(
        self, context: importlib.metadata.DistributionFinder.Context = importlib.metadata.DistributionFinder.Context()
    ) -> Iterator[importlib.metadata.Distribution]:
        if context.name is None or context.name.lower() == _NAME:
            yield _Distribution()


def install_as_onnxruntime() -> None:
    """From now on, `import onnxruntime` in this process gives this package, in every module.

    Call it before the first import of onnxruntime. It also answers importlib.metadata.version("onnxruntime"). Other
    processes, such as those that multiprocessing spawns, call it themselves. Calling it again does nothing.

    Raises:
        RuntimeError: another onnxruntime has been imported already.
    """
    if any(isinstance(finder, _Finder) for finder in sys.meta_path) or _PACKAGE == _NAME:
        return
    if _NAME in sys.modules:
        other = getattr(sys.modules[_NAME], "__file__", "elsewhere")
        raise RuntimeError(
            f"install_as_onnxruntime: onnxruntime has been imported from {other} already; call this function before "
            "the first import of it"
        )
    finders: Iterable[Any] = sys.meta_path
    sys.meta_path[:] = [_Finder(), *finders]
