// Decides which nodes may be claimed, and reads their constants.
#pragma once
#include <optional>

#include "program.h"

namespace xnn {

using providers::Value;

/// The types of nodes that may be claimed, and whether a single node may be.
std::set<std::string> operator_names();
bool claims(const Node& node);

/// The operation for a node of float32; none for operators on 8-bit integers and others.
std::optional<Kind> kind_of(const Node& node);
Window window_of(const Node& node);
/// Whether each channel is its own group.
bool is_depthwise(const Window& window, const Value& weights);

/// Whether a value is known before any run: a constant, or the result of a DequantizeLinear of one.
bool fixed(const Value* v);
/// The elements of such a value of float32.
std::vector<float> numbers(const Value& v);
/// The DequantizeLinear nodes that compute the weights and the bias of a node; they must be in its group.
std::vector<const Node*> makers_of_weights(const Node& node);

// For nodes whose inputs have another order than those of Conv, Gemm and so on: `w` are weights, `bias` may be null.
bool convolves(const Node& node, const Value& x, const Value* w, const Value* bias);
bool multiplies(const Node& node, const Value& x, const Value* w, const Value* bias);
bool combines(const Value& a, const Value* b);

}  // namespace xnn
