// Joins the parts of a result whose keys several blocks shared.
#include "attention_rule.cuh"

/// One block per row of the result: batch, heads, queries.
extern "C" __global__ void attention_combine(float* parts, const T* sinks, T* y, AttentionShape a) {
  begin_kernel();
  __shared__ float room[256];
  const i64 row = blockIdx.x;
  const int at[3] = {int(row / a.rows / a.heads), int(row / a.rows % a.heads), int(row % a.rows)};
  join_parts(a, parts, at, sinks, y, room);
}
