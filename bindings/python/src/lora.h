// The class LoraAdapter.
#pragma once

#include "engine.h"

namespace retort::python {

// C.LoraAdapter: empty until Load.
class LoraAdapter {
 public:
  void load(const std::string& path);
  // Borrowed. Throws Error(ORT_INVALID_ARGUMENT) before load().
  const OrtLoraAdapter* get() const;

 private:
  Owned<OrtLoraAdapter> handle_;
};

}  // namespace retort::python
