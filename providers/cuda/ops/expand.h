// Operators that become several nodes.
#pragma once
#include "cuda/core/expansion.h"

namespace providers::cuda {

/// The attribute perm of a Transpose that moves the channels to the end, or back.
Dims order_of(size_t rank, bool last);
/// The value with its channels, which are last, as axis 1. Its rank is known.
const Value* channels_first(Expansion& e, const Value* x);
const Value* channels_last(Expansion& e, const Value* x, size_t rank);

// Parts of add_expanded.
void expand_quantized(Kinds& kinds);
void expand_gates(Kinds& kinds);
void expand_float8(Kinds& kinds);
void expand_einsum(Kinds& kinds);  // after add_products
void add_linear_attention(Kinds& kinds);
void add_fourier(Kinds& kinds);
void add_col2im(Kinds& kinds);
void add_cache_rows(Kinds& kinds);
void add_blocked(Kinds& kinds);  // after add_elementwise, whose operators it goes before

}  // namespace providers::cuda
