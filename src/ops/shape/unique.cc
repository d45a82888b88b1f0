// Unique: the distinct elements of the flattened input, or the distinct slices along an axis, sorted or in the order of
// their first appearance; also the indices of first appearance, the inverse indices and the counts.
#include <algorithm>
#include <bit>
#include <cmath>
#include <compare>
#include <map>
#include <numeric>

#include "base/function_ref.h"
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
  // The input as [outer, count, inner]: slice k consists of the elements [·, k, ·].
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

  using Keys = std::vector<uint64_t>;
  // The elements slice by slice, as keys that have the same order.
  static Keys by_slices(const Slices& s, FunctionRef<uint64_t(size_t)> key_of) {
    Keys keys(s.count * s.size());
    for (size_t k = 0; k < s.count; ++k) {
      for (size_t i = 0; i < s.size(); ++i) keys[k * s.size() + i] = key_of(s.at(k, i));
    }
    return keys;
  }
  // Maps v to an unsigned number with the same order; NaN is above every number and equal to itself, -0 equals 0.
  static uint64_t ordered(double v) {
    constexpr uint64_t kSign = uint64_t(1) << 63;
    if (std::isnan(v)) return ~uint64_t(0);
    const auto bits = std::bit_cast<uint64_t>(v + 0.0);
    return bits & kSign ? ~bits : bits | kSign;
  }
  static uint64_t ordered(int64_t v) { return uint64_t(v) ^ uint64_t(1) << 63; }
  static uint64_t ordered(uint64_t v) { return v; }

  template <typename Wide>
  static Keys numbers(const RunContext& c, const Slices& s) {
    std::vector<Wide> wide(c.count(0));
    kernels::cast(c.data(0), c.dtype(0), wide.data(), dtype_of<Wide>, wide.size(), c.parallel());
    return by_slices(s, [&](size_t i) { return ordered(wide[i]); });
  }
  static Keys ranks(const RunContext& c, const Slices& s) {
    std::map<std::string_view, uint64_t> rank;
    std::vector<const uint64_t*> found;
    for (const std::string& text : c.input<std::string>(0)) found.push_back(&rank.emplace(text, 0).first->second);
    uint64_t next = 0;
    for (auto& [text, number] : rank) number = next++;
    return by_slices(s, [&](size_t i) { return *found[i]; });
  }

  Groups group(const RunContext& c, const Slices& s) const {
    const DType type = c.dtype(0);
    const Keys keys = type == DType::string ? ranks(c, s)
                      : type == DType::u64  ? numbers<uint64_t>(c, s)
                      : is_float(type)      ? numbers<double>(c, s)
                                            : numbers<int64_t>(c, s);
    // The first key is stored beside the slice's number; if slices are single elements, nothing else is compared.
    const size_t size = s.size();
    using Entry = std::pair<uint64_t, int64_t>;
    const auto order = [&](const Entry& a, const Entry& b) {
      if (a.first != b.first || size <= 1) return a.first <=> b.first;
      const auto *x = &keys[size_t(a.second) * size], *y = &keys[size_t(b.second) * size];
      return std::lexicographical_compare_three_way(x, x + size, y, y + size);
    };
    std::vector<Entry> entries(s.count);
    for (size_t k = 0; k < s.count; ++k) entries[k] = {size ? keys[k * size] : 0, int64_t(k)};
    std::sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) {
      const auto o = order(a, b);
      return std::is_lt(o) || (std::is_eq(o) && a.second < b.second);
    });
    Groups g;
    g.group_of.resize(s.count);
    for (size_t i = 0; i < entries.size(); ++i) {
      if (i == 0 || std::is_neq(order(entries[i - 1], entries[i]))) {
        g.first.push_back(entries[i].second);  // the earliest of equal slices
        g.counts.push_back(0);
      }
      g.group_of[size_t(entries[i].second)] = int64_t(g.first.size()) - 1;
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
