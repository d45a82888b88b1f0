// Calls that depart from what the first plan assumes: that extents of inputs that share a name are equal, and that
// overridable inputs have the values of the model. Reads the declared inputs and the inputs of a call.
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

  /// Whether the names of extents tie inputs to each other.
  bool has_ties() const { return !ties_.empty(); }
  /// Whether a call departs. `inputs`: by input index; null: not given. Every run asks this, so it allocates nothing.
  bool departs(std::span<const Value* const> inputs) const { return broken_tie(inputs) || overridden(inputs); }
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
  const Port* overridden(std::span<const Value* const> inputs) const;

  const Ports& ports_;
  const bool optimizes_;
  std::vector<Tie> ties_;  ///< the first extent of a name with each later one
};

}  // namespace retort
