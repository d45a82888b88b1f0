// In which memory each value of a lowered graph lies, and the copies between memories.
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

/// The memories of a graph's inputs and outputs, and the copies in it.
struct GraphSpaces {
  struct Input {
    uint32_t origin = 0;  ///< the position that it, or the input that it was split off, had before assign_spaces()
    MemorySpace space;
  };
  std::vector<Input> inputs;         ///< by position among the inputs after assign_spaces(): where nodes read them
  std::vector<MemorySpace> outputs;  ///< by position among the outputs: where nodes make them
  std::vector<BorderCopy> copies;    ///< also those inside bodies
  /// For each body: where its nodes read its inputs, by position.
  std::map<const Graph*, std::vector<MemorySpace>> bodies;
};

/// Inserts a node that copies if a value is read in another memory than it is made in. An input that is read in several
/// memories becomes several inputs, so that callers can give it in each of them. An input of a body is read in one
/// memory, and the body copies it to the others. Results of the graph stay where they are made. So do values that
/// bodies capture: a run copies them when a body reads them.
GraphSpaces assign_spaces(Graph& graph);

}  // namespace retort
