// What the attributes, shapes and weights of RNN, GRU and LSTM have in common; recurrent_op.h runs them.
#pragma once
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "ops/op.h"
#include "ops/recurrent/common/cell_function.h"

namespace retort::ops {

/// Sizes of one run and where rows of `hidden` (of X: `input`) elements lie.
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
  /// Throws invalid_argument on a direction, layout or activation that does not exist; `defaults` are those of one
  /// direction.
  void check(std::span<const char* const> defaults) const;
  /// Those of both directions, one direction after the other.
  CellFunctions functions(std::span<const char* const> defaults) const;
  /// Types and shapes of all outputs; throws invalid_argument naming the shapes that clash.
  void infer(InferContext& c, size_t gates, bool cell) const;
  RecurrentShape shape(const RunContext& c, size_t gates) const;
  /// PackedRecurrent of constant float weights, else null.
  std::unique_ptr<State> pack(PrepareContext& c, size_t gates, std::span<const size_t> parts) const;
};

/// Throws invalid_argument when input i is there and known not to have this shape.
void expect_shape(const InferContext& c, size_t i, std::string_view name, std::initializer_list<Dim> wanted);

/// Elements per batch item; null when all have `steps`. Throws invalid_argument on one outside [0, steps].
const int32_t* sequence_lengths(const RunContext& c, const RecurrentShape& s);

/// W and R of each direction, packed for gemm().
struct PackedRecurrent : State {
  struct Direction {
    const float* w = nullptr;
    std::array<const float*, 2> r{};  ///< one for each of `parts`
  };
  std::array<Direction, 2> directions;
  std::shared_ptr<const void> owner;  ///< of the memory, where it is ours

  /// Points into `memory`, which pack_recurrent() fills.
  void set(const RecurrentShape& s, std::span<const size_t> parts, const void* memory);
};
/// Packs into `memory`: packed_bytes(), 64-byte aligned. `w` and `r` may lie at any byte.
void pack_recurrent(const RecurrentShape& s, std::span<const size_t> parts, const float* w, const float* r,
                    void* memory);
/// Bytes that PackedRecurrent needs. `parts`: how many gates of R are multiplied together, one number for each matrix.
size_t packed_bytes(const RecurrentShape& s, std::span<const size_t> parts);

}  // namespace retort::ops
