// How much memory the values of a graph take.
#pragma once
#include <string>

#include "explain/arithmetic.h"

namespace retort {

struct MemoryNeed {
  size_t weights = 0;    ///< bytes of the constants of the graph and its bodies
  size_t at_once = 0;    ///< most bytes of values that are alive at one node, inputs and outputs of the graph left out
  std::string at;        ///< the label of that node
  bool complete = true;  ///< false: values whose size only the data tells are not counted
};

/// Of a graph in the core dialect whose nodes run in its order; values that share memory (views) count once.
MemoryNeed memory_need(const Graph& graph, const Extent& extent);

/// Bytes of a tensor; nullopt where its shape is not known or elements have no fixed size.
std::optional<size_t> value_bytes(const Graph& graph, ValueId value, const Extent& extent);

}  // namespace retort
