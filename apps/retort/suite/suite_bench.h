// retort bench --suite: options and course of a measurement of many scenarios.
#pragma once
#include <functional>

#include "cli/commands.h"
#include "suite/suite.h"

namespace retort::cli {

struct SuiteOptions {
  std::vector<std::string> folders;    ///< what to measure
  Choice choice;                       ///< of that
  std::string from;                    ///< or a report to read
  std::string report, html, markdown;  ///< files to write

  void add(CLI::App& app);
  bool chosen() const { return !folders.empty() || !from.empty(); }
};

/// How this program is told to measure a scenario as JSON.
using ScenarioWords = std::function<std::vector<std::string>(const Scenario&)>;

/// Measures, or reads, and writes what is wanted. Ends the program with kFailed where a scenario that was measured failed
/// or differs.
void bench_suite(const SuiteOptions& suite, const Common& options, const ScenarioWords& words);

}  // namespace retort::cli
