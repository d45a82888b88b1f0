// com.microsoft.MatMulFpQ4: A · B, where the columns of B [K, N] are stored one after the other in blocks of 32 or 64
// elements: a float32 as scale, in some types a byte as zero point, then codes of 4 bits.
#include <cstring>

#include "ops/nn/common/matrix.h"
#include "ops/quant/common/codes.h"
#include "ops/quant/common/decoded_product.h"

namespace retort::ops {
namespace {

struct MatMulFpQ4 {
  int64_t type = 1;
  static constexpr std::tuple attributes{attr("blk_quant_type", &MatMulFpQ4::type)};
  enum Input : size_t { kA, kB, kShape };
  static constexpr size_t kUnit = 32;  // elements, of which byte i holds i and i + 16

  void check() const {
    require(type >= 0 && type <= 2, ErrorCode::invalid_argument,
            "blk_quant_type is {}, expected 0 (blocks of 32), 1 (with a zero point) or 2 (of 64)", type);
  }

  void infer(InferContext& c) const {
    c.set(0, DType::f32);
    expect_rank(c, kB, 1);
    expect_shape_if_given(c, kShape, "B_shape", {2});
    const auto shape = c.value(kShape);
    require(shape.size() == 2, ErrorCode::invalid_argument, "B_shape has {} elements, expected [K, N]", shape.size());
    for (const Dim d : shape)
      require(!is_known(d) || d >= 0, ErrorCode::invalid_argument, "B_shape holds {}, a negative extent", d);
    c.set(0, DType::f32, infer_matmul(c.dims(), c.shape(kA), {shape[0], shape[1]}));
  }
  Cost cost(const CostContext& c) const { return product_cost(c, c.extent(kA, -1)); }

  template <std::same_as<float> T>
  void reference(RunContext& c) const {
    with_product(c, multiply_decoded_reference);
  }
  size_t scratch(const RunContext& c) const {
    return c.shape(kA).empty() ? 0 : decoded_scratch(size_t(c.shape(kA).back()), c.parallel().workers());
  }
  void fast(RunContext& c, std::type_identity<float>) const {
    with_product(c, [&](const DecodedProduct& p) { multiply_decoded(p, c.scratch(), c.parallel()); });
  }

 private:
  template <typename F>
  void with_product(const RunContext& c, const F& multiply) const {
    const Sizes s = sizes(c);
    const auto column = [&](size_t j, float* to) { decode(c, s, j, to); };
    multiply({.m = s.m,
              .n = s.n,
              .k = s.k,
              .a = c.input<float>(kA).data(),
              .decode = column,
              .c = c.output<float>().data()});
  }
  struct Sizes {
    size_t m, n, k, block, blocks, bytes;
  };
  Sizes sizes(const RunContext& c) const {
    const auto shape = c.input<int64_t>(kShape);
    Sizes s{.m = 0, .n = size_t(shape[1]), .k = size_t(shape[0]), .block = type == 2 ? 2 * kUnit : kUnit};
    s.m = s.n ? c.out_count() / s.n : 0;
    s.blocks = ceil_div(s.k, s.block);
    s.bytes = sizeof(float) + (type == 1 ? 1 : 0) + s.block / 2;
    const size_t wanted = checked_mul(checked_mul(s.blocks, s.bytes, "B"), s.n, "B");
    require(c.count(kB) == wanted, ErrorCode::invalid_argument,
            "B has {} bytes, expected {} for [{}, {}] and blk_quant_type {}", c.count(kB), wanted, s.k, s.n, type);
    return s;
  }
  void decode(const RunContext& c, const Sizes& s, size_t column, float* to) const {
    const uint8_t* from = c.input<uint8_t>(kB).data() + column * s.blocks * s.bytes;
    for (size_t first = 0; first < s.k; first += s.block, from += s.bytes) {
      float scale;
      std::memcpy(&scale, from, sizeof scale);
      const int zero = type == 1 ? from[sizeof scale] : 8;
      const uint8_t* codes = from + s.bytes - s.block / 2;
      for (size_t i = 0; i < std::min(s.block, s.k - first); ++i) {
        const uint8_t byte = codes[i / kUnit * (kUnit / 2) + i % (kUnit / 2)];
        to[first + i] = float((i % kUnit < kUnit / 2 ? byte & 15 : byte >> 4) - zero) * scale;
      }
    }
  }
};

}  // namespace

extern const OpDef op_matmul_fp_q4;
constinit const OpDef op_matmul_fp_q4 = define<MatMulFpQ4>({
    .name = "MatMulFpQ4",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"A: T", "B: uint8", "B_shape: int64"},
    .outputs = {"Y: T"},
    .types = types({DType::f32}),
});

}  // namespace retort::ops
