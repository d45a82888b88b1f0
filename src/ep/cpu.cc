#include "ep/cpu.h"

#include "lift/lift.h"
#include "passes/optimize.h"

namespace retort {

void lower_for_cpu(Model& model, const LowerOptions& options) {
  lift(*model.graph);
  PassOptions passes{.level = options.level, .disabled = options.disabled};
  if (options.logger && options.logger->wants(LogLevel::verbose)) {
    passes.log = [&](std::string_view line) { options.logger->write(LogLevel::verbose, line); };
  }
  optimize(*model.graph, passes);
}

}  // namespace retort
