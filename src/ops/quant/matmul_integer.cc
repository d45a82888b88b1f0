// MatMulInteger: (A - a's zero point) · (B - b's zero point) of 8-bit integers, summed in int32.
#include "base/checked.h"
#include "ops/nn/common/matrix.h"
#include "ops/quant/common/integer_product.h"

namespace retort::ops {
namespace {

// Matrices packed by pack_exact, one after the other.
struct PackedCodes : State {
  std::shared_ptr<const void> memory;
  size_t stride = 0;  // bytes
};

struct MatMulInteger {
  enum Input : size_t { kA, kB, kAZero, kBZero };

  void infer(InferContext& c) const {
    c.set(0, DType::i32);
    c.set(0, DType::i32, infer_matmul(c.dims(), c.shape(kA), c.shape(kB)));
  }

  std::unique_ptr<State> prepare(PrepareContext& c) const {
    const Tensor *b = c.constant(kB), *zero = c.constant(kBZero);
    if (!b || b->shape().empty() || (c.has(kBZero) && !zero)) return nullptr;
    const size_t rank = b->shape().rank(), k = size_t(b->shape()[rank > 1 ? rank - 2 : 0]);
    const size_t n = rank > 1 ? size_t(b->shape().back()) : 1, size = k * n, count = size > 0 ? b->count() / size : 0;
    const ZeroPoints zeros(zero, n, "b_zero_point");
    auto packed = std::make_unique<PackedCodes>();
    packed->stride = exact_packed_bytes(k, n);
    packed->memory = c.packed(checked_mul(packed->stride, count, "packed weights"), [&](void* to) {
      std::vector<float> matrix(size);
      for (size_t i = 0; i < count; ++i)
        pack(b->data(), b->dtype(), i * size, zeros, k, n, matrix.data(), static_cast<char*>(to) + i * packed->stride);
    });
    c.release(kB);
    return packed;
  }

  size_t scratch(const RunContext& c) const {
    const MatMulShape s = matmul_shape(c.shape(kA), c.shape(kB));
    const size_t own_b = c.state<PackedCodes>() ? 0 : s.b_size;
    const size_t floats = checked_add(checked_mul(s.m, s.k + s.n, "A"), own_b, "B");
    return checked_add(round_up(checked_mul(floats, sizeof(float), "A and B"), 64),
                       own_b ? exact_packed_bytes(s.k, s.n) : 0, "B");
  }

  void run(RunContext& c) const {
    const MatMulShape s = matmul_shape(c.shape(kA), c.shape(kB));
    const auto* state = c.state<PackedCodes>();
    const ZeroPoints a_zero(c, kAZero, s.m, "a_zero_point"), b_zero(c, kBZero, s.n, "b_zero_point");
    char* own = static_cast<char*>(c.scratch());
    float* a = reinterpret_cast<float*>(own + (state || !s.b_size ? 0 : exact_packed_bytes(s.k, s.n)));
    float *work = a + s.m * s.k, *b = work + s.m * s.n;
    size_t last_b = SIZE_MAX;
    for (size_t i = 0; i < s.batch && !c.parallel().cancelled(); ++i) {
      for (size_t r = 0; r < s.m; ++r)
        widen(c.data(kA), c.dtype(kA), s.a_offset(i) + r * s.k, s.k, a_zero.at(r), a + r * s.k);
      if (!state && s.b_size && s.b_offset(i) != last_b) {
        last_b = s.b_offset(i);
        pack(c.data(kB), c.dtype(kB), last_b, b_zero, s.k, s.n, b, own);
      }
      const void* packed = own;
      if (state && s.b_size)
        packed = static_cast<const char*>(state->memory.get()) + s.b_offset(i) / s.b_size * state->stride;
      multiply_exact(s.m, s.n, s.k, a, packed, c.output<int32_t>().data() + i * s.m * s.n, work, c.parallel());
    }
  }

 private:
  // One matrix [k, n] of codes, by way of `matrix`.
  static void pack(const void* codes, DType type, size_t first, const ZeroPoints& zero, size_t k, size_t n,
                   float* matrix, void* packed) {
    widen(codes, type, first, k * n, 0, matrix);
    for (size_t e = 0; e < k * n; ++e) matrix[e] -= float(zero.at(e % n));
    pack_exact(matrix, n, 1, k, n, packed);
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
