"""AdapterFormat: files with the weights of LoRA adapters."""

from __future__ import annotations

import os

from . import _native as C
from ._values import OrtValue


class AdapterFormat:
    """A file of adapter weights (`.onnx_adapter`), to read or to write.

        adapter = AdapterFormat()
        adapter.set_parameters({"layer0.lora_A": OrtValue.ortvalue_from_numpy(a)})
        adapter.export_adapter("my.onnx_adapter")

    `LoraAdapter` loads such a file for runs.
    """

    def __init__(self, adapter: C.AdapterFormat | None = None) -> None:
        """An empty adapter, or one around a native adapter."""
        self._adapter = C.AdapterFormat() if adapter is None else adapter

    @staticmethod
    def read_adapter(file_path: str | os.PathLike[str]) -> AdapterFormat:
        """Reads a file.

        Raises:
            Exception: there is no such file, or it is no adapter.
        """
        return AdapterFormat(C.AdapterFormat.read_adapter(os.fspath(file_path)))

    def export_adapter(self, file_path: str | os.PathLike[str]) -> None:
        """Writes a file."""
        self._adapter.export_adapter(os.fspath(file_path))

    def get_format_version(self) -> int:
        """The version of the format of the file."""
        return self._adapter.format_version

    def set_adapter_version(self, adapter_version: int) -> None:
        """Sets the version of the adapter, a number of its author."""
        self._adapter.adapter_version = adapter_version

    def get_adapter_version(self) -> int:
        """The version of the adapter."""
        return self._adapter.adapter_version

    def set_model_version(self, model_version: int) -> None:
        """Sets the version of the model that the adapter is for."""
        self._adapter.model_version = model_version

    def get_model_version(self) -> int:
        """The version of the model that the adapter is for."""
        return self._adapter.model_version

    def set_parameters(self, params: dict[str, OrtValue]) -> None:
        """Sets the weights by name: tensors on the CPU."""
        self._adapter.parameters = {name: value._ortvalue for name, value in params.items()}

    def get_parameters(self) -> dict[str, OrtValue]:
        """The weights by name. They share the memory of the adapter and keep it alive."""
        return {name: OrtValue(value) for name, value in self._adapter.parameters.items()}
