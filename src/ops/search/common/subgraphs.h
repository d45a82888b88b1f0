// The graph attributes of a search: checks when a model is loaded, and the places of their inputs.
#pragma once
#include <optional>
#include <string_view>

#include "ops/infer.h"
#include "ops/named_bodies.h"

namespace retort::ops {

/// Inputs of decoders that read other beams' rows of caches.
inline constexpr std::string_view kBeamWidth = "beam_width", kCacheIndirection = "cache_indirection";

/// What attribute model_type says.
enum class SearchModel : int64_t { decoder_only = 0, text = 1, sound = 2 };

/// Checks names, types and numbers of the inputs and outputs of the graphs of a node; throws invalid_graph that names
/// the graph, what it has and what is expected. `start`: decoder_start_token_id. `vocabulary`: attribute vocab_size, at
/// most that of the graphs.
void check_subgraphs(const Node& node, SearchModel model, int64_t start, int64_t vocabulary);

/// Whether the decoder also returns how it attends to the encoder's output: attribute decoder_output_cross_qk.
bool returns_cross_attention(const Node& node);

/// Whether the node has input i of its own; captures of the graphs follow these. Not while a run is laid out.
bool has_input(const InferContext& c, size_t i);
/// Number of the node's own inputs.
size_t own_inputs(const RunContext& c);

/// The input of a body that has that name.
std::optional<size_t> find_input(const NamedBodies& bodies, size_t body, std::string_view name);

}  // namespace retort::ops
