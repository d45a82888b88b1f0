// Small networks with the patterns that passes and rules look for, as exporters write them.
#pragma once
#include "passes/passes_testing.h"

namespace retort {

struct OptimizerExample {
  const char* name;
  void (*build)(TestGraph&);
};

/// Together, they make every rule match at least once. The examples in the tests of rules are among them.
std::span<const OptimizerExample> optimizer_examples();

}  // namespace retort
