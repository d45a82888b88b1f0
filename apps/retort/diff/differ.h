// The comparison of two engines, or of two models.
#pragma once
#include <nlohmann/json.hpp>

#include "cli/commands.h"

namespace retort::cli {

struct DiffOptions : Common {
  std::string against_model;
  double tolerance = 1e-3;
  size_t marks = 4;
  bool arbiter = false;
  std::string cut;  ///< folder
};

/// Compares both and finds the first value that differs. The result is what --json prints: model, engines, tolerance,
/// agree, outputs [{name, difference, arbiter?}], first? (see describe_first), cut?, stopped? {looks}:
/// if the user interrupts the search.
nlohmann::json find_difference(const DiffOptions& options);

}  // namespace retort::cli
