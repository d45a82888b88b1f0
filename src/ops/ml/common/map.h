// Access to inputs that are maps.
#pragma once
#include "ops/op.h"

namespace retort::ops {

/// The type of input i; throws invalid_graph if it is not a map, NotYetKnown if its kind is not known.
inline const ValueType& map_type(const InferContext& c, size_t i) {
  const ValueType& t = c.type(i);
  if (t.kind == ValueType::Kind::unknown) throw NotYetKnown();
  require(t.kind == ValueType::Kind::map, ErrorCode::invalid_graph, "input {} is not a map", i);
  return t;
}
/// The map in input i; throws invalid_argument if the input is not a map.
inline const Map& map_at(const RunContext& c, size_t i) {
  const Map* map = c.in_slot(i).boxed.get<Map>();
  require(map != nullptr, ErrorCode::invalid_argument, "input {} is not a map", i);
  return *map;
}

}  // namespace retort::ops
