// Lists of keys and values, in the engine's form and as maps.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine.h"

namespace retort::python {

using Pairs = std::map<std::string, std::string>;

// Copies a list of the engine; empty for null.
Pairs pairs_of(const OrtKeyValuePairs* pairs);

// The pointers that functions of the C interface take. Valid as long as the map is not changed.
struct PairPointers {
  explicit PairPointers(const Pairs& pairs);

  std::vector<const char*> keys;
  std::vector<const char*> values;
};

}  // namespace retort::python
