// Puts new rows into a cache. Defines: WORD: an unsigned integer as large as an element.
typedef WORD T;

struct Extents {
  i64 count, rows, room, inner, prefixes;  // elements; rows of the update and of the cache; prefixes of one sample
  int circular, unused;
};

extern "C" __global__ void __launch_bounds__(256)
    cache_rows(const T* __restrict__ update, const i64* __restrict__ begin, T* __restrict__ y, Extents e) {
  begin_kernel();
  const i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= e.count) return;
  const i64 row = i / e.inner, prefix = row / e.rows;
  i64 at = (begin ? begin[prefix / e.prefixes] : 0) + row % e.rows;
  if (e.circular) at = (at % e.room + e.room) % e.room;
  if (at >= 0 && at < e.room) y[(prefix * e.room + at) * e.inner + i % e.inner] = update[i];
}
