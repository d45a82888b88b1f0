#include "ep/provider.h"

#include "base/error.h"

namespace retort {

std::vector<std::shared_ptr<const Compiled>> Provider::compile_all(std::span<const Partition> parts) {
  std::vector<std::shared_ptr<const Compiled>> compiled;
  for (const Partition& part : parts) {
    try {
      compiled.push_back(compile(part));
    } catch (Error& e) {
      e.add_context(
          cat("provider '{}' compiling part '{}' of {} nodes", name(), part.name, part.graph->order().size()));
      throw;
    }
  }
  return compiled;
}

}  // namespace retort
