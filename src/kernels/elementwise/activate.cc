#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/activate.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/elementwise/blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

using D = hn::ScalableTag<float>;
constexpr size_t kLanes = hn::MaxLanes(D()), kBlock = 4 * kLanes;

/// Blocks of neighbours.
VectorBlocks run_of(size_t rows, size_t row_step, size_t count) {
  return {rows, row_step, count, kBlock, kLanes, 2 * kLanes, 3 * kLanes};
}

/// Less than a vector, as four equal ones: what is computed four times takes less time than 4 vectors of zeros.
void run_few(const BoundFunction& f, const float* x, float* y, size_t n) {
  const D d;
  HWY_ALIGN float buffer[kLanes];
  hn::Store(LoadFirst(d, x, n), d, buffer);
  f.run(f.a, f.b, buffer, buffer, {1, 0, 1, 0, 0, 0, 0});
  StoreFirst(d, hn::Load(d, buffer), y, n);
}

/// A block of up to four rows of less than a vector.
void run_narrow(const BoundFunction& f, const float* x, float* y, size_t rows, size_t columns, size_t stride) {
  const D d;
  HWY_ALIGN float buffer[kBlock] = {};
  for (size_t r = 0; r < rows; ++r) hn::Store(LoadFirst(d, x + r * stride, columns), d, buffer + r * kLanes);
  f.run(f.a, f.b, buffer, buffer, run_of(1, 0, 1));
  for (size_t r = 0; r < rows; ++r) StoreFirst(d, hn::Load(d, buffer + r * kLanes), y + r * stride, columns);
}

/// Rows of one or two vectors: four or two rows are a block.
void run_together(const BoundFunction& f, float* rows, size_t count, size_t vectors, size_t stride) {
  const size_t together = 4 / vectors;
  const auto run = [&](float* first, size_t blocks, size_t last) {
    VectorBlocks b{1, 0, blocks, together * stride, kLanes, last * stride, last * stride + kLanes};
    if (vectors == 1) {
      b.second = std::min<size_t>(1, last) * stride;
      b.third = std::min<size_t>(2, last) * stride;
      b.fourth = last * stride;
    }
    f.run(f.a, f.b, first, first, b);
  };
  const size_t whole = count / together, left = count % together;
  if (whole > 0) run(rows, whole, together - 1);
  if (left > 0) run(rows + whole * together * stride, 1, left - 1);
}

}  // namespace

void BoundFunction::operator()(const float* x, float* y, size_t n) const noexcept {
  const size_t whole = n / kBlock, left = n % kBlock;
  if (whole > 0) run(a, b, x, y, run_of(1, 0, whole));
  if (left == 0) return;
  x += n - left;
  y += n - left;
  if (left < kLanes) return run_few(*this, x, y, left);
  // The last vectors of this block overlap; all are loaded before one is stored.
  const size_t last = left - kLanes;
  run(a, b, x, y, {1, 0, 1, 0, std::min(kLanes, last), std::min(2 * kLanes, last), last});
}

BoundFunction function_of(const Activation& activation) noexcept {
  using enum Activation::Kind;
  constexpr auto kFunctions = []<size_t... I>(std::index_sequence<I...>) {
    return std::array{&run_blocks<ActivationOp<Activation::Kind(I)>>...};
  }
  (std::make_index_sequence<size_t(hard_swish) + 1>());
  return {kFunctions[size_t(activation.kind)], activation.a, activation.b};
}

void activate_rows(const Activation& activation, float* rows, size_t count, size_t columns, size_t stride) noexcept {
  if (count == 0) return;
  const BoundFunction f = function_of(activation);
  if (columns == stride) return f(rows, rows, count * columns);
  const size_t blocks = columns / kBlock;
  if (blocks > 0) f.run(f.a, f.b, rows, rows, run_of(count, stride, blocks));
  rows += blocks * kBlock;
  size_t left = columns % kBlock;
  for (const size_t vectors : {2, 1}) {
    if (left < vectors * kLanes) continue;
    run_together(f, rows, count, vectors, stride);
    rows += vectors * kLanes;
    left -= vectors * kLanes;
  }
  for (size_t r = 0; left > 0 && r < count; r += 4) {
    run_narrow(f, rows + r * stride, rows + r * stride, std::min<size_t>(4, count - r), left, stride);
  }
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
