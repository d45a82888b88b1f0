// Shapes of matrix products: batches that broadcast become few products with strides.
#include <algorithm>

#include "products.h"

namespace providers::cuda {
namespace {

// An axis of the batch: its extent, and the elements from an index to the next.
struct Axis {
  int64_t extent = 1, a = 0, b = 0, d = 0;
};

int64_t stride_at(const Side& side, size_t rank, size_t axis) {
  const size_t missing = rank - side.batch.size();
  if (axis < missing || side.batch[axis - missing] == 1) return 0;
  return side.strides[axis - missing];
}

// Axes of one element are left out, and neighbours that can be counted as one are merged.
std::vector<Axis> axes_of(const Side& a, const Side& b, const Dims& batch, const Side* result) {
  std::vector<Axis> axes;
  int64_t d = a.rows * b.columns;
  for (size_t i = batch.size(); i-- > 0;) {
    const Axis axis{batch[i], stride_at(a, batch.size(), i), stride_at(b, batch.size(), i),
                    result ? stride_at(*result, batch.size(), i) : d};
    d *= batch[i];
    if (axis.extent == 1) continue;
    if (!axes.empty()) {
      Axis& inner = axes.back();
      if (axis.a == inner.a * inner.extent && axis.b == inner.b * inner.extent && axis.d == inner.d * inner.extent) {
        inner.extent *= axis.extent;
        continue;
      }
    }
    axes.push_back(axis);
  }
  return axes;  // the innermost first
}

struct Order {
  bool transposed = false;
  int64_t lead = 0;
};
// How cuBLASLt sees a matrix: its rows, or else its columns, are adjacent elements.
std::optional<Order> order_of(const Side& s) {
  if (s.column_step == 1 || (s.columns == 1 && s.row_step != 1)) return Order{false, std::max(s.row_step, s.columns)};
  if (s.row_step == 1 || s.rows == 1) return Order{true, std::max(s.column_step, s.rows)};
  return std::nullopt;
}

}  // namespace

Side side_of(const Dims& dims, bool transposed, bool batch_first) {
  const size_t rank = dims.size();
  Dims steps(rank, 1);
  for (size_t i = rank - 1; i-- > 0;) steps[i] = steps[i + 1] * dims[i + 1];
  const bool moves = batch_first && rank > 2;
  const size_t row = moves ? 0 : rank - 2;
  Side side{{}, {}, dims[row], dims[rank - 1], steps[row], 1};
  for (size_t i = moves ? 1 : 0; i + (moves ? 1 : 2) < rank; ++i) {
    side.batch.push_back(dims[i]);
    side.strides.push_back(steps[i]);
  }
  if (transposed) {
    std::swap(side.rows, side.columns);
    std::swap(side.row_step, side.column_step);
  }
  return side;
}

std::optional<ProductSet> product_set(const Side& a, const Side& b, const Dims& batch, const Side* d) {
  const auto order_a = order_of(a), order_b = order_of(b);
  if (!order_a || !order_b) return std::nullopt;
  ProductSet set;
  Product& p = set.product;
  p.m = a.rows;
  p.n = b.columns;
  p.k = a.columns;
  p.transposed_a = order_a->transposed;
  p.transposed_b = order_b->transposed;
  p.lead.a = order_a->lead;
  p.lead.b = order_b->lead;
  p.lead.d = d ? std::max(d->row_step, b.columns) : b.columns;
  if (std::count(batch.begin(), batch.end(), 0)) {
    p.batch = 0;
    return set;
  }
  std::vector<Axis> axes = axes_of(a, b, batch, d);
  // If all rows of A are evenly spaced and use one B, they are the rows of one matrix.
  while (!axes.empty() && axes[0].b == 0 && axes[0].d == p.m * p.lead.d &&
         (p.m == 1 ? (axes[0].a >= p.k && a.column_step == 1) : (!p.transposed_a && axes[0].a == p.m * p.lead.a))) {
    if (p.m == 1) {
      p.transposed_a = false;
      p.lead.a = axes[0].a;
    }
    p.m *= axes[0].extent;
    axes.erase(axes.begin());
  }
  if (!axes.empty()) {
    const auto widest =
        std::max_element(axes.begin(), axes.end(), [](const Axis& x, const Axis& y) { return x.extent < y.extent; });
    p.batch = widest->extent;
    p.stride.a = widest->a;
    p.stride.b = widest->b;
    p.stride.d = widest->d;
    axes.erase(widest);
  }
  set.begins.assign(1, {});
  for (const Axis& axis : axes) {
    const std::vector<ProductSet::Begin> known = set.begins;
    for (int64_t i = 1; i < axis.extent; ++i)
      for (const auto& k : known) set.begins.push_back({k.a + i * axis.a, k.b + i * axis.b, k.d + i * axis.d});
  }
  return set;
}

}  // namespace providers::cuda
