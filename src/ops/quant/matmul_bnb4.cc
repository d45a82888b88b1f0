// com.microsoft.MatMulBnb4: A · B', where B [N, K] is stored in codes of 4 bits of a table of sixteen numbers (FP4 or
// NF4 of bitsandbytes), in blocks over all its elements, each scaled by its largest magnitude. transB=0: A · B.
#include <algorithm>
#include <bit>

#include "ops/nn/common/matrix.h"
#include "ops/quant/common/codes.h"
#include "ops/quant/common/decoded_product.h"

namespace retort::ops {
namespace {

// By code. FP4 has a sign, two bits of exponent and one of mantissa, over its largest number; NF4 has the quantiles of
// the normal distribution (QLoRA, appendix E).
constexpr float kFp4[16] = {0,     0.00520833333f,  2 / 3.0f,  1,  1 / 3.0f,  0.5f,  1 / 6.0f,  0.25f,
                            -0.0f, -0.00520833333f, -2 / 3.0f, -1, -1 / 3.0f, -0.5f, -1 / 6.0f, -0.25f};
constexpr float kNf4[16] = {-1.0f,
                            -0.6961928009986877f,
                            -0.5250730514526367f,
                            -0.39491748809814453f,
                            -0.28444138169288635f,
                            -0.18477343022823334f,
                            -0.09105003625154495f,
                            0.0f,
                            0.07958029955625534f,
                            0.16093020141124725f,
                            0.24611230194568634f,
                            0.33791524171829224f,
                            0.44070982933044434f,
                            0.5626170039176941f,
                            0.7229568362236023f,
                            1.0f};

struct MatMulBnb4 {
  int64_t K = 0, N = 0, block_size = 0, quant_type = 0, training_mode = 0;
  bool transposed = true;
  static constexpr std::tuple attributes{required("K", &MatMulBnb4::K),
                                         required("N", &MatMulBnb4::N),
                                         required("block_size", &MatMulBnb4::block_size),
                                         required("quant_type", &MatMulBnb4::quant_type),
                                         attr("training_mode", &MatMulBnb4::training_mode),
                                         attr("transB", &MatMulBnb4::transposed)};
  enum Input : size_t { kA, kB, kScales };

  void check() const {
    require(K > 0 && N > 0 && K <= INT64_MAX / N, ErrorCode::invalid_argument, "K is {}, N {}; both must be positive",
            K, N);
    require(block_size >= 16 && std::has_single_bit(uint64_t(block_size)), ErrorCode::invalid_argument,
            "block_size is {}, expected a power of two from 16 on", block_size);
    require(quant_type == 0 || quant_type == 1, ErrorCode::invalid_argument,
            "quant_type is {}, expected 0 (FP4) or 1 (NF4)", quant_type);
  }

  void infer(InferContext& c) const {
    c.set(0, c.dtype(kA));
    c.set(0, c.dtype(kA), infer_matmul(c.dims(), c.shape(kA), transposed ? Shape{K, N} : Shape{N, K}));
  }
  Cost cost(const CostContext& c) const { return product_cost(c, double(transposed ? K : N)); }

  template <std::same_as<float> T>
  void reference(RunContext& c) const {
    with_product(c, multiply_decoded_reference);
  }
  size_t scratch(const RunContext& c) const {
    return c.dtype(kA) == DType::f32 ? decoded_scratch(size_t(transposed ? K : N), c.parallel().workers()) : 0;
  }
  void fast(RunContext& c, std::type_identity<float>) const {
    with_product(c, [&](const DecodedProduct& p) { multiply_decoded(p, c.scratch(), c.parallel()); });
  }

 private:
  template <typename F>
  void with_product(const RunContext& c, const F& multiply) const {
    const Sizes s = sizes(c);
    const auto column = [&](size_t j, float* to) { decode(c, j, to); };
    multiply({.m = s.rows,
              .n = s.columns,
              .k = s.inner,
              .a = c.input<float>(kA).data(),
              .decode = column,
              .c = c.output<float>().data()});
  }
  struct Sizes {
    size_t rows, columns, inner;
  };
  Sizes sizes(const RunContext& c) const {
    const int64_t count = K * N;
    require(c.shape(kB).rank() >= 1 && c.count(kB) == size_t(count / 2 + count % 2), ErrorCode::invalid_argument,
            "B has shape {}, expected [{}] for K {} and N {}", c.shape(kB), count / 2 + count % 2, K, N);
    require(c.count(kScales) == size_t(ceil_div(count, block_size)), ErrorCode::invalid_argument,
            "absmax has shape {}, expected [{}] for blocks of {}", c.shape(kScales), ceil_div(count, block_size),
            block_size);
    const size_t columns = size_t(transposed ? N : K);
    return {c.out_count() / columns, columns, size_t(transposed ? K : N)};
  }
  // Row j of B, or column j if B is not transposed.
  void decode(const RunContext& c, size_t j, float* to) const {
    const float *table = quant_type == 0 ? kFp4 : kNf4, *scales = c.input<float>(kScales).data();
    const uint8_t* codes = c.input<uint8_t>(kB).data();
    const size_t n = size_t(transposed ? K : N), block = size_t(block_size);
    if (!transposed) {
      for (size_t i = 0, at = j; i < n; ++i, at += size_t(K)) to[i] = table[code_at(codes, at)] * scales[at / block];
      return;
    }
    for (size_t i = 0, count; i < n; i += count) {
      const size_t at = j * n + i;
      count = std::min(n - i, block - at % block);
      float numbers[16];  // of this block: elements are then copies
      for (size_t k = 0; k < 16; ++k) numbers[k] = table[k] * scales[at / block];
      copy_numbers(numbers, codes, at, count, to + i);
    }
  }
  // The first code is in the upper bits.
  static size_t code_at(const uint8_t* codes, size_t at) { return codes[at / 2] >> (at % 2 ? 0 : 4) & 15; }
  static void copy_numbers(const float* numbers, const uint8_t* codes, size_t at, size_t count, float* to) {
    size_t i = 0;
    if (at % 2 && i < count) to[i++] = numbers[code_at(codes, at)];
    const uint8_t* from = codes + (at + i) / 2;
    for (; i + 2 <= count; i += 2, ++from) {
      to[i] = numbers[*from >> 4];
      to[i + 1] = numbers[*from & 15];
    }
    if (i < count) to[i] = numbers[*from >> 4];
  }
};

}  // namespace

extern const OpDef op_matmul_bnb4;
constinit const OpDef op_matmul_bnb4 = define<MatMulBnb4>({
    .name = "MatMulBnb4",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"A: T", "B: uint8", "absmax: T"},
    .outputs = {"Y: T"},
    .types = types({DType::f32, DType::f16, DType::bf16}),
});

}  // namespace retort::ops
