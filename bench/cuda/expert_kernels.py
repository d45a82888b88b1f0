#!/usr/bin/env python3
"""Runs the kernels of mixtures of experts alone, beside a loop over the experts in PyTorch: differences, TFLOP/s, GB/s,
for several sizes of tiles. Needs a GPU and PyTorch with NVIDIA's wheels; nothing of Retort is built.

    expert_kernels.py [--only TEXT] [--quick]

The arguments of the kernels are those of providers/cuda/ops/experts.cc, which chooses the form that is marked "*".
"""
import argparse
import ctypes
import struct
import time

import torch
import torch.nn.functional as F
from attention_kernels import TYPES, Compiler, milliseconds, pointer, up

SWIGLU = 5
NONE = ctypes.c_uint64(0)


def packed(form, *values):
    data = struct.pack(form, *values)
    return ctypes.create_string_buffer(data, len(data))


def defines_of(form, dtype, tokens, bits, first):
    file, columns, stages = form
    inner = TYPES[dtype if file == "cores" else torch.float32]
    element = TYPES[dtype]
    defines = {"ELEMENT": element, "ROWS_OF": element if first else inner, "OUT": inner if first else "float", "BITS": bits,
               "SCALE": element if bits else "float", "ZEROS": 0, "GATE": int(first), "FIRST": int(first), "ACTIVATION": SWIGLU, "SCATTER": int(not first)}
    if file == "few":
        defines["ROWS"] = tokens if tokens <= 2 else 4 if tokens <= 4 else 8
    if file == "cores":
        defines |= {"COLUMNS": columns, "STAGES": stages, "OWN_CODE": 1}
    return defines


