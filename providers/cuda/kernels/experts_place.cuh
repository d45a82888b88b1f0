// Tiles of the results of experts: which rows they have, and where the results go. OUT is the type of y.
#pragma once
#include "experts.cuh"

/// Rows of an expert.
struct ExpertTile {
  int expert, first, count;
};
/// False if there is no such tile.
__device__ inline bool find_place(const int* begin, const int* tiles, int experts, int tile, int rows, ExpertTile& p) {
  if (tile >= tiles[experts]) return false;
  int low = 0, high = experts;  // the last expert whose tiles begin at or before this one
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (tiles[middle] <= tile)
      low = middle;
    else
      high = middle;
  }
  p.expert = low;
  p.first = begin[low] + (tile - tiles[low]) * rows;
  const int left = begin[low + 1] - p.first;
  p.count = left < rows ? left : rows;
  return true;
}
/// The bias, the activation and the place of two results of a row, of which the first has an even number.
__device__ inline void store_two(const Matrix* matrices, const Layer& s, const Activation& f, const ExpertTile& p,
                                 int row, i64 column, float a, float b, const int* order, OUT* y) {
  if (row >= p.count || column >= s.results) return;
  const bool both = column + 1 < s.results;
  a += bias_of(matrices[0], s, p.expert, row_of(s, column));
  if (both) b += bias_of(matrices[GATE == 3 ? 1 : 0], s, p.expert, row_of(s, column + 1));
  const i64 to = SCATTER ? order[p.first + row] : p.first + row;
  if (GATE) {
    y[to * (s.results / 2) + column / 2] = Compute<OUT>::store(gated(f, a, b));
    return;
  }
  y[to * s.results + column] = Compute<OUT>::store(FIRST ? activated(a) : a);
  if (both) y[to * s.results + column + 1] = Compute<OUT>::store(FIRST ? activated(b) : b);
}
