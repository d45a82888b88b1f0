#include "pairs.h"

#include "text.h"

namespace retort::python {

Pairs pairs_of(const OrtKeyValuePairs* pairs) {
  Pairs result;
  if (pairs) {
    const char* const* keys = nullptr;
    const char* const* values = nullptr;
    size_t count = 0;
    api().GetKeyValuePairs(pairs, &keys, &values, &count);
    for (size_t i = 0; i < count; ++i) {
      result[keys[i]] = values[i];
    }
  }
  return result;
}

PairPointers::PairPointers(const Pairs& pairs) {
  for (const auto& [key, value] : pairs) {
    keys.push_back(c_text(key));
    values.push_back(c_text(value));
  }
}

}  // namespace retort::python
