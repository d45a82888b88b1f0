"""A program that makes a file of adapter weights from arrays in an .npz file."""

from __future__ import annotations

import argparse
import os
import sys

import numpy as np

from .._adapter import AdapterFormat
from .._values import OrtValue


def get_args() -> argparse.Namespace:
    """The arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--npz_file_path", required=True, help="arrays by name")
    parser.add_argument("--output_file_path", required=True, help="the file to write, for example my.onnx_adapter")
    parser.add_argument("--adapter_version", type=int, required=True, help="a number of the author")
    parser.add_argument("--model_version", type=int, required=True, help="the version of the model")
    return parser.parse_args()


def export_lora_parameters(
    npz_file_path: str | os.PathLike[str],
    adapter_version: int,
    model_version: int,
    output_file_path: str | os.PathLike[str],
) -> None:
    """Writes the arrays of a file as adapter weights.

    Args:
        npz_file_path: the file with arrays, as numpy.savez writes it.
        adapter_version: the version of the adapter.
        model_version: the version of the model.
        output_file_path: the file to write.
    """
    adapter = AdapterFormat()
    adapter.set_adapter_version(adapter_version)
    adapter.set_model_version(model_version)
    with np.load(npz_file_path) as arrays:
        adapter.set_parameters({name: OrtValue.ortvalue_from_numpy(array) for name, array in arrays.items()})
        adapter.export_adapter(output_file_path)


def main() -> int:
    """Runs the program."""
    args = get_args()
    export_lora_parameters(args.npz_file_path, args.adapter_version, args.model_version, args.output_file_path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
