// Integers that follow from shapes.
#pragma once
#include <optional>

#include "ir/graph.h"

namespace retort {

/// The content of a tensor of integers or booleans whose shape and content are known without symbols, as inference has
/// found them.
std::optional<Tensor> known_content(const GraphValue& value);

}  // namespace retort
