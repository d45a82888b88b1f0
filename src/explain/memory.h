// Estimates the memory of a graph's values.
#pragma once
#include <string>

#include "explain/arithmetic.h"

namespace retort {

struct MemoryNeed {
  size_t weights = 0;    ///< bytes of the constants of the graph and its bodies
  size_t at_once = 0;    ///< bytes of live values, at the node with the most; not the graph's inputs and outputs
  std::string at;        ///< the label of that node
  bool complete = true;  ///< false: values whose size depends on data are not counted
};

/// For a graph in the core dialect whose nodes run in order. Values that share memory (views) count once.
MemoryNeed memory_need(const Graph& graph, const Extent& extent);

/// Bytes of a tensor; nullopt if its shape is unknown or its elements have no fixed size.
std::optional<size_t> value_bytes(const Graph& graph, ValueId value, const Extent& extent);

}  // namespace retort
