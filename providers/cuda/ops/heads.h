// Steps that move heads before an attention: bias, norm, rotation by positions, and caches of keys and values.
#pragma once
#include "attention.h"

namespace providers::cuda {

/// The heads of one tensor and where they go.
struct MovedHeads {
  Heads from, to;
  int64_t heads = 0, size = 0;  ///< no heads: nothing is moved
  bool rotates = false;
  int64_t room = 0;    ///< `to` is a cache with this many rows, and row s goes to row `before` + s
  int64_t bias = 0;    ///< of the first head, in elements of `Turn::bias`
  double epsilon = 0;  ///< of the norm
};

/// What turn_heads does. Operands without memory are omitted.
struct Turn {
  MovedHeads q, k, v;
  int64_t batch = 0, rows = 0;
  Operand bias, q_norm, k_norm;  ///< [all elements of the heads], [size], [size]
  Operand cos, sin;              ///< [positions, half]
  bool interleaved = false;
  Operand positions;   ///< int64 [batch, rows], or one number; omitted: the place in the cache
  int64_t before = 0;  ///< rows that the cache has, unless `from_end`
  Operand lengths;     ///< as in AttentionCall
  int64_t length_plus = 0;
  bool from_end = false;
};
void turn_heads(Emitter& e, const Turn& turn);

/// A cache before and after a run: [batch, heads, past_rows, size] and [batch, heads, rows, size].
struct KeptCache {
  Operand past, present;
  int64_t batch = 0, heads = 0, past_rows = 0, rows = 0, size = 0;
  int64_t before = 0, fresh = 0;  ///< existing rows, and rows that another step writes behind them
  Operand lengths;
  int64_t length_plus = 0;
  bool from_end = false;
  bool keeps_rest = false;  ///< rows behind the new ones are copied, too; otherwise they become zeros
};
/// Copies the rows that are there. Nothing is done in a run whose past and
/// present caches are at the same address.
void keep_past(Emitter& e, const KeptCache& cache);

}  // namespace providers::cuda
