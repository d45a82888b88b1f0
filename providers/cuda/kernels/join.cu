// Joins up to eight pieces along a row, or divides rows into pieces. It follows words.cuh.

#define PIECES 8
struct Pieces {
  Divisor width;            // words of a row in all pieces together
  Place begin[PIECES + 1];  // of each piece in the row, and the end
  i64 pitch, offset;        // of the whole tensor: words from row to row, and of the first piece in a row
};

template <bool join>
__device__ inline void move_pieces(Unit* whole, Unit* const (&pieces)[PIECES], i64 count, const Pieces& p) {
  u64 places = u64(whole);
#pragma unroll
  for (int k = 0; k < PIECES; ++k) places |= u64(pieces[k]);
  const bool aligned = places % WORD == 0;
  const i64 first = first_word();
  Unit* piece[4];
  i64 in_piece[4], in_whole[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const Place at = Place(first + i * 256 < count ? first + i * 256 : 0);
    const Place row = divide(at, p.width), column = at - row * p.width.by;
    Place begin = 0, end = p.begin[1];
    piece[i] = pieces[0];
#pragma unroll
    for (int k = 1; k < PIECES; ++k) {
      if (column < p.begin[k]) continue;
      begin = p.begin[k];
      end = p.begin[k + 1];
      piece[i] = pieces[k];
    }
    in_piece[i] = i64(row) * (end - begin) + (column - begin);
    in_whole[i] = i64(row) * p.pitch + p.offset + column;
  }
  Word words[4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
    words[i] = join ? load_word(piece[i], in_piece[i], aligned) : load_word(whole, in_whole[i], aligned);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (first + i * 256 >= count) continue;
    if (join)
      store_word(whole, in_whole[i], words[i], aligned);
    else
      store_word(piece[i], in_piece[i], words[i], aligned);
  }
}

// Pieces that are not there are those before the last, and begin at the end.
extern "C" __global__ void __launch_bounds__(256) join_pieces(Unit* whole, Unit* a, Unit* b, Unit* c, Unit* d, Unit* e,
                                                              Unit* f, Unit* g, Unit* h, i64 count, Pieces p) {
  begin_kernel();
  Unit* const pieces[PIECES] = {a, b, c, d, e, f, g, h};
  move_pieces<true>(whole, pieces, count, p);
}
extern "C" __global__ void __launch_bounds__(256) split_pieces(Unit* whole, Unit* a, Unit* b, Unit* c, Unit* d, Unit* e,
                                                               Unit* f, Unit* g, Unit* h, i64 count, Pieces p) {
  begin_kernel();
  Unit* const pieces[PIECES] = {a, b, c, d, e, f, g, h};
  move_pieces<false>(whole, pieces, count, p);
}
