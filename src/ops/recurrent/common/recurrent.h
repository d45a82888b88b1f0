// Attributes, shapes and weights that RNN, GRU and LSTM share; recurrent_op.h runs them.
#pragma once
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "ops/op.h"
#include "ops/recurrent/common/cell_function.h"

namespace retort::ops {

/// Sizes of one run, and the positions of rows of `hidden` (of X: `input`) elements.
struct RecurrentShape {
  size_t steps = 0, batch = 0, input = 0, hidden = 0, directions = 1, gates = 1;
  bool batch_major = false;  ///< attribute layout = 1
  bool rounds = false;       ///< products are those of 8-bit codes of their left-hand sides
  size_t x_row(size_t t, size_t b) const { return batch_major ? b * steps + t : t * batch + b; }
  size_t y_row(size_t t, size_t d, size_t b) const {
    return batch_major ? (b * steps + t) * directions + d : (t * directions + d) * batch + b;
  }
  size_t state_row(size_t d, size_t b) const { return batch_major ? b * directions + d : d * batch + b; }
  size_t width() const { return gates * hidden; }
};

struct RecurrentAttributes {
  std::vector<float> activation_alpha, activation_beta;
  std::vector<std::string> activations;
  std::optional<float> clip;
  std::string direction = "forward";
  std::optional<int64_t> hidden_size;
  int64_t layout = 0;
  static constexpr std::tuple recurrent_attributes{attr("activation_alpha", &RecurrentAttributes::activation_alpha),
                                                   attr("activation_beta", &RecurrentAttributes::activation_beta),
                                                   attr("activations", &RecurrentAttributes::activations),
                                                   attr("clip", &RecurrentAttributes::clip),
                                                   attr("direction", &RecurrentAttributes::direction),
                                                   attr("hidden_size", &RecurrentAttributes::hidden_size),
                                                   attr("layout", &RecurrentAttributes::layout)};
  enum Input : size_t { kX, kW, kR, kB, kLengths, kInitialH, kInitialC, kPeepholes };

  size_t directions() const { return direction == "bidirectional" ? 2 : 1; }
  bool reversed(size_t d) const { return direction == "reverse" || d == 1; }
  /// Throws invalid_argument on an invalid direction, layout or activation; `defaults` are the activations of one
  /// direction.
  void check(std::span<const char* const> defaults) const;
  /// The functions of both directions, one direction after the other.
  CellFunctions functions(std::span<const char* const> defaults) const;
  /// Infers types and shapes of all outputs; throws invalid_argument naming shapes that do not match.
  void infer(InferContext& c, size_t gates, bool cell) const;
  RecurrentShape shape(const RunContext& c, size_t gates) const;
  /// Returns PackedRecurrent if float weights are constant, otherwise null.
  std::unique_ptr<State> pack(PrepareContext& c, size_t gates, std::span<const size_t> parts) const;
};

/// Number of steps per batch item; null if all have `steps`. Throws invalid_argument if one is outside [0, steps].
const int32_t* sequence_lengths(const RunContext& c, const RecurrentShape& s);

/// W and R of each direction, packed for gemm().
struct PackedRecurrent : State {
  struct Direction {
    const float* w = nullptr;
    std::array<const float*, 2> r{};  ///< one for each element of `parts`
  };
  std::array<Direction, 2> directions;
  std::shared_ptr<const void> owner;  ///< of the memory, if this object owns it

  /// Sets pointers into `memory`, which pack_recurrent() fills.
  void set(const RecurrentShape& s, std::span<const size_t> parts, const void* memory);
};
/// Packs weights into `memory`, which has packed_bytes() bytes and is 64-byte aligned. `w` and `r` need not be aligned.
/// Returns early once `run` is cancelled.
void pack_recurrent(const RecurrentShape& s, std::span<const size_t> parts, const float* w, const float* r,
                    void* memory, const Parallel& run);
/// Bytes that PackedRecurrent needs. `parts` says how many gates of R are multiplied together, one number for each
/// matrix.
size_t packed_bytes(const RecurrentShape& s, std::span<const size_t> parts);

}  // namespace retort::ops
