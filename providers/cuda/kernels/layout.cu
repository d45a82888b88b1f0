// Transposes each matrix of a batch: from [batches][columns][rows] to [batches][rows][columns]. Blocks of 32 x 8
// threads move tiles of 32 x 32 elements through shared memory, so that both sides are accessed in whole lines.
extern "C" __global__ void transpose_batch(const WORD* from, WORD* to, i64 rows, i64 columns, i64 batches) {
  begin_kernel();
  __shared__ WORD tile[32][33];
  const i64 across = (columns + 31) / 32;  // tiles side by side
  const i64 column0 = blockIdx.x % across * 32, row0 = blockIdx.x / across * 32;
  for (i64 batch = blockIdx.y; batch < batches; batch += gridDim.y) {
    const WORD* source = from + batch * rows * columns;
    WORD* target = to + batch * rows * columns;
    for (int i = threadIdx.y; i < 32; i += 8) {
      const i64 row = row0 + threadIdx.x, column = column0 + i;
      if (row < rows && column < columns) tile[i][threadIdx.x] = source[column * rows + row];
    }
    __syncthreads();
    for (int i = threadIdx.y; i < 32; i += 8) {
      const i64 row = row0 + i, column = column0 + threadIdx.x;
      if (row < rows && column < columns) target[row * columns + column] = tile[threadIdx.x][i];
    }
    __syncthreads();
  }
}
