// MatMulInteger: (A - a's zero point) · (B - b's zero point) of 8-bit integers, summed in int32.
#include "base/checked.h"
#include "ops/nn/common/matrix.h"
#include "ops/quant/common/integer_product.h"

namespace retort::ops {
namespace {

struct MatMulInteger {
  enum Input : size_t { kA, kB, kAZero, kBZero };

  void infer(InferContext& c) const {
    c.set(0, DType::i32);
    c.set(0, DType::i32, infer_matmul(c.dims(), c.shape(kA), c.shape(kB)));
  }

  size_t scratch(const RunContext& c) const {
    const MatMulShape s = matmul_shape(c.shape(kA), c.shape(kB));
    const size_t floats = checked_add(checked_mul(s.m, s.k + s.n, "A"), s.b_size, "B");
    return checked_add(round_up(checked_mul(floats, sizeof(float), "A and B"), 64), exact_packed_bytes(s.k, s.n), "B");
  }

  void run(RunContext& c) const {
    const MatMulShape s = matmul_shape(c.shape(kA), c.shape(kB));
    const ZeroPoints a_zero(c, kAZero, s.m, "a_zero_point"), b_zero(c, kBZero, s.n, "b_zero_point");
    char* memory = static_cast<char*>(c.scratch());
    void* packed = memory;
    float* a = reinterpret_cast<float*>(memory + exact_packed_bytes(s.k, s.n));
    float *work = a + s.m * s.k, *b = work + s.m * s.n;
    size_t last_b = SIZE_MAX;
    for (size_t i = 0; i < s.batch; ++i) {
      for (size_t r = 0; r < s.m; ++r)
        widen(c.data(kA), c.dtype(kA), s.a_offset(i) + r * s.k, s.k, a_zero.at(r), a + r * s.k);
      if (s.b_offset(i) != last_b) {
        last_b = s.b_offset(i);
        widen(c.data(kB), c.dtype(kB), last_b, s.b_size, 0, b);
        for (size_t e = 0; e < s.b_size; ++e) b[e] -= float(b_zero.at(e % s.n));
        pack_exact(b, s.n, 1, s.k, s.n, packed);
      }
      multiply_exact(s.m, s.n, s.k, a, packed, c.output<int32_t>().data() + i * s.m * s.n, work, c.parallel());
    }
  }
};

}  // namespace

extern const OpDef op_matmul_integer;
constinit const OpDef op_matmul_integer = define<MatMulInteger>({
    .name = "MatMulInteger",
    .since = {10},
    .inputs = {"A: T", "B: U", "a_zero_point: T?", "b_zero_point: U?"},
    .outputs = {"Y: int32"},
    .types = types({DType::i8, DType::u8}),
});

}  // namespace retort::ops
