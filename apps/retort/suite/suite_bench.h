// retort bench --suite: options, and the measurement of many scenarios.
#pragma once
#include <functional>

#include "cli/commands.h"
#include "suite/suite.h"

namespace retort::cli {

struct SuiteOptions {
  std::vector<std::string> folders;    ///< the folders to measure
  Choice choice;                       ///< the scenarios to measure
  std::vector<std::string> from;       ///< reports to read instead
  std::string report, html, markdown;  ///< files to write

  void add(CLI::App& app);
  bool chosen() const { return !folders.empty() || !from.empty(); }
};

/// Returns the command line that measures a scenario as JSON.
using ScenarioWords = std::function<std::vector<std::string>(const Scenario&)>;

/// Measures, or reads a report, and writes the requested files. Ends the program with kFailed if a measured scenario
/// failed or differs.
void bench_suite(const SuiteOptions& suite, const Common& options, const ScenarioWords& words);

}  // namespace retort::cli
