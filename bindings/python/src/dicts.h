// Dicts of maps.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "engine.h"

namespace retort::python {

// Makes dicts of a map, or of the maps of a sequence. They mostly have the same keys, whose objects are made once.
// `container` must outlive it.
class Dicts {
 public:
  explicit Dicts(const OrtValue* container);

  // The dict of value `index` of a sequence, or of the map itself (0). A null object if that is not a map, or if the
  // library that is loaded does not show maps in place.
  nanobind::object at(size_t index);

 private:
  Owned<OrtValue> part(size_t index, size_t which) const;
  void make_keys(size_t index, const RetortMapEntries& entries);
  nanobind::dict dict_of_parts(size_t index) const;

  const OrtValue* container_;
  RetortReadMap read_;
  const void* keys_of_ = nullptr;  // the address of the keys that keys_ has
  std::vector<nanobind::object> keys_;
};

}  // namespace retort::python
