#include "elementwise_loops.h"

#include <algorithm>
#include <numeric>

namespace providers::cuda {
namespace {

// The axes of a tensor from the slowest to the fastest in memory.
std::vector<size_t> order_of(size_t rank, Layout layout) {
  std::vector<size_t> order(rank);
  std::iota(order.begin(), order.end(), size_t(0));
  if (layout == Layout::channels_last && rank > 2) std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return order;
}

// Steps of the operand along the axes of a loop with this many axes.
Dims strides_of(const Operand& operand, size_t rank) {
  Dims strides(rank, 0);
  const size_t missing = rank - operand.rank();
  const auto order = order_of(operand.rank(), operand.layout);
  int64_t step = 1;
  for (size_t i = order.size(); i-- > 0; step *= operand.dims[order[i]])
    if (operand.dims[order[i]] != 1) strides[missing + order[i]] = step;
  return strides;
}

// Whether each operand moves over axes `outer` and `outer + 1` as over one.
bool mergeable(const LoopAxes& axes, size_t outer) {
  return std::all_of(axes.strides.begin(), axes.strides.end(), [&](const Dims& strides) {
    return strides[outer] == strides[outer + 1] * axes.extents[outer + 1];
  });
}

}  // namespace

std::optional<Dims> broadcast_dims(const Dims& a, const Dims& b) {
  const size_t rank = std::max(a.size(), b.size());
  Dims out = padded(a, rank);
  const Dims other = padded(b, rank);
  for (size_t i = 0; i < rank; ++i) {
    if (out[i] != other[i] && out[i] != 1 && other[i] != 1) return std::nullopt;
    if (out[i] == 1) out[i] = other[i];
  }
  return out;
}

Dims padded(const Dims& dims, size_t rank) {
  Dims out(rank > dims.size() ? rank - dims.size() : 0, 1);
  out.insert(out.end(), dims.begin(), dims.end());
  return out;
}

size_t elements_in(const Dims& dims) {
  size_t n = 1;
  for (const int64_t d : dims) n *= size_t(d);
  return n;
}

LoopAxes loop_axes(const Dims& dims, Layout layout, const std::vector<Operand>& operands) {
  LoopAxes axes;
  axes.strides.resize(operands.size());
  std::vector<Dims> all;
  for (const Operand& o : operands) all.push_back(strides_of(o, dims.size()));
  for (const size_t axis : order_of(dims.size(), layout)) {
    if (dims[axis] == 1) continue;
    axes.extents.push_back(dims[axis]);
    for (size_t o = 0; o < all.size(); ++o) axes.strides[o].push_back(all[o][axis]);
  }
  for (size_t outer = axes.extents.size(); outer-- > 0;) {
    if (outer + 1 >= axes.extents.size() || !mergeable(axes, outer)) continue;
    axes.extents[outer] *= axes.extents[outer + 1];
    axes.extents.erase(axes.extents.begin() + int64_t(outer) + 1);
    for (Dims& strides : axes.strides) strides.erase(strides.begin() + int64_t(outer));
  }
  return axes;
}

Access access_of(const LoopAxes& axes, size_t operand) {
  const Dims& strides = axes.strides[operand];
  if (std::all_of(strides.begin(), strides.end(), [](int64_t s) { return s == 0; })) return Access::uniform;
  int64_t step = 1;
  for (size_t i = strides.size(); i-- > 0; step *= axes.extents[i])
    if (strides[i] != step) return Access::each;
  return Access::flat;
}

// The quotient by d of any n < 2^31 is n * magic >> shift, with magic = ceil(2^shift / d) and shift = 31 + log2 of the
// next power of two: n times the error of magic, which is below d, stays below 2^shift.
KernelAxes kernel_axes(const Dims& extents) {
  KernelAxes axes;
  for (size_t i = 0; i < extents.size(); ++i) {
    const auto d = uint64_t(extents[i]);
    uint32_t bits = 0;
    while ((uint64_t(1) << bits) < d) ++bits;
    axes.extent[i] = uint32_t(d);
    if (bits > 31) continue;  // such a loop has indices of 64 bits, which are divided
    axes.shift[i] = 31 + bits;
    axes.magic[i] = uint32_t(((uint64_t(1) << axes.shift[i]) + d - 1) / d);
  }
  return axes;
}

KernelStrides kernel_strides(const Dims& strides) {
  KernelStrides out;
  std::copy(strides.begin(), strides.end(), out.at);
  return out;
}

}  // namespace providers::cuda
