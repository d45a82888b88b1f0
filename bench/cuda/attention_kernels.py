#!/usr/bin/env python3
"""Runs the kernels of attention alone, against PyTorch's scaled_dot_product_attention on the same tensors: differences,
TFLOP/s, GB/s, for several sizes of blocks. Needs a GPU and PyTorch with NVIDIA's wheels; nothing of Retort is built.

    attention_kernels.py [--only TEXT] [--quick]

The arguments of the kernels are those of providers/cuda/ops/attention.cc, which chooses the form that is marked "*".
"""
import argparse
import ctypes
import dataclasses
import functools
import glob
import math
import multiprocessing
import os
import re
import statistics
import struct

import torch
import torch.nn.functional as F

KERNELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "providers", "cuda", "kernels")
TYPES = {torch.float32: "float", torch.float16: "f16", torch.bfloat16: "bf16"}
FEW = 8


def read(name):
    with open(os.path.join(KERNELS, name), encoding="utf-8") as f:
        return f.read()


def whole(name):
    """The text of a kernel as the plug-in compiles it."""
    seen = {"prelude.cuh", "tensor_cores.cuh"}

    def include(match):
        if match[1] in seen:
            return ""
        seen.add(match[1])
        return insert(read(match[1]))

    def insert(text):
        return re.sub(r'(?m)^#include "([^"]+)"', include, text)

    return insert(read("prelude.cuh") + read("tensor_cores.cuh") + read(name)).replace("#pragma once", "")


@functools.lru_cache(None)
def open_nvrtc():
    files = sorted(glob.glob(os.path.join(os.path.dirname(os.path.dirname(torch.__file__)), "nvidia", "*", "lib", "libnvrtc.so.*")))
    return ctypes.CDLL(files[0] if files else "libnvrtc.so.13")


def compiled(arch, file, defines):
    """The machine code of a file of kernels, or the compiler's messages."""
    nvrtc = open_nvrtc()
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), whole(file).encode(), file.encode(), 0, None, None)
    options = [f"-arch=sm_{arch}", "-std=c++17", "-default-device"] + [f"-D{n}={v}" for n, v in defines]
    array = (ctypes.c_char_p * len(options))(*[o.encode() for o in options])
    if nvrtc.nvrtcCompileProgram(program, len(options), array):
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        return log.value.decode()[:2000]
    nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
    image = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetCUBIN(program, image)
    return image.raw


class Compiler:
    """Compiles in other processes: they must begin before this one uses the GPU."""

    def __init__(self):
        self.pool = multiprocessing.get_context("fork").Pool(min(14, os.cpu_count()))
        self.cuda = ctypes.CDLL("libcuda.so.1")
        torch.zeros(1, device="cuda")  # makes the primary context current
        self.arch = "%d%d" % torch.cuda.get_device_capability()
        self.begun, self.known = {}, {}

    def check(self, result, what):
        if result:
            raise RuntimeError(f"{what}: {result}")

    def begin(self, file, defines):
        key = (file, tuple(sorted(defines.items())))
        if key not in self.begun:
            arch = self.arch + ("a" if file in ("attention_wide.cu", "experts_cores.cu") else "")
            self.begun[key] = self.pool.apply_async(compiled, (arch, *key))
        return key

    def get(self, file, entry, defines, shared=0):
        key = self.begin(file, defines)
        if key not in self.known:
            image = self.begun[key].get()
            if isinstance(image, str):
                raise RuntimeError(image)
            self.known[key] = ctypes.c_void_p()
            self.check(self.cuda.cuModuleLoadData(ctypes.byref(self.known[key]), image), "load")
        function = ctypes.c_void_p()
        self.check(self.cuda.cuModuleGetFunction(ctypes.byref(function), self.known[key], entry.encode()), "function")
        if shared > 48 << 10:
            self.check(self.cuda.cuFuncSetAttribute(function, 8, shared), "shared memory")
        return function

    def launch(self, function, blocks, threads, shared, arguments):
        pointers = (ctypes.c_void_p * len(arguments))(*[ctypes.addressof(a) for a in arguments])
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        self.check(self.cuda.cuLaunchKernel(function, *blocks, threads, 1, 1, shared, stream, pointers, None), "launch")


def pointer(tensor):
    return ctypes.c_uint64(tensor.data_ptr() if tensor is not None else 0)


