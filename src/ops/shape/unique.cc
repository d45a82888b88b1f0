// Unique: the distinct elements of the flattened input, or the distinct slices along an axis, sorted or in the order of
// their first appearance; with the places of first appearance, the way back and the counts.
#include <cmath>
#include <numeric>

#include "kernels/elementwise/cast.h"
#include "ops/op.h"
#include "ops/shape/common/element.h"

namespace retort::ops {
namespace {

struct Unique {
  std::optional<int64_t> axis;
  bool sorted = true;
  static constexpr std::tuple attributes{attr("axis", &Unique::axis), attr("sorted", &Unique::sorted)};

  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    for (size_t i : {1, 2, 3}) c.set(i, DType::i64);
    Shape y = c.shape(0);
    const size_t along = axis ? c.axis(*axis, y.rank()) : 0;
    if (!axis) y = Shape{c.dims().product(y)};
    const Dim all = y[along], distinct = c.unknown_extent();
    y[along] = distinct;
    c.set(0, c.dtype(0), y);
    c.set(1, DType::i64, Shape{distinct});
    c.set(2, DType::i64, Shape{all});
    c.set(3, DType::i64, Shape{distinct});
  }

  void run(RunContext& c) const {
    const DType type = c.dtype(0);
    require(kernels::can_cast(type) || type == DType::string, ErrorCode::not_implemented, "elements of type {}",
            dtype_name(type));
    const Slices s = slices(c);
    const Groups g = group(c, s);
    Shape y = c.shape(0);
    if (axis)
      y[normalize_axis(*axis, y.rank())] = int64_t(g.first.size());
    else
      y = Shape{int64_t(g.first.size())};
    write(c, s, g, y);
    const auto list = [&](size_t i, const std::vector<int64_t>& values) {
      if (!c.wants(i)) return;
      void* to = c.allocate(i, DType::i64, Shape{int64_t(values.size())});
      std::copy(values.begin(), values.end(), static_cast<int64_t*>(to));
    };
    list(1, g.first);
    list(2, g.group_of);
    list(3, g.counts);
  }

 private:
  // The input as [outer, count, inner]: slice k is made of the elements [·, k, ·].
  struct Slices {
    size_t outer = 1, count = 0, inner = 1;
    size_t size() const { return outer * inner; }
    size_t at(size_t slice, size_t i) const { return (i / inner * count + slice) * inner + i % inner; }
  };
  struct Groups {
    std::vector<int64_t> first, group_of, counts;
  };

  Slices slices(const RunContext& c) const {
    const Shape& x = c.shape(0);
    if (!axis) return {1, c.count(0), 1};
    const size_t along = normalize_axis(*axis, x.rank());
    return {size_t(extent_product(x, 0, along)), size_t(x[along]), size_t(extent_product(x, along + 1, x.rank()))};
  }

  // -1, 0, 1 by the elements' order; NaN is above all numbers and equal to itself.
  static int compare(const RunContext& c, size_t a, size_t b) {
    const auto order = [](const auto& x, const auto& y) { return int(y < x) - int(x < y); };
    const DType type = c.dtype(0);
    const char* data = static_cast<const char*>(c.data(0));
    const size_t size = dtype_bits(type) / 8;
    const auto load = [&]<typename T>(size_t i, T v) {
      kernels::cast(data + i * size, type, &v, dtype_of<T>, 1, {});
      return v;
    };
    if (type == DType::string) return order(c.input<std::string>(0)[a], c.input<std::string>(0)[b]);
    if (type == DType::u64) return order(load(a, uint64_t(0)), load(b, uint64_t(0)));
    if (!is_float(type)) return order(load(a, int64_t(0)), load(b, int64_t(0)));
    const double x = load(a, 0.0), y = load(b, 0.0);
    return std::isnan(x) || std::isnan(y) ? int(std::isnan(x)) - int(std::isnan(y)) : order(x, y);
  }

  Groups group(const RunContext& c, const Slices& s) const {
    const auto compare_slices = [&](int64_t a, int64_t b) {
      int result = 0;
      for (size_t i = 0; result == 0 && i < s.size(); ++i) result = compare(c, s.at(size_t(a), i), s.at(size_t(b), i));
      return result;
    };
    std::vector<int64_t> order(s.count);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return compare_slices(a, b) < 0; });
    Groups g;
    g.group_of.resize(s.count);
    for (size_t i = 0; i < order.size(); ++i) {
      if (i == 0 || compare_slices(order[i - 1], order[i]) != 0) {
        g.first.push_back(order[i]);  // the sort is stable: the earliest of its kind
        g.counts.push_back(0);
      }
      g.group_of[size_t(order[i])] = int64_t(g.first.size()) - 1;
      ++g.counts.back();
    }
    return sorted ? g : by_appearance(g);
  }

  static Groups by_appearance(const Groups& g) {
    std::vector<size_t> order(g.first.size()), place(g.first.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return g.first[a] < g.first[b]; });
    Groups r;
    for (size_t i = 0; i < order.size(); ++i) {
      place[order[i]] = i;
      r.first.push_back(g.first[order[i]]);
      r.counts.push_back(g.counts[order[i]]);
    }
    for (int64_t old : g.group_of) r.group_of.push_back(int64_t(place[size_t(old)]));
    return r;
  }

  static void write(RunContext& c, const Slices& s, const Groups& g, const Shape& y) {
    void* to = c.allocate(0, c.dtype(0), y);
    const Slices target{s.outer, g.first.size(), s.inner};
    const kernels::Mover& mover = mover_of(c.dtype(0));
    for (size_t k = 0; k < g.first.size(); ++k) {
      for (size_t i = 0; i < s.size(); ++i)
        mover.copy(mover.at(to, ptrdiff_t(target.at(k, i))),
                   mover.at(c.data(0), ptrdiff_t(s.at(size_t(g.first[k]), i))), 1);
    }
  }
};

}  // namespace

extern const OpDef op_unique;
constinit const OpDef op_unique = define<Unique>({
    .name = "Unique",
    .since = {11, 28},
    .inputs = {"X: T"},
    .outputs = {"Y: T", "indices: int64?", "inverse_indices: int64?", "counts: int64?"},
    .traits = kDynamicOutput,
});

}  // namespace retort::ops
