// A compiled part: its operators in the order in which they run, and its constants in device memory.
#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "operators.h"

namespace providers::cuda {

/// A value of a part, by its number.
struct ProgramValue {
  std::string name;
  int input = -1;     ///< which input of the part
  int output = -1;    ///< which output of the part
  int constant = -1;  ///< which of Program::constants
  /// Inputs of the part from which the host can compute the value, if it knows their elements.
  std::set<int> sources;
};

struct Constant {
  Block memory;
  Operand operand;  ///< without its buffer, which each plan has its own number for
};

/// Immutable once it is made; shared by plans and runs.
struct Program {
  std::vector<ProgramValue> values;
  std::vector<Constant> constants;
  std::vector<std::unique_ptr<Op>> ops;
  size_t inputs = 0, outputs = 0;
};

using Settings = std::map<std::string, bool>;

/// Compiles the nodes of a part. Throws Error that names the node that cannot be compiled.
std::unique_ptr<Program> compile_program(const Graph& graph, const std::vector<std::string>& inputs,
                                         const std::vector<std::string>& outputs, Device& device,
                                         const Settings& settings);

}  // namespace providers::cuda
