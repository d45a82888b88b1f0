"""Quantization of weights: the codes and scales of the official extension."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import retort
from common import official_folder
from retort.capi import _pybind_state as state

MATMUL = [("quantize_matmul_2bits", 2), ("quantize_matmul_4bits", 4), ("quantize_matmul_8bits", 8)]
SHAPES = [(64, 8, 32), (128, 3, 64), (96, 4, 16)]


def unpacked(data: np.ndarray, bits: int) -> np.ndarray:
    codes = [(data >> shift) & ((1 << bits) - 1) for shift in range(0, 8, bits)]
    return np.stack(codes, axis=-1).reshape(*data.shape[:-1], -1)


@pytest.mark.parametrize("is_symmetric", [True, False])
@pytest.mark.parametrize(("name", "bits"), MATMUL)
def test_quantized_weights_are_near_the_given_ones(name: str, bits: int, is_symmetric: bool) -> None:
    rows, columns, block = 70, 5, 16
    src = np.random.default_rng(bits).normal(size=(rows, columns)).astype(np.float32)
    blocks, per_byte = -(-rows // block), 8 // bits
    dst = np.zeros((columns, blocks, block // per_byte), np.uint8)
    scale = np.zeros(columns * blocks, np.float32)
    zeros = np.zeros(columns * -(-blocks // per_byte), np.uint8)
    getattr(state, name)(dst, src, scale, zeros, block, columns, rows, is_symmetric)
    codes = unpacked(dst, bits).astype(np.float32)
    if is_symmetric:
        middle: Any = float(1 << (bits - 1))
    else:
        middle = unpacked(zeros.reshape(columns, -1), bits)[:, :blocks, None].astype(np.float32)
    restored = ((codes - middle) * scale.reshape(columns, blocks, 1)).reshape(columns, -1)[:, :rows].T
    step = np.abs(scale).reshape(columns, blocks).max()
    assert np.abs(restored - src).max() <= (1.01 if is_symmetric else 0.51) * step


def test_weights_of_dequantize_linear() -> None:
    rows, columns, block = 32, 4, 16
    src = np.random.default_rng(0).normal(size=(rows, columns)).astype(np.float32)
    dst = np.zeros(rows * columns // 2, np.uint8)
    scale = np.zeros((rows // block, columns), np.float32)
    zeros = np.zeros(scale.size // 2, np.uint8)
    assert state.quantize_qdq_matmul_4bits(dst, src, scale, zeros, block, columns, rows, True) is True
    codes = unpacked(dst, 4).astype(np.int8).reshape(rows // block, block, columns)
    codes = np.where(codes > 7, codes - 16, codes)
    assert np.abs(codes * scale[:, None] - src.reshape(codes.shape)).max() <= np.abs(scale).max()
    assert state.quantize_qdq_matmul_4bits(dst, src, scale, zeros, block, columns, rows, False) is False


def test_mistakes_are_named() -> None:
    dst, src = np.zeros(3, np.uint8), np.zeros((16, 1), np.float32)
    with pytest.raises(ValueError, match="dst: the array has 3 elements, expected 8"):
        state.quantize_matmul_4bits(dst, src, np.zeros(1, np.float32), dst, 16, 1, 16, True)
    with pytest.raises(ValueError, match="src: 16 elements, expected K x N = 16 x 2"):
        state.quantize_matmul_4bits(dst, src, dst, dst, 16, 2, 16, True)
    with pytest.raises(ValueError, match="block_size: 17"):
        state.quantize_matmul_bnb4(dst, src, dst, 17, 0, 1, 16)
    with pytest.raises(retort.errors.NotImplemented, match="CUDA"):
        state.pack_fp4_weights_for_cuda_moe_gemm(dst, 1, 1)


OFFICIAL = """
import sys
import numpy as np
import onnxruntime.capi._pybind_state as state

given = np.load(sys.argv[1])
found = {}
for key in given:
    name, rows, columns, block, symmetric, kind = key.split(",")
    src, rows, columns, block = given[key], int(rows), int(columns), int(block)
    if "bnb4" in name:
        results = [np.zeros(rows * columns // 2, np.uint8), np.zeros(rows * columns // block, src.dtype)]
        getattr(state, name)(*results[:1], src, results[1], block, int(symmetric), columns, rows)
    else:
        bits = int(name.split("_")[-1][0])
        blocks = rows // block
        count = rows * columns * bits // 8
        dst = np.zeros(count, np.uint8).reshape((columns, blocks, -1) if "qdq" not in name else (-1,))
        zeros = np.zeros(columns * -(-blocks * bits // 8) if "qdq" not in name else columns * blocks * bits // 8, np.uint8)
        results = [dst, np.zeros(columns * blocks, src.dtype).reshape((-1,) if "qdq" not in name else (blocks, columns)), zeros]
        getattr(state, name)(dst, src, *results[1:], block, columns, rows, symmetric == "1")
    for place, result in enumerate(results):
        found[f"{key},{place}"] = result
np.savez(sys.argv[2], **found)
"""


def test_codes_are_those_of_the_official_package(tmp_path: pathlib.Path) -> None:
    folder = official_folder()
    if folder is None:
        pytest.skip("the official package is not installed")
    rng = np.random.default_rng(3)
    given = {}
    for rows, columns, block in SHAPES:
        for name in ("quantize_matmul_2bits", "quantize_matmul_4bits", "quantize_matmul_8bits", "quantize_qdq_matmul_4bits"):
            for symmetric in (0, 1):
                given[f"{name},{rows},{columns},{block},{symmetric},f"] = rng.normal(size=(rows, columns)).astype(np.float32)
        for kind in (0, 1):
            given[f"quantize_matmul_bnb4,{rows},{columns},{block},{kind},f"] = (
                rng.normal(size=(columns, rows)).astype(np.float32)
            )
    np.savez(tmp_path / "given.npz", **given)  # type: ignore[arg-type]
    results = {}
    for name, package, paths in (("ours", "retort", sys.path), ("theirs", "onnxruntime", [folder])):
        program = OFFICIAL.replace("import onnxruntime.capi", f"import {package}.capi")
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        arguments = [str(tmp_path / "given.npz"), str(tmp_path / f"{name}.npz")]
        subprocess.run([sys.executable, "-c", program, *arguments], check=True, env=environment)
        results[name] = np.load(tmp_path / f"{name}.npz")
    assert sorted(results["ours"]) == sorted(results["theirs"])
    for key in results["ours"]:
        assert np.array_equal(results["ours"][key], results["theirs"][key]), key
