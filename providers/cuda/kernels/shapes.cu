// Tensors that follow from a shape: ELEMENT is the type of an element, all have `count` elements.

extern "C" __global__ void __launch_bounds__(256) fill(ELEMENT* __restrict__ to, ELEMENT value, long long count) {
  begin_kernel();
  const i64 stride = i64(gridDim.x) * blockDim.x;
  for (i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride) to[i] = value;
}

/// to[i] = start + i * step. NUMBER is the type that computes, double or i64.
extern "C" __global__ void __launch_bounds__(256)
    range(ELEMENT* __restrict__ to, NUMBER start, NUMBER step, long long count) {
  begin_kernel();
  const i64 stride = i64(gridDim.x) * blockDim.x;
  for (i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride)
    to[i] = Compute<ELEMENT>::store(typename Compute<ELEMENT>::type(start + NUMBER(i) * step));
}

/// Ones where the column is the row plus k.
extern "C" __global__ void __launch_bounds__(256)
    eye(ELEMENT* __restrict__ to, long long columns, long long k, long long count) {
  begin_kernel();
  const i64 stride = i64(gridDim.x) * blockDim.x;
  for (i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride)
    to[i] = Compute<ELEMENT>::store(typename Compute<ELEMENT>::type(i % columns - i / columns == k ? 1 : 0));
}
