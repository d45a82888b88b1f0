"""ModelCompiler: models whose subgraphs are compiled for a provider ahead of time."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import _native as C
from ._values import OrtValue

if TYPE_CHECKING:
    from typing import Optional

    GetInitializerLocationFunc = Callable[
        [str, OrtValue, Optional[C.OrtExternalInitializerInfo]], Optional[C.OrtExternalInitializerInfo]
    ]
    GetInitializerLocationWrapperFunc = Callable[
        [str, C.OrtValue, Optional[C.OrtExternalInitializerInfo]], Optional[C.OrtExternalInitializerInfo]
    ]


def make_get_initializer_location_func_wrapper(
    get_initializer_location_func: GetInitializerLocationFunc,
) -> GetInitializerLocationWrapperFunc:
    """The function that the compiler calls, from one that gets values as OrtValue.

    A returned `external_info` that is the argument itself, which the engine owns, is copied.

    Args:
        get_initializer_location_func: see `ModelCompiler`.
    """

    def wrapper(
        initializer_name: str, initializer_value: C.OrtValue, external_info: C.OrtExternalInitializerInfo | None
    ) -> C.OrtExternalInitializerInfo | None:
        info = get_initializer_location_func(initializer_name, OrtValue(initializer_value), external_info)
        if info is not None and info is external_info:
            return C.OrtExternalInitializerInfo(info.filepath, info.file_offset, info.byte_size)
        return info

    return wrapper


class ModelCompiler:
    """Compiles a model for the providers of session options.

    In a compiled model, nodes of the operator EPContext hold subgraphs in the form that a provider loads quickly.

        options = SessionOptions()
        options.add_provider_for_devices(devices, {})
        ModelCompiler(options, "model.onnx").compile_to_file("model_ctx.onnx")
    """

    def __init__(
        self,
        sess_options: C.SessionOptions,
        input_model_path_or_bytes: str | os.PathLike[str] | bytes,
        embed_compiled_data_into_model: bool = False,
        external_initializers_file_path: str | os.PathLike[str] | None = None,
        external_initializers_size_threshold: int = 1024,
        flags: int = C.OrtCompileApiFlags.NONE,
        graph_optimization_level: C.GraphOptimizationLevel = C.GraphOptimizationLevel.ORT_DISABLE_ALL,
        get_initializer_location_func: GetInitializerLocationFunc | None = None,
    ) -> None:
        """Prepares the compilation of a model.

        Args:
            sess_options: the providers and their options.
            input_model_path_or_bytes: a file, or the bytes of one.
            embed_compiled_data_into_model: put compiled data into the model, not into files beside it.
            external_initializers_file_path: a file for weights of nodes that are not compiled; None: they stay in the
                model.
            external_initializers_size_threshold: weights of fewer bytes stay in the model.
            flags: a sum of `OrtCompileApiFlags`.
            graph_optimization_level: how the model is optimised before it is compiled.
            get_initializer_location_func: called with the name, the value and the present place of each weight. It
                returns None to keep the weight in the model, or an `OrtExternalInitializerInfo` that says in which
                file it has stored the weight. Not together with `external_initializers_file_path`.

        Raises:
            TypeError, ValueError: an argument has the wrong type, is empty, or contradicts another one.
        """
        source, is_path = _model_source(input_model_path_or_bytes)
        weights = _weights_file(external_initializers_file_path)
        if weights and get_initializer_location_func is not None:
            raise ValueError(
                "ModelCompiler: external_initializers_file_path and get_initializer_location_func both say where "
                "weights go; give one of them"
            )
        self.get_initializer_location_func_wrapper: Callable[..., Any] | None = (
            None
            if get_initializer_location_func is None
            else make_get_initializer_location_func_wrapper(get_initializer_location_func)
        )
        self._model_compiler = C.ModelCompiler(
            sess_options,
            source,
            is_path,
            embed_compiled_data_into_model,
            weights,
            external_initializers_size_threshold,
            flags,
            graph_optimization_level,
            self.get_initializer_location_func_wrapper,
        )

    def compile_to_file(self, output_model_path: str | os.PathLike[str] | None = None) -> None:
        """Compiles into a file.

        Args:
            output_model_path: the file; None: beside the input, with "_ctx" before ".onnx".
        """
        if output_model_path and not isinstance(output_model_path, (str, os.PathLike)):
            raise TypeError(f"compile_to_file: got {type(output_model_path).__name__}, expected a path")
        self._model_compiler.compile_to_file(os.fspath(output_model_path) if output_model_path else None)

    def compile_to_bytes(self) -> bytes:
        """Compiles into memory and gives the bytes of the compiled model."""
        return self._model_compiler.compile_to_bytes()

    def compile_to_stream(self, write_function: Callable[[bytes], Any]) -> None:
        """Compiles, and hands the bytes of the compiled model to a function.

        Args:
            write_function: called with parts of the model, in order.
        """
        self._model_compiler.compile_to_stream(write_function)

    def set_ep_context_data_write_func(self, write_func: Callable[[str, C.OrtEpContextData], None]) -> None:
        """A function that gets the providers' data in place of files beside the model.

        Args:
            write_func: called with a name and the data, which are valid during the call only; perhaps by several
                threads at once.
        """
        self._model_compiler.set_ep_context_data_write_func(write_func)

    def clear_ep_context_data_write_func(self) -> None:
        """Takes `set_ep_context_data_write_func` back."""
        self._model_compiler.clear_ep_context_data_write_func()

    def set_ep_context_binary_information(self, output_directory: str | os.PathLike[str], model_name: str) -> None:
        """Where providers put files of their own, and the name of the model from which they name them.

        Args:
            output_directory: a folder; its name ends with a separator.
            model_name: not empty.
        """
        self._model_compiler.set_ep_context_binary_information(os.fspath(output_directory), model_name)


def _model_source(model: Any) -> tuple[str | bytes, bool]:
    """The model, and whether it is a path."""
    if isinstance(model, (str, os.PathLike)):
        path = os.fspath(model)
        if not path:
            raise ValueError("Input model path is empty; give the path of a model, or its bytes")
        return path, True
    if isinstance(model, bytes):
        if not model:
            raise ValueError("Input model bytes array is empty; give the bytes of a model, or its path")
        return model, False
    raise TypeError(f"Unable to load from type '{type(model)}'; expected a path, or the bytes of a model")


def _weights_file(path: Any) -> str:
    if not path:
        return ""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"external_initializers_file_path: got {type(path).__name__}, expected a path")
    return os.fspath(path)
