// The classes LoraAdapter and AdapterFormat.
#pragma once

#include <string>

#include "engine.h"

namespace retort::python {

// C.LoraAdapter: empty until load().
class LoraAdapter {
 public:
  void load(const std::string& path);
  // Borrowed; a run with options that name it needs it alive. Throws Misuse before load().
  const OrtLoraAdapter* get() const;

 private:
  Owned<OrtLoraAdapter> handle_;
};

}  // namespace retort::python
