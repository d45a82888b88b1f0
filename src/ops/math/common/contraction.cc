#include "ops/math/common/contraction.h"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/checked.h"
#include "kernels/elementwise/binary.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_wide.h"
#include "kernels/reduce/reduce.h"
#include "ops/nn/common/matrix.h"
#include "ops/shape/common/strided.h"

namespace retort::ops {
namespace {

bool has(LabelSet set, size_t label) { return set >> label & 1; }

LabelList filtered(const LabelList& list, LabelSet set) {
  LabelList some;
  for (const size_t l : list) {
    if (has(set, l)) some.push(l);
  }
  return some;
}

LabelList joined(std::initializer_list<LabelList> lists) {
  LabelList all;
  for (const LabelList& list : lists) {
    for (const size_t l : list) all.push(l);
  }
  return all;
}

/// Calls f with the address of elements of the type.
template <typename F>
void with_type(DType type, const void* y, const F& f) {
  void* const to = const_cast<void*>(y);
  type == DType::f64 ? f(static_cast<double*>(to)) : f(static_cast<float*>(to));
}

}  // namespace

LabelSet LabelList::set() const {
  LabelSet all = 0;
  for (const size_t l : *this) all |= LabelSet(1) << l;
  return all;
}

// The labels of a product: in both factors and kept, in both and summed over, in the left or the right factor alone.
struct Contraction::Groups {
  LabelList batch, inner, left, right;
};

int64_t Contraction::extent(const LabelList& list) const {
  int64_t product = 1;
  for (const size_t l : list) product *= extents_[l];
  return product;
}

// Orders labels as the elements lie in memory, outermost first.
LabelList Contraction::natural_order(const Labelled& x, LabelSet of) const {
  LabelList order;
  for (size_t l = 0; l < kMostLabels; ++l) {
    if (has(of, l)) order.push(l);
  }
  std::stable_sort(order.at.begin(), order.at.begin() + order.count,
                   [&](size_t a, size_t b) { return x.strides[a] > x.strides[b]; });
  return order;
}

bool Contraction::is_dense(const Labelled& x, const LabelList& order) const {
  int64_t stride = 1;
  for (size_t i = order.count; i-- > 0; stride *= extents_[order.at[i]]) {
    if (x.strides[order.at[i]] != stride) return false;
  }
  return true;
}

// A new dense tensor in scratch, not written yet.
Labelled Contraction::fresh(const LabelList& order) {
  Labelled y;
  y.data = free_space();
  y.labels = order.set();
  size_t stride = 1;
  for (size_t i = order.count; i-- > 0;) {
    y.strides[order.at[i]] = int64_t(stride);
    stride = checked_mul(stride, size_t(extents_[order.at[i]]), "elements of an intermediate product");
  }
  used_ = checked_add(used_, round_up(stride, size_t(16)), "elements of intermediate products");
  return y;
}

// The tensor for the result of a step: the output for the last step, otherwise a fresh one.
Labelled Contraction::result(const LabelList& order) {
  if (!last_ || !(order == output_)) return fresh(order);
  const size_t used = used_;
  Labelled y = fresh(order);
  used_ = used;
  y.data = space_.output;
  return y;
}

Labelled Contraction::dense(const Labelled& x, const LabelList& order) {
  if (is_dense(x, order)) return x;
  const Labelled y = fresh(order);
  store(x, order, const_cast<void*>(y.data));
  return y;
}

void Contraction::store(const Labelled& x, const LabelList& order, void* y) {
  if (space_.rehearsal || x.data == y) return;
  StridedBox box;
  int64_t stride = extent(order);
  for (const size_t l : order) {
    stride /= std::max<int64_t>(extents_[l], 1);
    box.push(extents_[l], x.strides[l], stride);
  }
  copy_box(box, space_.type, x.data, y, parallel_);
}

Labelled Contraction::sum(const Labelled& x, LabelSet keep) {
  if ((x.labels & ~keep) == 0) return x;
  const LabelList natural = natural_order(x, x.labels);
  const Labelled from = dense(x, natural);
  const Labelled y = result(filtered(natural, keep));
  std::array<int64_t, kMostLabels> shape{}, axes{};
  size_t summed = 0;
  for (size_t i = 0; i < natural.count; ++i) {
    shape[i] = extents_[natural.at[i]];
    if (!has(keep, natural.at[i])) axes[summed++] = int64_t(i);
  }
  const auto plan = kernels::ReducePlan::make(std::span(shape.data(), natural.count), std::span(axes.data(), summed));
  require(plan.has_value(), ErrorCode::not_implemented, "sums over {} of {} labels are not supported", summed,
          natural.count);
  if (!space_.rehearsal) {
    with_type(space_.type, y.data, [&]<typename T>(T* to) {
      kernels::reduce(kernels::Reduce::sum, static_cast<const T*>(from.data), to, *plan, parallel_);
    });
  }
  return y;
}

double Contraction::size(LabelSet labels) const {
  double product = 1;
  for (size_t l = 0; l < kMostLabels; ++l) product *= has(labels, l) ? double(extents_[l]) : 1;
  return product;
}

// The number of elements that a product of two factors adds to those in memory.
double Contraction::weight(const Labelled& x, const Labelled& y, LabelSet keep) const {
  return size((x.labels | y.labels) & keep) - size(x.labels) - size(y.labels);
}

void Contraction::run(std::span<Labelled> factors) {
  const auto kept_beside = [&](size_t i, size_t j) {
    LabelSet keep = output_.set();
    for (size_t k = 0; k < factors.size(); ++k) keep |= k != i && k != j ? factors[k].labels : 0;
    return keep;
  };
  while (factors.size() > 1) {
    size_t first = 0, second = 1;
    double least = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i + 1 < factors.size(); ++i) {
      for (size_t j = i + 1; j < factors.size(); ++j) {
        const double w = weight(factors[i], factors[j], kept_beside(i, j));
        if (w < least) least = w, first = i, second = j;
      }
    }
    last_ = factors.size() == 2;
    factors[first] = product(factors[first], factors[second], kept_beside(first, second));
    std::move(factors.begin() + ptrdiff_t(second) + 1, factors.end(), factors.begin() + ptrdiff_t(second));
    factors = factors.first(factors.size() - 1);
  }
  last_ = true;
  store(sum(factors[0], output_.set()), output_, space_.output);
}

