#include "ep/cpu.h"

#include "lift/lift.h"

namespace retort {

namespace {

void lower(Model& model, const LowerOptions& options, bool portable) {
  lift(*model.graph, options.external);
  PassOptions passes{
      .level = options.level, .portable = portable, .disabled = options.disabled, .folding = options.folding};
  if (options.logger && options.logger->wants(LogLevel::verbose)) {
    passes.report = [&](const PassReport& r) {
      if (r.changes()) options.logger->write(LogLevel::verbose, r.text());
    };
  }
  optimize(*model.graph, passes);
}

}  // namespace

bool has_operator(const std::string& domain, const std::string& type) {
  const OpDef* op = find_op(domain, type);
  return op ? !op->has(kInternal) : is_liftable(domain, type);
}

void lower_for_cpu(Model& model, const LowerOptions& options) { lower(model, options, false); }

Model portable_copy(const Model& model, const LowerOptions& options) {
  Model copy = model;
  copy.graph = model.graph->clone();
  lower(copy, options, true);
  copy.opsets = lifted_opsets(*copy.graph, copy.opsets);
  return copy;
}

}  // namespace retort
