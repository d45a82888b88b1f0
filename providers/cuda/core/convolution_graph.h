// Convolutions as operation graphs of cuDNN.
#pragma once
#include "convolutions.h"

namespace providers::cuda {

/// Numbers of the tensors of a graph (CUDNN_ATTR_TENSOR_UNIQUE_ID); those from `kBetween` on are virtual.
enum ConvTensor : int64_t { kX = 1, kW = 2, kY = 3, kBias = 4, kResidual = 5, kBetween = 10 };

/// An operation graph with all descriptors that it refers to.
struct ConvGraph {
  std::vector<dnn::Descriptor> parts;  ///< the operation graph is the last
  const dnn::Descriptor& graph() const { return parts.back(); }
};

/// Throws Error with cuDNN's reason if the graph is refused.
std::shared_ptr<const ConvGraph> make_graph(const ConvProblem& problem, dnn::Handle handle);

/// Engine configurations in the order of a heuristics mode; `reasons` gets a line if the mode gives none.
std::vector<dnn::Descriptor> configurations(const ConvGraph& graph, int mode, std::string& reasons);

/// Number of an engine and its numerical notes.
struct EngineFacts {
  int64_t index = -1;
  std::vector<int> notes;
  bool compiled = false;  ///< NVRTC compiles its kernel when the plan is made, which takes seconds
  bool has(int note) const;
  std::string text() const;
};
EngineFacts facts_of(const dnn::Descriptor& configuration);

/// Whether cuDNN has engines for the epilogue that need no compilation: for (residual + bias), (bias) and both with a
/// rectifier behind them, as of version 9.
bool in_graph(const ConvEpilogue& epilogue);

}  // namespace providers::cuda
