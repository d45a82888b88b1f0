// Copies a tensor whose elements lie anywhere into adjacent memory. Macro: WORD, the type of an element of this size.

/// Axis i has `extent` places; place p is at p / repeat * stride.
struct View {
  i64 stride[6];
  i64 extent[6];
  int repeat[6];
};

extern "C" __global__ void gather_view(const WORD* from, WORD* to, i64 count, View v) {
  begin_kernel();
  for (i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += i64(gridDim.x) * blockDim.x) {
    i64 rest = i, at = 0;
    for (int a = 5; a >= 0; --a) {
      at += rest % v.extent[a] / v.repeat[a] * v.stride[a];
      rest /= v.extent[a];
    }
    to[i] = from[at];
  }
}