// Multiplies two factors. Rows of the result are the left factor's labels, and the right factor's are innermost.
Labelled Contraction::product(Labelled x, Labelled y, LabelSet keep) {
  const bool last = std::exchange(last_, false);
  x = sum(x, keep | y.labels);
  y = sum(y, keep | x.labels);
  last_ = last;
  const LabelSet both = x.labels & y.labels, all = (x.labels | y.labels) & keep;
  LabelList wanted = filtered(output_, all);  // then the labels that only later factors need
  for (const size_t l : natural_order(x, x.labels & all & ~wanted.set())) wanted.push(l);
  for (const size_t l : natural_order(y, y.labels & all & ~wanted.set())) wanted.push(l);
  if ((both & ~keep) == 0) return multiply_elements(x, y, wanted);
  Groups g;
  g.batch = filtered(wanted, both);
  g.left = filtered(wanted, x.labels & ~both);
  g.right = filtered(wanted, y.labels & ~both);
  const bool vector = g.left.count == 0 || g.right.count == 0;
  if (vector ? g.left.count == 0 : has(g.left.set(), wanted.at[wanted.count - 1])) {
    std::swap(x, y);
    std::swap(g.left, g.right);
  }
  g.inner = natural_order(x, both & ~keep);
  return vector ? multiply_vectors(x, y, g) : multiply_matrices(x, y, g);
}

Labelled Contraction::multiply_elements(const Labelled& x, const Labelled& y, const LabelList& order) {
  const auto runs = [&](const Labelled& f) { return order.count == 0 || f.strides[order.at[order.count - 1]] <= 1; };
  const Labelled a = runs(x) ? x : dense(x, filtered(order, x.labels));
  const Labelled b = runs(y) ? y : dense(y, filtered(order, y.labels));
  const Labelled to = result(order);
  kernels::BroadcastPlan<2> plan;
  plan.rank = std::max<size_t>(order.count, 1);
  plan.count = size_t(extent(order));
  for (size_t i = 0; i < order.count; ++i) {
    plan.extents[i] = size_t(extents_[order.at[i]]);
    plan.strides[0][i] = size_t(a.strides[order.at[i]]);
    plan.strides[1][i] = size_t(b.strides[order.at[i]]);
  }
  if (!space_.rehearsal) {
    with_type(space_.type, to.data, [&]<typename T>(T* y) {
      kernels::binary(kernels::Binary::mul, static_cast<const T*>(a.data), static_cast<const T*>(b.data), y, plan,
                      parallel_);
    });
  }
  return to;
}

