// Convolutions as operation graphs of cuDNN.
#pragma once
#include "convolutions.h"
#include "dnn_graph.h"

namespace providers::cuda {

/// Numbers of the tensors of a graph (CUDNN_ATTR_TENSOR_UNIQUE_ID); those from `kBetween` on are virtual.
enum ConvTensor : int64_t { kX = 1, kW = 2, kY = 3, kBias = 4, kResidual = 5, kBetween = 10 };

/// Throws Error with cuDNN's reason if the graph is refused.
std::shared_ptr<const dnn::Graph> make_graph(const ConvProblem& problem, dnn::Handle handle);

/// Whether cuDNN has engines for the epilogue that need no compilation: for (residual + bias), (bias) and both with a
/// rectifier behind them, as of version 9.
bool in_graph(const ConvEpilogue& epilogue);

}  // namespace providers::cuda