def up(a, b):
    return (a + b - 1) // b


@dataclasses.dataclass(frozen=True)
class Form:
    """How a call is run: the file, BM, BN and the number of blocks that share the keys."""

    file: str
    bm: int
    bn: int
    warps: int = 4
    splits: int = 1
    pack: int = 1
    stages: int = 0
    more: tuple = ()

    def __str__(self):
        return f"{self.file} {self.bm}x{self.bn} {self.warps} warps" + (f" {self.stages} stages" if self.stages else "") + (
            f" {self.splits} parts" if self.splits > 1 else "") + "".join(f" {n}={v}" for n, v in self.more)

    @property
    def joins_itself(self):
        return self.file in ("decode", "group")


def head_of(form, size, element):
    if form.file == "wide":
        return 64 if size <= 64 else 128
    if form.file != "decode":
        return max(32, up(size, 32) * 32)
    head = 16 // element
    while head < size:
        head *= 2
    return head


def shared_of(form, head, element):
    if form.file == "decode":
        return form.bm * max(form.warps * (head + 2), 129) * 4
    if form.file == "group":
        return max((16 + form.warps * form.stages * 2 * form.bn) * (head + 8) * 2, form.bm * max(form.warps * (head + 4), 129) * 4)
    if form.file == "plain":
        return ((form.bm + form.bn) * (head + 4) + form.bm * (form.bn + 4)) * 4
    if form.file == "wide":
        return (form.bm + 4 * form.bn) * head * 2 + 1024
    return (form.bm + 4 * form.bn) * (head + (4 if element == 4 else 8)) * element


def defines_of(form, dtype, size, bias):
    floats = dtype == torch.float32
    defines = {"ELEMENT": TYPES[dtype], "HEAD": head_of(form, size, 4 if floats else 2), "BM": form.bm, "BN": form.bn, "FLOATS": int(floats),
               "ALIGNED": 1, "SOFTCAP": 0}
    if form.joins_itself:
        defines["ROWS"] = form.bm
    if form.stages:
        defines["STAGES"] = form.stages
    if form.file not in ("plain", "wide"):
        defines["WARPS"] = form.warps
    if bias:
        defines["BIAS"] = TYPES[dtype]
    if form.file not in ("plain", "decode"):
        defines["SHARED_BIAS" if bias else "FUSED"] = 1
    return {**defines, **dict(form.more)}


