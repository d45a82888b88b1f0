// Calls that depart from what the first plan assumes: that extents of inputs that share a name are equal, that inputs
// that are declared scalars have one element, and that overridable inputs have the values of the model. Reads the
// declared inputs and the inputs of a call.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "session/ports.h"

namespace retort {

/// Immutable, so thread-safe. `ports` must outlive it.
class Departures {
 public:
  /// `optimizes`: passes rely on these assumptions. If they do not, no call departs.
  Departures(const Ports& ports, bool optimizes);

  /// Whether a call with no value for an overridable input may depart.
  bool may_depart() const { return !ties_.empty() || has_scalars(); }
  /// Whether some input is declared a scalar.
  bool has_scalars() const { return !scalars_.empty(); }
  /// Whether a call gives several elements, or none, for an input that is declared a scalar, as ONNX Runtime allows.
  bool widens(std::span<const Value* const> inputs) const { return widened(inputs) != nullptr; }
  /// Whether a call departs. `inputs`: by input index; null: not given. Every run asks this, so it allocates nothing.
  bool departs(std::span<const Value* const> inputs) const {
    return broken_tie(inputs) || widened(inputs) || overridden(inputs);
  }
  /// How a call departs: "extent 'n' is 2 in input 'a' and 3 in input 'b'". Empty for a call that does not depart.
  std::string text(std::span<const Value* const> inputs) const;

 private:
  struct Extent {
    uint32_t input, axis;
  };
  /// Two extents with the same name.
  struct Tie {
    Extent a, b;
  };
  static std::optional<int64_t> extent(std::span<const Value* const> inputs, Extent e);
  const Tie* broken_tie(std::span<const Value* const> inputs) const;
  const Port* widened(std::span<const Value* const> inputs) const;
  const Port* overridden(std::span<const Value* const> inputs) const;

  const Ports& ports_;
  const bool optimizes_;
  std::vector<Tie> ties_;          ///< the first extent of a name with each later one
  std::vector<uint32_t> scalars_;  ///< inputs that are declared scalars
};

}  // namespace retort
