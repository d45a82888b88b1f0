#include "expand.h"

#include <algorithm>
#include <numeric>

namespace providers::cuda {

Dims order_of(size_t rank, bool last) {
  Dims order(rank);
  std::iota(order.begin(), order.end(), int64_t(0));
  if (rank < 3) return order;
  if (last)
    std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  else
    std::rotate(order.begin() + 1, order.end() - 1, order.end());
  return order;
}

const Value* channels_first(Expansion& e, const Value* x) {
  const Dims order = order_of(x->rank(), false);
  Value turned;
  turned.has_rank = true;
  for (const int64_t axis : order) turned.dims.push_back(x->dims[size_t(axis)]);
  return e.add({"Transpose"}, {x}, x->type, &turned, {{"perm", order}});
}

const Value* channels_last(Expansion& e, const Value* x, size_t rank) {
  return e.add({"Transpose"}, {x}, x->type, nullptr, {{"perm", order_of(rank, true)}});
}

void add_expanded(Kinds& kinds) {
  expand_quantized(kinds);
  expand_gates(kinds);
  expand_float8(kinds);
  expand_einsum(kinds);
  add_linear_attention(kinds);
  add_fourier(kinds);
  add_col2im(kinds);
  add_cache_rows(kinds);
  add_blocked(kinds);
}

}  // namespace providers::cuda