class Call:
    """q [B, Sq, H, D], k and v [B, T, Hk, D], all contiguous, or views of such."""

    def __init__(self, compiler, form, q, k, v, causal, before, bias=None, softcap=0.0):
        self.c, self.form = compiler, form
        b, rows, heads, size = q.shape
        keys, kv_heads = k.shape[1], k.shape[2]
        self.y = torch.empty(b, rows, heads, size, device="cuda", dtype=q.dtype)
        head = head_of(form, size, q.element_size())
        self.parts = torch.empty(form.splits * b * heads * rows * (head + 2), device="cuda", dtype=torch.float32)
        strides = []
        for t in (q, k, v, self.y):
            strides += [t.stride(0), t.stride(2), t.stride(1)]
        strides += list(bias.expand(b, heads, rows, keys).stride()) if bias is not None else [0] * 4
        strides += [0] * 4
        scale = 1 / math.sqrt(size) * (1 / math.log(2))
        numbers = [b, heads, heads // kv_heads, rows, keys, size, size, int(causal), -1, -1, before, 0, 0, 0, form.pack, form.splits]
        packed = struct.pack("<20q16i4f", *strides, *numbers, scale, softcap, float("-inf"), 0.0)
        self.shape = ctypes.create_string_buffer(packed, len(packed))
        self.shared = shared_of(form, head, q.element_size())
        name = "attention_" + form.file
        self.kernel = compiler.get(name + ".cu", name, defines_of(form, q.dtype, size, bias is not None), self.shared)
        self.blocks = (b * form.splits, heads // form.pack, up(rows * form.pack, form.bm))
        self.threads = form.warps * 32
        none = ctypes.c_uint64(0)
        self.arguments = [pointer(q), pointer(k), pointer(v), pointer(self.y), pointer(bias), none, none, none, pointer(self.parts)]
        if form.joins_itself:
            self.counters = torch.zeros(self.blocks[0] * self.blocks[1] * self.blocks[2], device="cuda", dtype=torch.int32)
            self.arguments.append(pointer(self.counters))
        self.arguments.append(self.shape)
        self.keep = (q, k, v, bias)
        self.joins = form.splits > 1 and not form.joins_itself
        if self.joins:
            self.join = compiler.get("attention_combine.cu", "attention_combine", {"ELEMENT": TYPES[q.dtype], "HEAD": head})
            self.rows = (b * heads * rows, 1, 1)
            self.join_threads = min(up(size, 32) * 32, 128)
            self.join_arguments = [pointer(self.parts), none, pointer(self.y), self.shape]

    def run(self):
        self.c.launch(self.kernel, self.blocks, self.threads, self.shared, self.arguments)
        if self.joins:
            self.c.launch(self.join, self.rows, self.join_threads, 0, self.join_arguments)
        return self.y


def milliseconds(run, quick):
    """The median of several replays of a CUDA graph of 10 calls."""
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        run()
        run()
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(10):
            run()
    times = []
    for _ in range(4 if quick else 10):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / 10)
    return statistics.median(times[1:])


def splits_for(keys, tile, blocks, wanted):
    tiles = up(keys, tile)
    splits = int(max(1, min(wanted // blocks, tiles, 128)))
    return up(tiles, up(tiles, splits))


SHAPES = [  # name, type, B, Sq, T, H, Hk, D, causal, bias
    ("bert_b8_s128", torch.float32, 8, 128, 128, 12, 12, 64, False, True),
    ("bert_b8_s128", torch.float16, 8, 128, 128, 12, 12, 64, False, True),
    ("bert_b1_s384", torch.float32, 1, 384, 384, 12, 12, 64, False, True),
    ("bert_b1_s384", torch.float16, 1, 384, 384, 12, 12, 64, False, True),
    ("gpt2_128", torch.float32, 1, 1, 129, 12, 12, 64, False, False),
    ("gpt2_1024", torch.float32, 1, 1, 1025, 12, 12, 64, False, False),
    ("gpt2_1024", torch.float16, 1, 1, 1025, 12, 12, 64, False, False),
    ("llama_decode_4096", torch.bfloat16, 1, 1, 4096, 32, 8, 128, False, False),
    ("llama_decode_b8_4096", torch.bfloat16, 8, 1, 4096, 32, 8, 128, False, False),
    ("llama_decode_b8_16384", torch.bfloat16, 8, 1, 16384, 32, 8, 128, False, False),
    ("llama_decode_f16_b4_8192", torch.float16, 4, 1, 8192, 32, 8, 128, False, False),
    ("llama_prefill_2048", torch.bfloat16, 1, 2048, 2048, 32, 8, 128, True, False),
    ("llama_prefill_b4_2048", torch.bfloat16, 4, 2048, 2048, 32, 8, 128, True, False),
    ("full_b4_2048", torch.bfloat16, 4, 2048, 2048, 32, 32, 128, False, False),
    ("full_b4_2048_d64", torch.float16, 4, 2048, 2048, 16, 16, 64, False, False),
    ("odd_1000_777_d80", torch.float16, 2, 1000, 777, 5, 5, 80, False, False),
    ("wide_d256", torch.bfloat16, 2, 512, 512, 8, 8, 256, True, False),
    ("few_rows_4", torch.bfloat16, 2, 4, 2000, 8, 8, 128, False, False),
]


def few_rows(dtype, b, rows, keys, kv_heads, group, processors):
    bm = 1
    while bm < rows * group:
        bm *= 2
    blocks, tiles = b * kv_heads, up(keys, 32)
    decode = [Form("decode", bm, 32, w, splits_for(keys, 32, blocks, min(processors * n, blocks * min(tiles, max(tiles // most, 5)))), group)
              for w, n, most in ((4, 3, 3), (4, 3, 2), (8, 1, 3))] if bm <= FEW else []
    if dtype == torch.float32:
        return decode
    forms = [Form("group", bm, bn, w, splits_for(keys, bn, blocks, min(processors * n, blocks * max(keys // bn // 4, 1))), group, stages)
             for w, bn, stages, n in ((4, 16, 3, 1), (4, 16, 4, 1), (4, 16, 2, 1), (4, 16, 3, 2), (8, 16, 3, 1), (4, 16, 3, 0.7), (4, 32, 2, 1))]
    return forms + decode[:1]


def many_rows(dtype, b, rows, heads, size, processors):
    floats, head = dtype == torch.float32, max(32, up(size, 32) * 32)
    many = up(rows, 128) * b * heads >= processors
    if floats:
        return [Form("flash", 64, 64 if head <= 64 else 32), Form("flash", 128, 64 if head <= 64 else 32, 8), Form("plain", 64, 64 if head <= 64 else 32, 8)]
    flash = [Form("flash", bm, bn) for bm, bn in (((128, 64), (64, 64)) if many else ((64, 64), (128, 64)))]
    if head > 128:
        return [Form("flash", 64, 32)]
    shapes = [(128, 128), (128, 64), (64, 64), (64, 128), (192, 128), (192, 64)]
    chosen = (128, 128) if many and rows > 64 else (64, 64 if head > 64 else 128)
    shapes.sort(key=lambda s: s != chosen)
    wide = [Form("wide", bm, bn, bm // 16) for bm, bn in shapes]
    return wide + ([Form("wide", 128, 64, 8, more=(("BLOCKS", 2),))] if head <= 64 else []) + flash


def forms_of(dtype, b, rows, keys, heads, kv_heads, size, processors):
    """All forms worth trying, that of attention.cc first."""
    group = heads // kv_heads
    if rows * group <= (FEW if dtype == torch.float32 else 16):
        return few_rows(dtype, b, rows, keys, kv_heads, group, processors)
    return many_rows(dtype, b, rows, heads, size, processors)


def measure(compiler, shape, forms, a):
    name, dtype, b, rows, keys, heads, kv_heads, size, causal, has_bias = shape
    q = torch.randn(b, rows, heads, size, device="cuda", dtype=dtype)
    k, v = (torch.randn(b, keys, kv_heads, size, device="cuda", dtype=dtype) for _ in range(2))
    bias = torch.zeros(b, 1, 1, keys, device="cuda", dtype=dtype) if has_bias else None
    turned = [x.transpose(1, 2) for x in (q, k, v)]
    options = {"attn_mask": bias, "is_causal": causal, "enable_gqa": heads != kv_heads}
    exact = F.scaled_dot_product_attention(*[x.float() for x in turned], **{**options, "attn_mask": None}).transpose(1, 2)
    flops = 4.0 * b * heads * rows * keys * size * (0.5 if causal else 1)
    moved = (2 * b * keys * kv_heads * size + 2 * b * rows * heads * size) * q.element_size()
    torch_ms = milliseconds(lambda: F.scaled_dot_product_attention(*turned, **options), a.quick)
    print(f"{name} {TYPES[dtype]}: PyTorch {torch_ms:.4f} ms, {flops / torch_ms / 1e9:.1f} TFLOP/s, {moved / torch_ms / 1e6:.0f} GB/s", flush=True)
    for mark, form in forms:
        try:
            call = Call(compiler, form, q, k, v, causal, 0, bias)
            error = (call.run().float() - exact).abs().max().item()
            ms = milliseconds(call.run, a.quick)
            print(f"  {mark} {form}: {ms:.4f} ms, {flops / ms / 1e9:.1f} TFLOP/s, {moved / ms / 1e6:.0f} GB/s, "
                  f"{torch_ms / ms:.2f} x PyTorch, off by {error:.2g}", flush=True)
        except RuntimeError as e:
            print(f"  {form}: {str(e)[:300]}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--quick", action="store_true")
    a = parser.parse_args()
    compiler = Compiler()
    processors = torch.cuda.get_device_properties(0).multi_processor_count
    torch.backends.cuda.matmul.allow_tf32 = True
    work = []
    for shape in SHAPES:
        if a.only in shape[0]:
            forms = list(dict.fromkeys(forms_of(shape[1], *shape[2:8], processors)))
            work.append((shape, [("*" if i == 0 else " ", f) for i, f in enumerate(forms)]))
            for form in forms:
                compiler.begin(f"attention_{form.file}.cu", defines_of(form, shape[1], shape[7], shape[9]))
    for shape, forms in work:
        measure(compiler, shape, forms, a)
    compiler.pool.terminate()


if __name__ == "__main__":
    main()
