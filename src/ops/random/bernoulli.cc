// Bernoulli: 1 with the probability that the input gives, 0 otherwise.
#include "kernels/elementwise/cast.h"
#include "ops/elementwise.h"
#include "ops/random/common/random.h"

namespace retort::ops {
namespace {

struct Bernoulli : RandomOp<float> {
  std::optional<DType> dtype;
  static constexpr std::tuple attributes{attr("dtype", &Bernoulli::dtype), attr("seed", &Bernoulli::seed)};

  void infer(InferContext& c) const {
    const DType type = dtype.value_or(c.dtype(0));
    require(contains(kNumeric | kBool, type), ErrorCode::invalid_argument, "dtype is {}, expected a numeric type",
            dtype_name(type));
    c.set(0, type);
    c.set(0, type, c.shape(0));
  }
  Cost cost(const CostContext& c) const { return {.operations = c.out_count()}; }
  void run(RunContext& c) const {
    const RandomNumbers n = numbers(c);
    require(contains(kFloats, c.dtype(0)), ErrorCode::invalid_argument,
            "the probabilities are of type {}; cast them to a float type", dtype_name(c.dtype(0)));
    const size_t in = dtype_bits(c.dtype(0)) / 8, out = dtype_bits(c.out_dtype()) / 8;
    const auto* const x = static_cast<const std::byte*>(c.data(0));
    auto* const to = static_cast<std::byte*>(c.out_data());
    for_output_chunks(c, [&](size_t begin, size_t end) {
      constexpr size_t kBlock = 256;
      double p[kBlock];
      uint8_t y[kBlock];
      for (size_t first = begin; first < end; first += kBlock) {
        const size_t count = std::min(kBlock, end - first);
        kernels::cast(x + first * in, c.dtype(0), p, DType::f64, count, {});
        for (size_t i = 0; i < count; ++i) y[i] = n.uniform(first + i) < p[i];
        kernels::cast(y, DType::u8, to + first * out, c.out_dtype(), count, {});
      }
    });
  }
};

}  // namespace

extern const OpDef op_bernoulli;
constinit const OpDef op_bernoulli = define<Bernoulli>({
    .name = "Bernoulli",
    .since = {15, 22},
    .inputs = {"input: T1"},
    .outputs = {"output: T2"},
    .traits = kRandom,
});

}  // namespace retort::ops
