// TopK: the k largest (or smallest) elements along an axis and their places; of equal elements the earlier one comes
// first. NaN counts as larger than every number.
#include <algorithm>
#include <bit>

#include "ops/elementwise.h"
#include "ops/integers.h"

namespace retort::ops {
namespace {

// Elements sort by this number, then by place.
struct Ranked {
  uint64_t rank, index;
  bool operator<(const Ranked& o) const { return rank != o.rank ? rank < o.rank : index < o.index; }
};

// Numbers in the order of the values: integers offset to unsigned; floats as their bits, those of negative ones
// inverted. NaN is above all, both zeros are one.
template <typename T>
uint64_t rank_of(T v, bool largest_first) {
  uint64_t rank = 0;
  if constexpr (std::floating_point<T>) {
    const uint64_t bits = std::bit_cast<uint64_t>(double(v == 0 ? T(0) : v)), sign = uint64_t(1) << 63;
    rank = v != v ? ~uint64_t(0) : bits & sign ? ~bits : bits | sign;
  } else {
    rank = uint64_t(v) ^ (std::signed_integral<T> ? uint64_t(1) << 63 : 0);
  }
  return largest_first ? ~rank : rank;
}

// The k smallest, sorted, to the front.
void take_first(std::span<Ranked> all, size_t k) {
  if (k < all.size()) std::nth_element(all.begin(), all.begin() + ptrdiff_t(k), all.end());
  std::sort(all.begin(), all.begin() + ptrdiff_t(k));
}

struct TopK {
  int64_t axis = -1;
  bool largest = true, sorted = true;
  static constexpr std::tuple attributes{attr("axis", &TopK::axis), attr("largest", &TopK::largest),
                                         attr("sorted", &TopK::sorted)};

  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    c.set(1, DType::i64);
    Shape y = c.shape(0);
    const size_t along = c.axis(axis, y.rank());
    const Dim extent = y[along];
    const bool told = c.try_value(1).has_value();
    const Dim k = told ? scalar_value(c, 1) : c.unknown_extent();
    if (is_known(k) && is_known(extent)) {
      require(k >= 0 && k <= extent, ErrorCode::invalid_argument, "K is {}, axis {} has {} elements", k, along, extent);
    }
    y[along] = k;
    c.set(0, c.dtype(0), y);
    c.set(1, DType::i64, y);
    if (!told) throw NotYetKnown{};
  }

  size_t scratch(const RunContext& c) const {
    const Shape& x = c.shape(0);
    return size_t(x[normalize_axis(axis, x.rank())]) * sizeof(Ranked);
  }

  template <typename T>
  requires(!OneOf<T, std::string, bool>) void fast(RunContext& c, std::type_identity<T>) const {
    const Shape& shape = c.shape(0);
    const size_t along = normalize_axis(axis, shape.rank());
    const size_t n = size_t(shape[along]), k = size_t(c.out_shape()[along]);
    const size_t inner = size_t(extent_product(shape, along + 1, shape.rank()));
    const size_t slices = n ? c.count(0) / n : 0;
    Ranked* order = static_cast<Ranked*>(c.scratch());
    for (size_t s = 0; s < slices && !c.parallel().cancelled(); ++s) {
      const T* x = c.input<T>(0).data() + s / inner * n * inner + s % inner;
      for (size_t i = 0; i < n; ++i) order[i] = {rank_of(Carrier<T>(x[i * inner]), largest), i};
      take_first({order, n}, k);
      for (size_t i = 0; i < k; ++i) {
        const size_t to = s / inner * k * inner + i * inner + s % inner;
        if (c.wants(0)) c.output<T>(0)[to] = x[order[i].index * inner];
        if (c.wants(1)) c.output<int64_t>(1)[to] = int64_t(order[i].index);
      }
    }
  }
};

}  // namespace

extern const OpDef op_top_k;
constinit const OpDef op_top_k = define<TopK>({
    .name = "TopK",
    .since = {1, 10, 11, 24},
    .inputs = {"X: T", "K: int64"},
    .outputs = {"Values: T", "Indices: int64"},
    .types = kNumeric,
});

}  // namespace retort::ops
