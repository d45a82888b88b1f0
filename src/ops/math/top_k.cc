// TopK: the k largest (or smallest) elements along an axis and their indices; of equal elements the earlier one comes
// first. NaN counts as larger than every number.
#include <algorithm>
#include <bit>

#include "ops/elementwise.h"
#include "ops/integers.h"

namespace retort::ops {
namespace {

// Elements are sorted by this number, then by index.
struct Ranked {
  uint64_t rank, index;
  bool operator<(const Ranked& o) const { return rank != o.rank ? rank < o.rank : index < o.index; }
};

// Maps values to numbers of the same order: integers offset to unsigned; floats as their bits, which are inverted for
// negative ones. NaN is above every number, and both zeros are equal.
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

// Moves the k smallest to the front, sorted.
void take_first(std::span<Ranked> all, size_t k) {
  if (k < all.size()) std::nth_element(all.begin(), all.begin() + ptrdiff_t(k), all.end());
  std::sort(all.begin(), all.begin() + ptrdiff_t(k));
}

// Replaces the worst of a heap of k in one walk from its front, which takes two thirds of the time of a pop and a push.
void replace_worst(Ranked* best, size_t k, Ranked better) {
  size_t hole = 0;
  for (size_t child = 1; child < k; child = 2 * hole + 1) {
    child += child + 1 < k && best[child] < best[child + 1];
    if (!(better < best[child])) break;
    best[hole] = best[child];
    hole = child;
  }
  best[hole] = better;
}

// The same for few, which are kept sorted: to shift some costs less than a heap.
template <typename Value>
void take_handful(Ranked* best, size_t k, size_t n, bool largest, const Value& value) {
  const auto insert = [&](size_t at, Ranked better) {
    for (; at > 0 && better < best[at - 1]; --at) best[at] = best[at - 1];
    best[at] = better;
  };
  for (size_t i = 0; i < k; ++i) insert(i, {rank_of(value(i), largest), i});
  auto worst = value(best[k - 1].index);
  for (size_t i = k; i < n; ++i) {
    const auto v = value(i);
    if (largest ? v <= worst : v >= worst) continue;  // false for NaN
    const uint64_t rank = rank_of(v, largest);
    if (rank >= best[k - 1].rank) continue;
    insert(k - 1, {rank, i});
    worst = value(best[k - 1].index);
  }
}

// Writes the first k of n elements, sorted, to `best`. For few of many: most elements are not better than the worst of
// the k so far, which is at the front of a heap.
template <typename Value>
void take_few(Ranked* best, size_t k, size_t n, bool largest, const Value& value) {
  for (size_t i = 0; i < k; ++i) best[i] = {rank_of(value(i), largest), i};
  std::make_heap(best, best + k);
  auto worst = value(best->index);
  for (size_t i = k; i < n; ++i) {
    const auto v = value(i);
    if (largest ? v <= worst : v >= worst) continue;  // false for NaN
    const uint64_t rank = rank_of(v, largest);
    if (rank >= best->rank) continue;
    replace_worst(best, k, {rank, i});
    worst = value(best->index);
  }
  std::sort_heap(best, best + k);
}

struct TopK {
  int64_t axis = -1;
  bool largest = true, sorted = true;
  static constexpr std::tuple attributes{attr("axis", &TopK::axis), attr("largest", &TopK::largest),
                                         attr("sorted", &TopK::sorted)};

  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    c.set(1, DType::i64);
    expect_shape_if_given(c, 1, "K", {1});
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
    const size_t n = size_t(x[normalize_axis(axis, x.rank())]), slices = n ? c.count(0) / n : 0;
    return std::min(slices, size_t(c.parallel().workers())) * n * sizeof(Ranked);
  }

  template <typename T>
  requires(!OneOf<T, std::string, bool>) void fast(RunContext& c, std::type_identity<T>) const {
    const Shape& shape = c.shape(0);
    const size_t along = normalize_axis(axis, shape.rank());
    const size_t n = size_t(shape[along]), k = size_t(c.out_shape()[along]);
    const size_t inner = size_t(extent_product(shape, along + 1, shape.rank()));
    const size_t slices = n ? c.count(0) / n : 0;
    const bool few = slices <= size_t(c.parallel().workers());  // each slice has its own memory
    c.parallel().for_each(slices, [&](size_t slice, int worker) {
      Ranked* const order = static_cast<Ranked*>(c.scratch()) + (few ? slice : size_t(worker)) * n;
      const size_t outer = slice / inner, column = slice % inner;
      const T* x = c.input<T>(0).data() + outer * n * inner + column;
      take<T>(order, k, n, [&](size_t i) { return Carrier<T>(x[i * inner]); });
      for (size_t i = 0; i < k; ++i) {
        const size_t to = (outer * k + i) * inner + column;
        if (c.wants(0)) c.output<T>(0)[to] = x[order[i].index * inner];
        if (c.wants(1)) c.output<int64_t>(1)[to] = int64_t(order[i].index);
      }
    });
  }

 private:
  template <typename T, typename Value>
  void take(Ranked* order, size_t k, size_t n, const Value& value) const {
    constexpr size_t kMany = 8, kHandful = 8;
    if constexpr (OneOf<T, float>) {  // of the other types, handfuls are rare
      if (k > 1 && k <= kHandful) return take_handful(order, k, n, largest, value);
    }
    if (k > 0 && k <= n / kMany) return take_few(order, k, n, largest, value);
    for (size_t i = 0; i < n; ++i) order[i] = {rank_of(value(i), largest), i};
    take_first({order, n}, k);
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
