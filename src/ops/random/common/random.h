// Random numbers: the first run of every session draws the same ones for the same seed, and each later run draws
// others.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <numbers>
#include <random>
#include <span>

#include "kernels/elementwise/unary.h"
#include "ops/nn/common/load.h"
#include "ops/op.h"

namespace retort::ops {

/// A hashed counter (splitmix64); number i does not depend on earlier ones.
class RandomNumbers {
 public:
  explicit RandomNumbers(uint64_t key) : key_(key) {}
  uint64_t bits(uint64_t i) const {
    uint64_t z = key_ + (i + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// In [0, 1).
  double uniform(uint64_t i) const { return double(bits(i) >> 11) * 0x1p-53; }
  /// Mean 0, variance 1 (Box-Muller). Never inlined: otherwise each type of output would have its own copy.
  [[gnu::noinline]] double normal(uint64_t i) const {
    const double radius = std::sqrt(-2 * std::log(1 - uniform(2 * i)));
    return radius * std::cos(2 * std::numbers::pi * uniform(2 * i + 1));
  }

 private:
  uint64_t key_;
};

/// Shared by random operators: the attribute `seed`, and a State that counts runs.
template <typename Seed>
struct RandomOp {
  std::optional<Seed> seed;

  struct Source : State {
    explicit Source(uint64_t first) : key(first) {}
    const uint64_t key;
    mutable std::atomic<uint64_t> runs = 0;
  };
  uint64_t key() const {
    if (!seed) return uint64_t(std::random_device()()) << 32 | std::random_device()();
    if constexpr (std::is_same_v<Seed, float>)
      return std::bit_cast<uint32_t>(*seed);
    else
      return uint64_t(*seed);
  }
  std::unique_ptr<State> prepare(PrepareContext&) const { return std::make_unique<Source>(key()); }
  /// The numbers of this run.
  RandomNumbers numbers(const RunContext& c) const {
    const auto* s = c.state<Source>();
    const RandomNumbers first(s ? s->key : key());
    return RandomNumbers(first.bits(s ? s->runs.fetch_add(1) : 0));
  }
};

/// The type of output 0: the one that `dtype` names, otherwise that of input 0.
inline DType random_type(const InferContext& c, std::optional<DType> dtype) {
  const DType type = dtype ? *dtype : c.dtype(0);
  require(contains(kFloats, type), ErrorCode::invalid_argument, "there are no random numbers of type {}",
          dtype_name(type));
  return type;
}

/// Numbers around `mean` with standard deviation `scale`.
struct NormalDistribution {
  float mean = 0, scale = 1;
  static constexpr std::tuple attributes{attr("mean", &NormalDistribution::mean),
                                         attr("scale", &NormalDistribution::scale)};
  double draw(const RandomNumbers& n, uint64_t i) const { return mean + scale * n.normal(i); }
  /// For floats: computes two numbers from each pair of uniform ones.
  void fill(const RandomNumbers& n, std::span<float> y) const {
    constexpr size_t kPairs = 256;
    std::array<float, kPairs> radius, angle, sine;
    for (size_t first = 0; first < y.size(); first += 2 * kPairs) {
      const size_t rest = y.size() - first, pairs = std::min(kPairs, (rest + 1) / 2);
      for (size_t i = 0; i < pairs; ++i) {
        radius[i] = float(1 - n.uniform(first + 2 * i));
        angle[i] = float(2 * std::numbers::pi * n.uniform(first + 2 * i + 1));
      }
      kernels::unary({kernels::Unary::Kind::log}, radius, radius, {});
      kernels::unary({kernels::Unary::Kind::sin}, angle, sine, {});
      kernels::unary({kernels::Unary::Kind::cos}, angle, angle, {});
      for (size_t i = 0; i < pairs; ++i) {
        const float r = scale * std::sqrt(-2 * radius[i]);
        y[first + i] = mean + r * angle[i];
        if (pairs + i < rest) y[first + pairs + i] = mean + r * sine[i];
      }
    }
  }
};

/// Numbers uniformly distributed over [low, high).
struct UniformDistribution {
  float low = 0, high = 1;
  static constexpr std::tuple attributes{attr("low", &UniformDistribution::low),
                                         attr("high", &UniformDistribution::high)};
  double draw(const RandomNumbers& n, uint64_t i) const { return low + (high - low) * n.uniform(i); }
};

template <typename Distribution>
struct RandomFill : RandomOp<float>, Distribution {
  static constexpr auto attributes =
      std::tuple_cat(Distribution::attributes, std::tuple{attr("seed", &RandomFill::seed)});

  Cost cost(const CostContext& c) const { return {.operations = c.out_count()}; }

  void run(RunContext& c) const {
    const RandomNumbers n = numbers(c);
    if constexpr (requires { Distribution::fill(n, c.output<float>()); }) {
      if (c.out_dtype() == DType::f32) return Distribution::fill(n, c.output<float>());
    }
    fill_floats(c, 0, [&](size_t i) { return Distribution::draw(n, i); });
  }
};

/// A tensor whose shape is an attribute.
template <typename Distribution>
struct RandomOfShape : RandomFill<Distribution> {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  static constexpr auto attributes =
      std::tuple_cat(RandomFill<Distribution>::attributes,
                     std::tuple{attr("dtype", &RandomOfShape::dtype), required("shape", &RandomOfShape::shape)});

  void infer(InferContext& c) const {
    element_count(shape);
    c.set(0, random_type(c, dtype), Shape(shape));
  }
};

/// A tensor with the shape of the input, and with its type unless `dtype` names another.
template <typename Distribution>
struct RandomLike : RandomFill<Distribution> {
  std::optional<DType> dtype;
  static constexpr auto attributes =
      std::tuple_cat(RandomFill<Distribution>::attributes, std::tuple{attr("dtype", &RandomLike::dtype)});

  void infer(InferContext& c) const {
    const DType type = random_type(c, dtype);
    c.set(0, type);
    c.set(0, type, c.shape(0));
  }
};

}  // namespace retort::ops
