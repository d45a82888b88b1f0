// GatherBlockQuantized: rows of codes of BITS bits as elements. INDEX is the type of indices. A row has `inner` codes in
// lines of `line`; each line has `blocks` scales, for `block` codes each. An index out of range makes zeros.
typedef ELEMENT T;

struct GatherCodes {
  i64 count, rows, inner, line, blocks, block;
};

extern "C" __global__ void __launch_bounds__(256)
    gather_codes(const u8* codes, const INDEX* indices, const T* scales, const u8* zeros, T* y, GatherCodes s) {
  begin_kernel();
  constexpr int kEach = 4, kMask = (1 << BITS) - 1;
  const i64 first = (i64(blockIdx.x) * 256 + threadIdx.x) * kEach;
  for (i64 at = first; at < first + kEach && at < s.count; ++at) {
    i64 row = i64(indices[at / s.inner]);
    if (row < 0) row += s.rows;
    float v = 0;
    if (row >= 0 && row < s.rows) {
      const i64 code = row * s.inner + at % s.inner, column = code % s.line, line = code / s.line;
      const i64 block = column / s.block;
      float zero = float(1 << (BITS - 1));
      if (zeros)
        zero = float(zeros[line * ((s.blocks * BITS + 7) / 8) + block * BITS / 8] >> (block * BITS % 8) & kMask);
      // Lines begin at a byte: `line` is a multiple of the codes of a byte.
      v = (float(codes[code * BITS / 8] >> (code * BITS % 8) & kMask) - zero) *
          Compute<T>::load(scales[line * s.blocks + block]);
    }
    y[at] = Compute<T>::store(v);
  }
}
