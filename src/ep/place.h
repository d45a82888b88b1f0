// In which memory each value of a lowered graph lies, and the copies between them.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace retort {

/// A value that one step makes in one memory and another reads in another.
struct BorderCopy {
  std::string tensor, reader;  ///< reader: "node 'conv1' (Conv)"
  MemorySpace from, to;
  std::optional<size_t> bytes;  ///< where the model fixes them
};

struct Placement {
  struct Input {
    uint32_t origin = 0;  ///< its place among the graph's inputs as they were
    MemorySpace space;
  };
  std::vector<Input> inputs;         ///< by place among the graph's inputs now
  std::vector<MemorySpace> outputs;  ///< by place among the graph's outputs: where they are made
  std::vector<BorderCopy> copies;    ///< bodies included
  /// Of each body: where its inputs are read.
  std::map<const Graph*, std::vector<MemorySpace>> bodies;
  /// Where constants are read, by their names: an input with a value in the model is read there, too, when calls give it.
  std::vector<std::pair<std::string, MemorySpace>> constants;
};

/// Puts steps that copy where a value is read in another memory than it is made in. An input that is read in several
/// memories becomes several inputs, so that callers can have it in each of them; one of a body is read in one memory, the
/// body copies it to the others. Results of the graph stay where they are made, and so do values that bodies capture: a run
/// brings them when a body reads them.
Placement place(Graph& graph);

}  // namespace retort
