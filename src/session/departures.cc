#include "session/departures.h"

#include "base/error.h"

namespace retort {

Departures::Departures(const Ports& ports, bool optimizes) : ports_(ports), optimizes_(optimizes) {
  for (uint32_t i = 0; i < ports.input_count(); ++i) {
    const ValueType& type = ports.input(i).type;
    if (type.is_tensor() && type.ranked && type.rank() == 0) scalars_.push_back(i);
  }
  if (!optimizes) return;
  std::unordered_map<Dim, Extent> first;
  // Overridable inputs are constants of the first plan, which have one shape only.
  for (uint32_t i = 0; i < ports.inputs().size(); ++i) {
    const ValueType& type = ports.inputs()[i].type;
    if (!type.is_tensor() || !type.ranked) continue;
    for (uint32_t axis = 0; axis < type.shape.rank(); ++axis) {
      if (is_known(type.shape[axis])) continue;
      const auto [at, added] = first.emplace(type.shape[axis], Extent{i, axis});
      if (!added) ties_.push_back({at->second, {i, axis}});
    }
  }
}

std::optional<int64_t> Departures::extent(std::span<const Value* const> inputs, Extent e) {
  const Value* v = inputs[e.input];
  const Tensor* t = v ? v->tensor() : nullptr;
  return t ? std::optional(t->shape()[e.axis]) : std::nullopt;
}

// Passes assume that extents with the same name are equal, as ONNX says. A plan would give wrong results, without an
// error, for a call in which they are not.
const Departures::Tie* Departures::broken_tie(std::span<const Value* const> inputs) const {
  for (const Tie& tie : ties_) {
    const auto x = extent(inputs, tie.a), y = extent(inputs, tie.b);
    if (x && y && *x != *y) return &tie;
  }
  return nullptr;
}

// The first declared scalar that the call gives another number of elements than one; null: none.
const Port* Departures::widened(std::span<const Value* const> inputs) const {
  for (const uint32_t i : scalars_) {
    const Tensor* t = inputs[i] ? inputs[i]->tensor() : nullptr;
    if (t && t->count() != 1) return &ports_.input(i);
  }
  return nullptr;
}

// The first overridable input that the call gives, although the first plan has its value as a constant; null: none.
// Without optimisation, the first plan reads overridable inputs as inputs.
const Port* Departures::overridden(std::span<const Value* const> inputs) const {
  if (!optimizes_) return nullptr;
  for (size_t i = ports_.inputs().size(); i < ports_.input_count(); ++i) {
    if (inputs[i]) return &ports_.input(i);
  }
  return nullptr;
}

std::string Departures::text(std::span<const Value* const> inputs) const {
  if (const Tie* tie = broken_tie(inputs)) {
    const Port &a = ports_.input(tie->a.input), &b = ports_.input(tie->b.input);
    return cat("extent '{}' is {} in input '{}' and {} in input '{}'", ports_.dims().text(a.type.shape[tie->a.axis]),
               *extent(inputs, tie->a), a.name, *extent(inputs, tie->b), b.name);
  }
  if (const Port* port = widened(inputs))
    return cat("input '{}' is declared a scalar, and another number of elements was given", port->name);
  const Port* port = overridden(inputs);
  return port ? cat("input '{}' was given, which has a value in the model", port->name) : std::string();
}

}  // namespace retort
