// Numbers of queries and keys of each entry of the batch, as cuDNN reads them.
extern "C" __global__ void __launch_bounds__(256)
    attention_counts(const int* lengths, int step, int plus, int most_keys, int most_rows, int batch, int* rows,
                     int* keys) {
  const int b = int(blockIdx.x) * 256 + int(threadIdx.x);
  if (b >= batch) return;
  const int given = lengths[i64(b) * step] + plus;
  rows[b] = most_rows;
  keys[b] = given < 0 ? 0 : given < most_keys ? given : most_keys;
}