// For each batch, multiplies a matrix x [left, inner] by a vector y [inner].
Labelled Contraction::multiply_vectors(const Labelled& x, const Labelled& y, const Groups& g) {
  constexpr size_t kRows = 64;  // per task
  const Labelled a = dense(x, joined({g.batch, g.left, g.inner})), b = dense(y, joined({g.batch, g.inner}));
  const Labelled to = result(joined({g.batch, g.left}));
  const size_t batch = size_t(extent(g.batch)), rows = size_t(extent(g.left)), inner = size_t(extent(g.inner));
  const size_t blocks = ceil_div(rows, kRows);
  if (space_.rehearsal) return to;
  const auto part = [&]<typename T>(T* c, size_t i, size_t first) {
    const T* const m = static_cast<const T*>(a.data) + (i * rows + first) * inner;
    const T* const v = static_cast<const T*>(b.data) + i * inner;
    const size_t n = std::min(kRows, rows - first);
    if constexpr (std::is_same_v<T, double>)
      kernels::gemv_wide(kernels::WideType::f64, {.m = n, .k = inner, .a = m, .a_row = inner, .x = v, .c = c}, {});
    else
      kernels::gemv_rows({.n = n, .k = inner, .x = v, .b = m, .b_stride = inner, .y = c});
  };
  parallel_.for_each(batch * blocks, [&](size_t task, int) {
    const size_t i = task / blocks, first = task % blocks * kRows;
    with_type(space_.type, to.data, [&](auto* c) { part(c + i * rows + first, i, first); });
  });
  return to;
}

Labelled Contraction::multiply_wide_matrices(const Labelled& a, const Labelled& b, const Labelled& to,
                                             const MatMulShape& shape, bool transposed) {
  void* const space = free_space();
  used_ += round_up(wide_scratch(DType::f64, shape, false) / sizeof(double), size_t(16));
  if (space_.rehearsal) return to;
  multiply_wide({.shape = shape,
                 .a = a.data,
                 .b = b.data,
                 .a_strides = {shape.k, 1},
                 .b_strides = transposed ? Strides{1, shape.k} : Strides{shape.n, 1},
                 .c = const_cast<void*>(to.data)},
                space, parallel_);
  return to;
}

Labelled Contraction::multiply_matrices(const Labelled& x, const Labelled& y, const Groups& g) {
  Product p;
  p.shape.m = size_t(extent(g.left));
  p.shape.n = size_t(extent(g.right));
  p.shape.k = size_t(extent(g.inner));
  p.shape.batch = size_t(extent(g.batch));
  p.shape.batch_shape = p.shape.a_batch = p.shape.b_batch = {extent(g.batch)};
  p.shape.a_size = p.shape.m * p.shape.k;
  p.shape.b_size = p.shape.k * p.shape.n;
  const LabelList columns = joined({g.batch, g.right, g.inner}), rows = joined({g.batch, g.inner, g.right});
  const bool transposed = is_dense(y, columns);
  const Labelled a = dense(x, joined({g.batch, g.left, g.inner})), b = transposed ? y : dense(y, rows);
  p.b_strides = transposed ? Strides{1, p.shape.k} : Strides{p.shape.n, 1};
  const Labelled to = result(joined({g.batch, g.left, g.right}));
  if (space_.type == DType::f64) return multiply_wide_matrices(a, b, to, p.shape, transposed);
  void* const space = free_space();
  used_ += round_up(multiply_scratch(p.shape, nullptr, parallel_.workers()) / sizeof(float), size_t(16));
  if (!space_.rehearsal) {
    p.a = static_cast<const float*>(a.data);
    p.b = static_cast<const float*>(b.data);
    p.c = static_cast<float*>(const_cast<void*>(to.data));
    multiply(p, space, parallel_);
  }
  return to;
}

}  // namespace retort::ops
