// Copies the rows that a cache has already to another place, [batch, heads, rows, size]; rows behind the new ones
// become zeros, or are copied, too, if keeps_rest. Macro: WORD, the type in which rows are copied: Wide (16 bytes),
// u32, u16 or u8.

struct Cache {
  i64 rows_of_heads;                                      // batch * heads * rows
  int heads, past, rows, size;                            // rows of each head before and after; size: words of a row
  int before, fresh, length_step, length_plus, from_end;  // as in Turn of rotary.cu
  int keeps_rest;
};

extern "C" __global__ void keep_past(const WORD* past, WORD* present, const int* lengths, Cache c) {
  begin_kernel();
  const i64 count = c.rows_of_heads * c.size;
  for (i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += i64(gridDim.x) * blockDim.x) {
    const i64 at = i / c.size, head = at / c.rows;
    const int row = int(at % c.rows);
    int before = c.before;
    if (lengths && c.from_end) before = lengths[head / c.heads * c.length_step] + c.length_plus - c.fresh;
    if (row >= before && row < before + c.fresh) continue;
    present[i] =
        (row < before || c.keeps_rest) && row < c.past ? past[(head * c.past + row) * c.size + i % c.size] : WORD{};
  }
}
