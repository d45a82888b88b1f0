#include "ops/search/common/subgraphs.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/error.h"

namespace retort::ops {
namespace {

constexpr DType kTokenTypes[] = {DType::i32};
constexpr DType kNumberTypes[] = {DType::f32, DType::f16};

/// One graph attribute.
class Subgraph {
 public:
  Subgraph(const Node& node, std::string_view attribute, const Graph& graph) : attribute_(attribute), graph_(graph) {
    inputs_ = graph.inputs.size() - node.captures;
  }
  size_t inputs() const { return inputs_; }
  size_t outputs() const { return graph_.outputs.size(); }
  const GraphValue& input(size_t i) const { return graph_.value(graph_.inputs[i]); }
  const GraphValue& output(size_t i) const { return graph_.value(graph_.outputs[i]); }
  bool has_input(std::string_view name) const {
    for (size_t i = 0; i < inputs_; ++i) {
      if (input(i).name == name) return true;
    }
    return false;
  }

  void require_count(bool fits, std::string_view expected) const {
    require(fits, ErrorCode::invalid_graph, "graph '{}' has {} inputs and {} outputs, expected {}", attribute_,
            inputs(), outputs(), expected);
  }
  void require_input(size_t i, std::string_view name, std::span<const DType> types) const {
    require_port("input", i, i < inputs() ? &input(i) : nullptr, name, types);
  }
  void require_output(size_t i, std::string_view name, std::span<const DType> types) const {
    require_port("output", i, i < outputs() ? &output(i) : nullptr, name, types);
  }
  /// `axes` are those whose extents must be known.
  void require_shape(const GraphValue& v, size_t rank, std::initializer_list<size_t> axes) const {
    bool fits = v.type.dtype != DType::undefined && v.type.ranked && v.type.rank() == rank;
    for (const size_t axis : axes) fits = fits && is_known(v.type.shape[axis]) && v.type.shape[axis] > 0;
    std::string wanted;
    for (const size_t axis : axes) wanted += cat("{}{}", wanted.empty() ? "" : ", ", axis);
    require(fits, ErrorCode::invalid_graph,
            "'{}' of graph '{}' needs an element type and a shape of {} axes{}{}; declare it", v.name, attribute_, rank,
            wanted.empty() ? "" : " with known extents of axes ", wanted);
  }
  /// Inputs or outputs [begin, end) have the type of `like`.
  void require_alike(bool in, size_t begin, size_t end, const GraphValue& like) const {
    for (size_t i = begin; i < end; ++i) {
      const GraphValue& v = in ? input(i) : output(i);
      const bool known = v.type.dtype != DType::undefined && like.type.dtype != DType::undefined;
      require(!known || v.type.dtype == like.type.dtype, ErrorCode::invalid_graph,
              "'{}' of graph '{}' is of type {}, expected {}, which is that of '{}'", v.name, attribute_,
              dtype_name(v.type.dtype), dtype_name(like.type.dtype), like.name);
    }
  }
  /// The inputs that caches of full length need, which follow all others; returns their number.
  size_t require_cache_inputs() const {
    constexpr std::string_view kFilled = "past_sequence_length";
    const bool beams = has_input(kBeamWidth) || has_input(kCacheIndirection);
    const std::vector<std::string_view> names = beams ? std::vector{kFilled, kBeamWidth, kCacheIndirection}
                                                : has_input(kFilled) ? std::vector{kFilled}
                                                                     : std::vector<std::string_view>();
    for (const std::string_view name : names) require_named(name);
    return names.size();
  }

