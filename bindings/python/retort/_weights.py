"""Quantization of weights in blocks, as the official extension has it. Arrays for results are arguments.

`dst` gets the quantized elements, several to a byte, the first one in the lowest bits; `scale` and `zero_points` get
one number for each block. `src` has the shape [K, N]; blocks are runs of `block_size` elements along K.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native as C

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]
    Floats = NDArray[Any]

# What a code of four bits stands for: NF4, whose numbers lie as the quantiles of a normal distribution, and FP4, with a
# sign, two bits of exponent and one of fraction.
_NF4 = (
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
    -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
    0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0,
)  # fmt: skip
_FP4 = (0.0, 0.005208333333, 0.66666667, 1.0, 0.33333333, 0.5, 0.16666667, 0.25)


def _blocks_of(src: Floats, block_size: int) -> NDArray[np.float32]:
    """The elements as [blocks, block_size, N], with zeros after the last one."""
    rows, columns = src.shape
    count = -(-rows // block_size)
    padded = np.zeros((count * block_size, columns), np.float32)
    padded[:rows] = src
    return padded.reshape(count, block_size, columns)


def _scales_and_zeros(
    blocks: NDArray[np.float32], bits: int, is_symmetric: bool, dtype: Any
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """For each block of each column the scale, rounded to the dtype of the results, and the code of zero."""
    low, high = np.minimum(blocks.min(axis=1), 0), np.maximum(blocks.max(axis=1), 0)
    middle, top = np.float32(1 << (bits - 1)), np.float32((1 << bits) - 1)
    if is_symmetric:
        largest = np.where(np.abs(high) > np.abs(low), high, low)
        scales = (largest / -middle).astype(dtype).astype(np.float32)
        return scales, np.full_like(scales, middle)
    scales = (high - low) / top
    zeros = np.divide(-low, scales, out=np.zeros_like(low), where=scales != 0)
    return scales.astype(dtype).astype(np.float32), np.clip(np.rint(zeros), 0, top)


def _quantize(
    blocks: NDArray[np.float32], scales: NDArray[np.float32], zeros: NDArray[np.float32], bits: int
) -> Bytes:
    inverse = np.divide(np.float32(1), scales, out=np.zeros_like(scales), where=scales != 0)
    codes = np.rint(blocks * inverse[:, None] + zeros[:, None])
    bytes_of_codes: Bytes = np.clip(codes, 0, (1 << bits) - 1).astype(np.uint8)
    return bytes_of_codes


def _pack(codes: Bytes, bits: int, fill: int = 0) -> Bytes:
    """Codes along the last axis, several to a byte; `fill` is the code of missing ones in the last byte."""
    per_byte = 8 // bits
    missing = -codes.shape[-1] % per_byte
    if missing:
        codes = np.concatenate([codes, np.full((*codes.shape[:-1], missing), fill, np.uint8)], axis=-1)
    packed: Bytes = codes[..., ::per_byte].copy()
    for place in range(1, per_byte):
        packed |= codes[..., place::per_byte] << (bits * place)
    return packed


def _store(target: Any, values: Any, what: str) -> None:
    if target.size != values.size:
        raise ValueError(f"{what}: the array has {target.size} elements, expected {values.size}")
    target[...] = values.reshape(target.shape)


def _check(src: Floats, columns: int, rows: int) -> Floats:
    src = np.asarray(src)
    if src.size != rows * columns:
        raise ValueError(f"src: {src.size} elements, expected K x N = {rows} x {columns}")
    return src.reshape(rows, columns)


def _quantized(
    bits: int, src: Floats, dtype: Any, sizes: tuple[int, int, int], is_symmetric: bool
) -> tuple[Bytes, NDArray[np.float32], NDArray[np.float32]]:
    """The codes, [blocks, block_size, N], and the scale and the code of zero of each block of each column."""
    block_size, columns, rows = sizes
    blocks = _blocks_of(_check(src, columns, rows), block_size)
    scales, zeros = _scales_and_zeros(blocks, bits, is_symmetric, dtype)
    return _quantize(blocks, scales, zeros, bits), scales, zeros


def _matmul(
    bits: int,
    dst: Bytes,
    src: Floats,
    results: tuple[Floats, Bytes],
    sizes: tuple[int, int, int],
    is_symmetric: bool,
) -> None:
    """The form of MatMulNBits: the blocks of each column follow each other, [N, blocks, bytes of a block]."""
    _, columns, rows = sizes
    codes, scales, zeros = _quantized(bits, src, np.asarray(results[0]).dtype, sizes, is_symmetric)
    codes.reshape(-1, columns)[rows:] = 0
    _store(dst, _pack(codes.transpose(2, 0, 1), bits), "dst")
    _store(results[0], scales.T, "scale")
    if not is_symmetric:
        _store(results[1], _pack(zeros.T.astype(np.uint8), bits, 1 << (bits - 1)), "zero_points")


def quantize_matmul_2bits(
    dst: Bytes,
    src: Floats,
    scale: Floats,
    zero_points: Bytes,
    block_size: int,
    N: int,
    K: int,
    is_symmetric: bool,
) -> None:
    """Quantizes weights of MatMulNBits to two bits. Symmetric: zero has the code 2, and `zero_points` stays as it is."""
    _matmul(2, dst, src, (scale, zero_points), (block_size, N, K), is_symmetric)


def quantize_matmul_4bits(
    dst: Bytes,
    src: Floats,
    scale: Floats,
    zero_points: Bytes,
    block_size: int,
    N: int,
    K: int,
    is_symmetric: bool,
) -> None:
    """Quantizes weights of MatMulNBits to four bits. Symmetric: zero has the code 8, and `zero_points` stays as it is."""
    _matmul(4, dst, src, (scale, zero_points), (block_size, N, K), is_symmetric)


def quantize_matmul_8bits(
    dst: Bytes,
    src: Floats,
    scale: Floats,
    zero_points: Bytes,
    block_size: int,
    N: int,
    K: int,
    is_symmetric: bool,
) -> None:
    """Quantizes weights of MatMulNBits to eight bits. Symmetric: zero has the code 128, `zero_points` stays as it is."""
    _matmul(8, dst, src, (scale, zero_points), (block_size, N, K), is_symmetric)


def _qdq(
    bits: int,
    dst: Bytes,
    src: Floats,
    results: tuple[Floats, Bytes],
    sizes: tuple[int, int, int],
    is_symmetric: bool,
) -> bool:
    """The form of DequantizeLinear: elements, scales and zero points in the order of `src`."""
    _, columns, rows = sizes
    blocks, scales, zeros = _quantized(bits, src, np.asarray(results[0]).dtype, sizes, is_symmetric)
    codes = blocks.reshape(-1, columns)[:rows]
    zero_codes = zeros.astype(np.uint8)
    if is_symmetric:  # signed codes, around 0
        middle = np.uint8(1 << (bits - 1))
        codes, zero_codes = codes ^ middle, zero_codes ^ middle
    _store(dst, _pack(codes.reshape(-1), bits), "dst")
    _store(results[0], scales, "scale")
    if not is_symmetric:
        _store(results[1], _pack(zero_codes.reshape(-1), bits), "zero_points")
    return is_symmetric


def quantize_qdq_matmul_2bits(
    dst: Bytes,
    src: Floats,
    scale: Floats,
    zero_points: Bytes,
    block_size: int,
    N: int,
    K: int,
    is_symmetric: bool,
) -> bool:
    """Quantizes weights for DequantizeLinear to two bits. Gives True if the codes are signed (symmetric)."""
    return _qdq(2, dst, src, (scale, zero_points), (block_size, N, K), is_symmetric)


def quantize_qdq_matmul_4bits(
    dst: Bytes,
    src: Floats,
    scale: Floats,
    zero_points: Bytes,
    block_size: int,
    N: int,
    K: int,
    is_symmetric: bool,
) -> bool:
    """Quantizes weights for DequantizeLinear to four bits. Gives True if the codes are signed (symmetric)."""
    return _qdq(4, dst, src, (scale, zero_points), (block_size, N, K), is_symmetric)


def quantize_matmul_bnb4(
    dst: Bytes, src: Floats, absmax: Floats, block_size: int, quant_type: int, N: int, K: int
) -> None:
    """Quantizes weights of MatMulBnb4: blocks of the flattened `src`, the first element of two in the higher bits.

    Args:
        dst: gets the codes.
        src: the weights, transposed: [N, K].
        absmax: gets the largest absolute value of each block.
        block_size: 16, 32, 64, 128 or 256.
        quant_type: 0 for FP4, 1 for NF4.
        N: columns of the matrix.
        K: rows of the matrix.
    """
    if block_size not in (16, 32, 64, 128, 256):
        raise ValueError(f"block_size: {block_size}, expected 16, 32, 64, 128 or 256")
    flat = np.asarray(src, np.float32).reshape(-1)
    if flat.size != N * K:
        raise ValueError(f"src: {flat.size} elements, expected N x K = {N} x {K}")
    blocks = _blocks_of(flat[:, None], block_size)[..., 0]
    largest = np.abs(blocks).max(axis=1)
    relative = np.divide(blocks, largest[:, None], out=np.zeros_like(blocks), where=largest[:, None] != 0)
    numbers = np.array(_NF4 if quant_type == 1 else [*_FP4, *(-number for number in _FP4)], np.float32)
    order = np.lexsort((-np.arange(numbers.size), numbers))  # FP4 has a negative zero, which comes first
    ordered = numbers[order]
    places = np.searchsorted((ordered[1:] + ordered[:-1]) / 2, relative.reshape(-1)[: flat.size], side="right")
    codes = order[places].astype(np.uint8)
    if codes.size % 2:
        codes = np.append(codes, np.uint8(0))
    _store(dst, codes[::2] << 4 | codes[1::2], "dst")
    _store(absmax, largest, "absmax")


def pack_fp4_weights_for_cuda_moe_gemm(q_weights: Bytes, N: int, K: int) -> Bytes:
    """Orders weights for kernels of the official build for CUDA, which this package does not have.

    Raises:
        NotImplemented: always.
    """
    raise C.NotImplemented(
        "pack_fp4_weights_for_cuda_moe_gemm: prepares weights for CUDA kernels of official ONNX Runtime, which Retort "
        "does not have; use the official onnxruntime-gpu"
    )