class Layers:
    """Weights of two layers: swiglu of pairs of rows, and back. bits: 0 for elements, else codes in blocks of 32."""

    def __init__(self, dtype, hidden, inner, experts, bits):
        self.dtype, self.hidden, self.inner, self.experts, self.bits = dtype, hidden, inner, experts, bits
        self.first, self.first_codes, self.first_scales = self.layer(2 * inner, hidden)
        self.second, self.second_codes, self.second_scales = self.layer(hidden, inner)

    def layer(self, rows, k):
        if not self.bits:
            w = torch.empty(self.experts, rows, k, device="cuda", dtype=self.dtype).normal_(0, k**-0.5)
            return w, w, None
        codes = torch.randint(0, 256, (self.experts, rows, k * self.bits // 8), device="cuda", dtype=torch.uint8)
        scales = ((torch.rand(self.experts, rows, k // 32, device="cuda") + 0.5) / 2**self.bits / k**0.5).to(self.dtype)
        each = 8 // self.bits
        values = torch.stack([codes >> (i * self.bits) & (2**self.bits - 1) for i in range(each)], -1).reshape(self.experts, rows, k)
        w = (values.to(self.dtype) - 2 ** (self.bits - 1)).reshape(self.experts, rows, k // 32, 32) * scales[..., None]
        return w.reshape(self.experts, rows, k), codes, scales

    def bytes_of(self, experts):
        return experts * 3 * self.inner * self.hidden * (self.bits / 8 + 2 / 32 if self.bits else 2)


class Call:
    """form: (file, columns, stages) of layers of many rows, or ("few", 16, 0)."""

    def __init__(self, c, form, layers, x, scores, k):
        self.c, self.keep = c, (layers, x, scores)
        self.tokens, self.k, self.slots = x.shape[0], k, x.shape[0] * k
        self.few, self.cores = form[0] == "few", form[0] == "cores"
        self.tile = 128 if self.cores else 64
        integers = lambda n: torch.empty(n, device="cuda", dtype=torch.int32)
        chosen, order = integers(self.slots), integers(self.slots)
        begin, tiles, active = (integers(layers.experts + 1) for _ in range(3))
        shares = torch.empty(self.slots, device="cuda")
        self.inner = torch.empty(self.slots, layers.inner, device="cuda", dtype=x.dtype if self.cores else torch.float32)
        self.parts = torch.empty(self.slots, layers.hidden, device="cuda")
        self.y = torch.full_like(x, float("nan"))
        self.steps = []
        routing = packed("<q4i", self.tokens, layers.experts, k, 1, self.tile)
        element = {"ELEMENT": TYPES[x.dtype]}
        scored = [pointer(scores), NONE, pointer(chosen), pointer(shares)]
        sorted_ = [pointer(order), pointer(begin), pointer(tiles), pointer(active), routing]
        if self.tokens <= 32:
            self.add("experts.cu", "experts_plan", element, (1, 1, 1), min(max(self.tokens * 32, 128), 1024), 0, scored + sorted_)
        else:
            self.add("experts.cu", "experts_route", element, (up(self.tokens, 8), 1, 1), 256, 0, scored + [routing])
            self.add("experts.cu", "experts_sort", element, (1, 1, 1), 1024, 0, [pointer(chosen)] + sorted_)
        places = [pointer(order), pointer(begin), pointer(active if self.few else tiles), ctypes.c_int(layers.experts)]
        self.layer(form, layers, True, x, self.inner, places)
        self.layer(form, layers, False, self.inner, self.parts, places)
        count = self.y.numel()
        self.add("experts.cu", "experts_join", element, (up(count, 256), 1, 1), 256, 0,
                 [pointer(self.parts), pointer(shares), pointer(self.y), ctypes.c_int64(count), ctypes.c_int64(layers.hidden), ctypes.c_int(k)])
        self.keep += (chosen, order, begin, tiles, active, shares)

    def layer(self, form, w, first, x, y, places):
        file, columns, stages = form
        codes, scales = (w.first_codes, w.first_scales) if first else (w.second_codes, w.second_scales)
        results, k = (2 * w.inner, w.hidden) if first else (w.hidden, w.inner)
        row_bytes = k * w.bits // 8 if w.bits else k * 2
        shape = packed("<7q4i", results, k, w.inner, results, row_bytes, k // 32 if w.bits else 1, 0, 5, 0, 1, self.k if first else 0)
        defines = defines_of(form, w.dtype, self.tokens, w.bits, first)
        shared = stages * (128 + columns) * 128 + 1024 if self.cores else 0
        some = min(w.experts, self.slots)
        groups, parts = some if self.few else self.slots // self.tile + some, up(results, columns)
        blocks = (parts, groups, 1) if self.few else (groups, parts, 1)
        arguments = [pointer(x), pointer(y), *places, pointer(codes), pointer(scales), NONE, NONE, NONE, NONE, NONE, NONE, shape,
                     packed("<3fi", 1, 0, float("inf"), 0)]
        self.add(f"experts_{file}.cu", f"experts_{file}", defines, blocks, 256, shared, arguments)

    def add(self, file, entry, defines, blocks, threads, shared, arguments):
        self.steps.append((self.c.get(file, entry, defines, shared), blocks, threads, shared, arguments))

    def run(self, steps=None):
        for step in steps or self.steps:
            self.c.launch(*step)
        return self.y


def routed(scores, k):
    shares, chosen = torch.softmax(scores.float(), 1).topk(k, 1)
    return shares / shares.sum(1, keepdim=True), chosen


def loop(w, x, y, places):
    """PyTorch's way; `places`: rows and shares of each expert, already known."""
    y.zero_()
    for expert, (rows, shares) in enumerate(places):
        v = F.linear(x[rows], w.first[expert])
        y.index_add_(0, rows, F.linear(F.silu(v[:, 0::2]) * v[:, 1::2], w.second[expert]) * shares)
    return y


def places_of(w, scores, k):
    shares, chosen = routed(scores, k)
    found = [torch.where(chosen == e) for e in range(w.experts)]
    return [(rows, shares[rows, which][:, None].to(scores.dtype)) for rows, which in found if len(rows)], [e for e, (r, _) in enumerate(found) if len(r)]


def exact(w, x, scores, k):
    shares, chosen = routed(scores, k)
    y = torch.zeros_like(x, dtype=torch.float32)
    for e in range(w.experts):
        rows, which = torch.where(chosen == e)
        v = x[rows].float() @ w.first[e].float().T
        v = F.silu(v[:, 0::2]) * v[:, 1::2]
        y.index_add_(0, rows, (v @ w.second[e].float().T) * shares[rows, which][:, None])
    return y


def with_routing(w, x, y, scores, k):
    places, active = places_of(w, scores, k)
    part = Chosen(w, active)
    return loop(part, x, y, places)


class Chosen:
    def __init__(self, w, active):
        self.first, self.second = [w.first[e] for e in active], [w.second[e] for e in active]


def measure(c, shape, a):
    name, dtype, tokens, hidden, inner, experts, k, bits = shape
    w = Layers(dtype, hidden, inner, experts, bits)
    x = torch.randn(tokens, hidden, device="cuda", dtype=dtype)
    scores = torch.stack([torch.randperm(experts, device="cuda") for _ in range(tokens)]).to(dtype) * 0.3  # none are equal
    wanted = exact(w, x, scores, k)
    places, active = places_of(w, scores, k)
    y, part = torch.empty_like(x), Chosen(w, active)
    graph_ms = milliseconds(lambda: loop(part, x, y, places), a.quick)
    torch.cuda.synchronize()
    begun = time.perf_counter()
    for _ in range(5):
        with_routing(w, x, y, scores, k)
    torch.cuda.synchronize()
    eager_ms = (time.perf_counter() - begun) / 5 * 1e3
    flops, moved = 6.0 * tokens * k * hidden * inner, w.bytes_of(len(active))
    rate = lambda ms: f"{ms:.4f} ms, {flops / ms / 1e9:.1f} TFLOP/s, {moved / ms / 1e6:.0f} GB/s of weights"
    print(f"{name} {TYPES[dtype]}, {tokens} tokens, {hidden} x {inner}, {k} of {experts}, {bits} bits: PyTorch's loop from a graph that knows the routing "
          f"{graph_ms:.4f} ms, eager {eager_ms:.4f} ms", flush=True)
    for mark, form in forms_of(tokens, k, experts, bits):
        try:
            call = Call(c, form, w, x, scores, k)
            call.run()
            error = ((call.y.float() - wanted).norm() / wanted.norm()).item()
            ms = milliseconds(call.run, a.quick)
            layers = [milliseconds(lambda i=i: call.run(call.steps[i:i + 1]), a.quick) for i in (-3, -2)]
            print(f"  {mark} {form}: {rate(ms)}, layers {layers[0]:.4f} and {layers[1]:.4f} ms, {graph_ms / ms:.2f} and {eager_ms / ms:.2f} x PyTorch, "
                  f"off by {error:.1e}{'' if error < 2e-2 else ' WRONG'}", flush=True)
        except RuntimeError as e:
            print(f"  {form}: {str(e)[:300]}", flush=True)


def forms_of(tokens, k, experts, bits):
    wide = tokens * k >= 32 * experts and not bits
    forms = [("cores", 256, 4), ("cores", 128, 6), ("cores", 128, 3)]
    chosen = ("few", 16, 0) if tokens <= 4 else ("cores", 256, 4) if wide else ("cores", 128, 3 if bits else 6)
    forms = [chosen] + ([f for f in forms if f != chosen] if tokens > 1 else []) + ([("few", 16, 0)] if 4 < tokens <= 16 else [])
    return [("*" if i == 0 else " ", f) for i, f in enumerate(forms)]


SHAPES = [  # name, type, tokens, hidden, inner, experts, chosen, bits
    ("mixtral_prefill", torch.bfloat16, 512, 4096, 14336, 8, 2, 0),
    ("mixtral_decode", torch.bfloat16, 1, 4096, 14336, 8, 2, 0),
    ("mixtral_decode8", torch.bfloat16, 8, 4096, 14336, 8, 2, 0),
    ("small_prefill", torch.float16, 512, 2048, 4096, 8, 2, 0),
    ("small_decode", torch.float16, 1, 2048, 4096, 8, 2, 0),
    ("long_prefill", torch.bfloat16, 4096, 4096, 14336, 8, 2, 0),
    ("mixtral_prefill", torch.bfloat16, 512, 4096, 14336, 8, 2, 4),
    ("mixtral_decode", torch.bfloat16, 1, 4096, 14336, 8, 2, 4),
    ("small_prefill", torch.float16, 512, 2048, 4096, 8, 2, 8),
    ("some_tokens", torch.float16, 40, 2048, 4096, 8, 2, 0),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seconds", type=float, default=1e9)
    a = parser.parse_args()
    begun = time.time()
    compiler = Compiler()
    torch.backends.cuda.matmul.allow_tf32 = False
    for name, dtype, tokens, _, _, experts, k, bits in SHAPES:
        for _, form in forms_of(tokens, k, experts, bits) if a.only in name else ():
            for first in (True, False):
                compiler.begin(f"experts_{form[0]}.cu", defines_of(form, dtype, tokens, bits, first))
        compiler.begin("experts.cu", {"ELEMENT": TYPES[dtype]})
    for shape in SHAPES:
        if a.only in shape[0] and time.time() - begun < a.seconds:
            measure(compiler, shape, a)
            torch.cuda.empty_cache()
    compiler.pool.terminate()


if __name__ == "__main__":
    main()
