// Chooses the memory of each value of a lowered graph, and the copies between memories.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace retort {

/// A value that one step makes in one memory and another step reads in another.
struct BorderCopy {
  std::string tensor, reader;  ///< reader: "node 'conv1' (Conv)"
  MemorySpace from, to;
  std::optional<size_t> bytes;  ///< set if the model fixes the size
};

struct Placement {
  struct Input {
    uint32_t origin = 0;  ///< index among the graph's original inputs
    MemorySpace space;
  };
  std::vector<Input> inputs;         ///< by index among the graph's inputs now
  std::vector<MemorySpace> outputs;  ///< by index among the graph's outputs: where they are made
  std::vector<BorderCopy> copies;    ///< including those of bodies
  /// For each body: where its inputs are read.
  std::map<const Graph*, std::vector<MemorySpace>> bodies;
  /// Where constants are read, by name. An input with a value in the model is read there as well if calls give it.
  std::vector<std::pair<std::string, MemorySpace>> constants;
};

/// Inserts steps that copy each value that is read in another memory than it is made in. An input that is read in
/// several memories becomes several inputs, so that callers can bind it in each of them; an input of a body is read in
/// one memory, and the body copies it to the others. Results of the graph stay where they are made. So do values that
/// bodies capture: the run copies them when a body reads them.
Placement place(Graph& graph);

}  // namespace retort
