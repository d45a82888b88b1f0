// One packed panel of B times some rows of A: the arguments of the register tiles, at every instruction level.
#pragma once
#include <limits>

#include "kernels/gemm/gemm.h"

namespace retort::kernels::gemm_detail {

/// Steps of a row that are neighbours in gathered rows (gemm_plan.h), and the rows of a tile that can be gathered.
inline constexpr size_t kGatheredSteps = 4, kFewestGathered = 11, kMostGathered = 12;

/// C = clamp(A · B + bias + addend); null pointers count as zero.
struct TileArgs {
  const float* a = nullptr;
  size_t a_stride = 0;
  const void* b = nullptr;  ///< [k][width], aligned to vectors
  size_t k = 0;
  const void* other_b = nullptr;  ///< if set, B is the sum of both panels, or their difference
  bool subtracts = false;
  float* sum = nullptr;  ///< [k][width], aligned: receives that B
  float* c = nullptr;
  size_t c_stride = 0;
  const float* bias = nullptr;    ///< width floats
  const float* addend = nullptr;  ///< added to the product; may be c
  size_t addend_stride = 0;
  bool clamp = false;  ///< to [low, high]; keeps NaN
  float low = 0, high = 0;
  /// Memory to be prefetched to the second-level cache, `prefetch_lines` (1, 2, 4 or 8) lines per four steps of k.
  const char* prefetch = nullptr;
  size_t prefetch_lines = 0;
  bool prefetch_own = false;  ///< instead prefetches the panel itself, a block ahead of its use
  struct ForAmx {
    size_t a_step = 0;              ///< floats from one step of the registers to the next if they are not neighbours
    const float* last_b = nullptr;  ///< the steps of k that do not fill a step of the registers, and zeros
  } amx;
};

/// The rows of A that AMX registers are configured for; none: other instructions compute the tiles.
struct AmxRows {
  size_t first = 0, second = 0;
  size_t count() const { return first + second; }
};

/// One panel times some rows, for one block of k.
struct PanelTask {
  TileArgs tile;  ///< of the first rows
  PackedType stored = PackedType::f32;
  bool gathered = false;  ///< whether A is in the order of gather_rows()
  size_t rows = 0, columns = 0;
  size_t line_rows = 0, line_gap = 0;  ///< rows are lines of this many rows, with gaps between; 0: one line
  AmxRows amx;
  Activation activation;  ///< applied to stored tiles
  /// A is read for the first time and has no gaps, so a tile may prefetch the rows of the next one.
  bool fetches_rows = false;
  bool is_first = false;         ///< whether it is the first of its group, so nothing has prefetched it
  const char* next_b = nullptr;  ///< the memory to prefetch: a block as long as this one, stored as `next_stored`
  PackedType next_stored = PackedType::f32;
  /// The same number of rows of two panels, which are written after this task and are prefetched too.
  const float* next_c = nullptr;
  size_t next_c_stride = 0;

  /// The tile itself applies clamps.
  void set_activation(const Activation& a) {
    using enum Activation::Kind;
    tile.clamp = a.kind == relu || a.kind == clip;
    tile.low = a.kind == relu ? 0 : a.a;
    tile.high = a.kind == relu ? std::numeric_limits<float>::infinity() : a.b;
    if (!tile.clamp) activation = a;
  }
};

}  // namespace retort::kernels::gemm_detail