 private:
  void require_named(std::string_view name) const {
    require(has_input(name), ErrorCode::invalid_graph,
            "graph '{}' lacks the input '{}', which decoders with {} and {} have", attribute_, name, kBeamWidth,
            kCacheIndirection);
    for (size_t i = 0; i < inputs_; ++i) {
      if (input(i).name == name) require_port("input", i, &input(i), name, kTokenTypes);
    }
  }
  void require_port(std::string_view side, size_t i, const GraphValue* v, std::string_view name,
                    std::span<const DType> types) const {
    require(v && v->name == name, ErrorCode::invalid_graph, "{} {} of graph '{}' is {}, expected '{}'", side, i,
            attribute_, v ? cat("'{}'", v->name) : "missing", name);
    const DType type = v->type.dtype;
    require(type == DType::undefined || std::find(types.begin(), types.end(), type) != types.end(),
            ErrorCode::invalid_graph, "'{}' of graph '{}' is of type {}, expected {}", name, attribute_,
            dtype_name(type), types.size() == 1 ? "int32" : "float32 or float16");
  }

  std::string attribute_;
  const Graph& graph_;
  size_t inputs_;
};

std::optional<Subgraph> find_subgraph(const Node& node, std::string_view attribute) {
  for (const Body& b : node.bodies) {
    if (b.attribute == attribute) return Subgraph(node, attribute, *b.graph);
  }
  return std::nullopt;
}

Subgraph subgraph(const Node& node, std::string_view attribute) {
  const auto found = find_subgraph(node, attribute);
  require(found.has_value(), ErrorCode::invalid_graph, "attribute '{}' is required and missing; set it to a graph",
          attribute);
  return *found;
}

void check_logits(const Subgraph& g, int64_t vocabulary) {
  g.require_output(0, "logits", kNumberTypes);
  const ValueType& logits = g.output(0).type;
  if (!logits.ranked) return;
  g.require_shape(g.output(0), 3, {});
  require(!is_known(logits.shape[2]) || vocabulary <= logits.shape[2], ErrorCode::invalid_graph,
          "vocab_size is {}, but logits of the graph are of {} tokens", vocabulary, logits.shape[2]);
}

void check_decoder_only(const Subgraph& g, int64_t vocabulary) {
  const size_t more = g.require_cache_inputs();
  g.require_count(g.outputs() >= 2 && g.inputs() == g.outputs() + 2 + more,
                  "input_ids, position_ids, attention_mask and the past of each layer, and logits and the present of "
                  "each layer");
  constexpr std::string_view kFirst[] = {"input_ids", "position_ids", "attention_mask"};
  for (size_t i = 0; i < std::size(kFirst); ++i) g.require_input(i, kFirst[i], kTokenTypes);
  check_logits(g, vocabulary);
  g.require_input(3, "past_0", kNumberTypes);
  g.require_output(1, "present_0", kNumberTypes);
  g.require_shape(g.input(3), 5, {0, 2, 4});
  require(g.input(3).type.shape[0] == 2, ErrorCode::invalid_graph,
          "axis 0 of 'past_0' has extent {}, expected 2: keys and values", g.input(3).type.shape[0]);
  g.require_alike(true, 3, g.outputs() + 2, g.output(0));
  g.require_alike(false, 1, g.outputs(), g.output(0));
}

// Inputs before the caches: the tokens, then what comes from the encoder.
size_t check_decoder_inputs(const Subgraph& g, SearchModel model) {
  size_t next = 0;
  g.require_input(next++, "input_ids", kTokenTypes);
  g.require_shape(g.input(0), 2, {});
  if (model == SearchModel::text) {
    if (g.inputs() > next && g.input(next).name == "encoder_input_ids")
      g.require_input(next++, "encoder_input_ids", kTokenTypes);
    g.require_input(next++, "encoder_attention_mask", kTokenTypes);
  }
  if (g.inputs() > next && g.input(next).name == "encoder_hidden_states")
    g.require_input(next++, "encoder_hidden_states", kNumberTypes);
  return next;
}

// Returns the number of layers.
size_t check_decoder(const Subgraph& g, SearchModel model, int64_t vocabulary, bool cross_attention) {
  const size_t first = check_decoder_inputs(g, model), outputs = g.outputs(), of_layer = cross_attention ? 3 : 2;
  const size_t layers = outputs ? (outputs - 1) / of_layer : 0, caches = 4 * layers;
  const size_t more = g.require_cache_inputs();
  g.require_count(layers > 0 && outputs == 1 + of_layer * layers && g.inputs() == first + caches + more,
                  cross_attention
                      ? "two caches of each layer for its own keys and values and two for those of the encoder, and "
                        "logits, two present caches of each layer, and a product of queries and keys of each layer"
                      : "two caches of each layer for its own keys and values and two for those of the encoder, and "
                        "logits and two present caches of each layer");
  check_logits(g, vocabulary);
  g.require_shape(g.input(first), 4, {1, 3});
  g.require_alike(true, first, first + caches, g.output(0));
  g.require_alike(false, 1, 1 + 2 * layers, g.output(0));
  return layers;
}

// The old form of encoders also runs the decoder on its first tokens; the new one of T5 only computes the caches that
// the decoder reads.
void check_encoder(const Subgraph& g, const Subgraph& decoder, SearchModel model, size_t layers) {
  const size_t caches = 4 * layers;
  g.require_input(0, "encoder_input_ids",
                  model == SearchModel::text ? std::span<const DType>(kTokenTypes) : kNumberTypes);
  size_t next = 1;
  if (model == SearchModel::text) g.require_input(next++, "encoder_attention_mask", kTokenTypes);
  if (model == SearchModel::text && g.inputs() == next) {
    g.require_count(g.outputs() == caches / 2, "two caches of each layer of the decoder as outputs");
    g.require_output(0, "present_key_cross_0", kNumberTypes);
    g.require_output(1, "present_value_cross_0", kNumberTypes);
    g.require_alike(false, 0, g.outputs(), decoder.output(0));
    return;
  }
  g.require_input(next++, "decoder_input_ids", kTokenTypes);
  g.require_count(g.inputs() == next && g.outputs() == 2 + caches,
                  "logits, encoder_hidden_states and four caches of each layer of the decoder as outputs");
  g.require_output(0, "logits", kNumberTypes);
  g.require_output(1, "encoder_hidden_states", kNumberTypes);
  g.require_output(2, "present_key_self_0", kNumberTypes);
  g.require_output(3, "present_value_self_0", kNumberTypes);
  g.require_alike(false, 0, g.outputs(), decoder.output(0));
}

}  // namespace

void check_subgraphs(const Node& node, SearchModel model, int64_t start, int64_t vocabulary) {
  const Subgraph decoder = subgraph(node, "decoder");
  if (model == SearchModel::decoder_only) {
    check_decoder_only(decoder, vocabulary);
    const auto init = find_subgraph(node, "init_decoder");
    if (!init) return;
    check_decoder_only(*init, vocabulary);
    require(init->inputs() == decoder.inputs() && init->outputs() == decoder.outputs(), ErrorCode::invalid_graph,
            "graphs 'init_decoder' and 'decoder' have {} and {} inputs; make them equal", init->inputs(),
            decoder.inputs());
    return;
  }
  const Subgraph encoder = subgraph(node, "encoder");
  const bool cross_attention = model == SearchModel::sound && returns_cross_attention(node);
  check_encoder(encoder, decoder, model, check_decoder(decoder, model, vocabulary, cross_attention));
  require(model != SearchModel::text || start >= 0, ErrorCode::invalid_graph,
          "decoder_start_token_id is {}, but a model with an encoder needs the token to start with", start);
}

bool returns_cross_attention(const Node& node) {
  return node.attributes.get_or<int64_t>("decoder_output_cross_qk", 0) != 0;
}

bool has_input(const InferContext& c, size_t i) { return i + c.node()->captures < c.input_count() && c.has(i); }
size_t own_inputs(const RunContext& c) { return c.input_count() - named_bodies(c).captures(); }

std::optional<size_t> find_input(const NamedBodies& bodies, size_t body, std::string_view name) {
  for (size_t i = 0; i < bodies.input_count(body); ++i) {
    if (bodies.input_name(body, i) == name) return i;
  }
  return std::nullopt;
}

}  // namespace retort::ops
