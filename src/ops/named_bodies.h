// Bodies of operators that find the inputs of their graphs by name.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "ops/run_context.h"

namespace retort {

/// A BodyRunner that knows the bodies' inputs as the model has them. The executor implements it for every step with
/// bodies; it is apart from BodyRunner because most operators find inputs by position.
class NamedBodies : public BodyRunner {
 public:
  /// Number of the step's inputs that are captures of the bodies; they follow its own inputs.
  virtual size_t captures() const = 0;
  /// The body that a graph attribute names; nothing if there is none.
  virtual std::optional<size_t> find(std::string_view attribute) const = 0;
  virtual const std::string& input_name(size_t body, size_t input) const = 0;
  /// As far as it is known before any run.
  virtual const ValueType& input_type(size_t body, size_t input) const = 0;
};

/// The bodies of the step; throws not_implemented if its provider does not know their names.
inline NamedBodies& named_bodies(const RunContext& c) {
  auto* bodies = dynamic_cast<NamedBodies*>(&c.bodies());
  require(bodies != nullptr, ErrorCode::not_implemented, "the provider does not know the inputs of the node's graphs");
  return *bodies;
}

}  // namespace retort
