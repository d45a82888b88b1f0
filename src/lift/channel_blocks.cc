#include "lift/channel_blocks.h"

#include <algorithm>

#include "base/error.h"
#include "base/isa_choice.h"
#include "ops/op.h"

namespace retort {
namespace {

using Ints = std::vector<int64_t>;
constexpr std::string_view kDomain = "com.microsoft.nchwc", kBlock = "channel_block";

// What ONNX Runtime chooses on this processor. It knows nothing of RETORT_ISA.
int64_t own_block() {
#if defined(__x86_64__)
  return processor_isa() == Isa::avx512 ? 16 : 8;
#else
  return 16;
#endif
}

// Outputs of convolutions fill whole blocks.
int64_t find_block(const Graph& graph) {
  for (const NodeId id : graph.order()) {
    const Node& n = graph.node(id);
    if (!n.is("Conv", kDomain) || n.input(1) == ValueId::none) continue;
    const ValueType& w = graph.value(n.input(1)).type;
    if (w.ranked && w.rank() == 4 && is_known(w.shape[0]) && w.shape[0] % 16 != 0) return 8;
  }
  return own_block();
}

ValueId reshaped(Rewriter& r, ValueId x, const Ints& shape) {
  return r.add({.type = "Reshape", .inputs = {x, r.constant(shape)}});
}

// [N, C/b, b, H·W] for an image [N, C, H, W], or with `blocked` [N, C/b, H·W, b]. Of an unknown number of channels, it is
// computed in the run, where a Reshape checks that blocks are whole.
ValueId split_shape(Rewriter& r, ValueId x, int64_t block, bool blocked) {
  const ValueType& type = r.type_of(x);
  require(!type.ranked || type.rank() == 4, ErrorCode::invalid_argument, "the shape is {}, expected [N, C, H, W]",
          type.ranked ? r.graph().dims().text(type.shape) : "");
  if (type.ranked && is_known(type.shape[1])) {
    const int64_t channels = type.shape[1];
    require(channels % block == 0, ErrorCode::invalid_argument, "{} channels are not made of blocks of {}", channels,
            block);
    return r.constant(blocked ? Ints{0, channels / block, -1, block} : Ints{0, channels / block, block, -1});
  }
  const ValueId size = r.constant(Ints{block}),
                blocks = r.add({.type = "Div", .inputs = {shape_part(r, x, 1, 2), size}}),
                pixels = r.add({.type = "ReduceProd", .inputs = {shape_part(r, x, 2, 4)}});
  return joined(r, {shape_part(r, x, 0, 1), blocks, blocked ? pixels : size, blocked ? size : pixels});
}

// Images to blocked ones or back: the two middle axes of [N, C/b, ·, ·] change places.
ValueId reordered(Rewriter& r, ValueId x, bool blocked) {
  const ValueId split = split_shape(r, x, channel_block(r), blocked);
  const Attributes as_given{{"allowzero", int64_t(1)}};
  const ValueId parts = r.add(
      {.type = "Reshape", .inputs = {x, split}, .attributes = r.graph().constant(split) ? Attributes{} : as_given});
  const ValueId shape = r.add({.type = "Shape", .inputs = {x}});
  return r.add({.type = "Reshape",
                .inputs = {transpose(r, parts, {0, 1, 3, 2}), shape},
                .attributes = {{"allowzero", int64_t(1)}}});
}

// The image that blocked_image() has turned into `blocked`; none if another node made that value.
ValueId source(const Graph& graph, ValueId blocked) {
  const Node* last = graph.producer(blocked);
  if (!last || !last->is("Reshape")) return ValueId::none;
  const Node *shape = graph.producer(last->input(1)), *turn = graph.producer(last->input(0));
  if (!shape || !shape->is("Shape") || shape->attributes.size() > 0 || !turn || !turn->is("Transpose"))
    return ValueId::none;
  const Node* split = graph.producer(turn->input(0));
  if (!split || !split->is("Reshape") || split->input(0) != shape->input(0)) return ValueId::none;
  const Tensor* parts = graph.constant(split->input(1));
  const auto* order = turn->attributes.get<Ints>("perm");
  const bool blocks = parts && parts->count() == 4 && parts->data<int64_t>()[3] == -1;  // [0, C/b, b, -1]
  return blocks && order && *order == Ints{0, 1, 3, 2} ? split->input(0) : ValueId::none;
}

bool same_shape(const Graph& graph, ValueId a, ValueId b) {
  const ValueType &x = graph.value(a).type, &y = graph.value(b).type;
  return x.ranked && y.ranked && x.shape == y.shape;
}

bool is_scalar(const Graph& graph, ValueId v) { return graph.constant(v) && graph.constant(v)->count() == 1; }

// Whether the node does the same to images as to their blocked forms.
bool keeps_order(const Graph& graph, const Node& n) {
  if (!n.op || n.outputs.size() != 1 || !n.bodies.empty()) return false;
  if (n.is("Concat")) return n.attributes.get_or<int64_t>("axis", 0) == 1;
  if (!n.op->has(kElementwise)) return false;
  return std::all_of(n.inputs.begin(), n.inputs.end(), [&](ValueId v) {
    return v == ValueId::none || is_scalar(graph, v) || same_shape(graph, v, n.outputs[0]);
  });
}

// The image behind a value as far as it comes from lifted nodes; none: it comes from elsewhere.
ValueId known_image(Rewriter& r, ValueId blocked) {
  Graph& graph = r.graph();
  if (const ValueId image = source(graph, blocked); image != ValueId::none) return image;
  const Node* producer = graph.producer(blocked);
  if (!producer || !keeps_order(graph, *producer)) return ValueId::none;
  const NodeId id = producer->id;
  std::vector<ValueId> inputs = producer->inputs;
  for (ValueId& v : inputs) {
    if (v == ValueId::none || is_scalar(graph, v)) continue;
    v = known_image(r, v);
    if (v == ValueId::none) return ValueId::none;
  }
  const Node& n = graph.node(id);
  const ValueId image = r.add({.type = n.type, .inputs = inputs, .attributes = n.attributes, .domain = n.domain});
  graph.replace_uses(blocked, blocked_image(r, image));
  return image;
}

}  // namespace

int64_t channel_block(Rewriter& r) {
  if (const auto* known = r.attributes().get<int64_t>(kBlock)) return *known;
  Graph& graph = r.graph();
  const int64_t block = find_block(graph);
  const std::vector<NodeId> order(graph.order().begin(), graph.order().end());
  for (const NodeId id : order) {  // for those that are lifted after this one, which will be gone
    if (graph.node(id).domain == kDomain) graph.node(id).attributes.set(std::string(kBlock), block);
  }
  return block;
}

ValueId plain_image(Rewriter& r, ValueId blocked) {
  if (const ValueId image = known_image(r, blocked); image != ValueId::none) return image;
  return reordered(r, blocked, true);
}

ValueId blocked_image(Rewriter& r, ValueId plain) { return reordered(r, plain, false); }

ValueId plain_weights(Rewriter& r, ValueId blocked) {
  const int64_t b = channel_block(r);
  const ValueType type = r.type_of(blocked);
  require(type.is_static() && type.rank() == 4, ErrorCode::not_implemented,
          "the shape of the weights, [M, C, kH, kW], must be known");
  const Shape& w = type.shape;
  require(w[0] % b == 0 && (w[1] < b || w[1] % b == 0), ErrorCode::invalid_argument,
          "weights of shape {} do not lie in blocks of {}", to_string(w), b);
  const bool both = w[1] >= b;
  ValueId v = both ? reshaped(r, blocked, {w[0] / b, w[1] / b, w[2], w[3], b, b})
                   : reshaped(r, blocked, {w[0] / b, w[1], w[2], w[3], b});
  v = both ? transpose(r, v, {0, 5, 1, 4, 2, 3}) : transpose(r, v, {0, 4, 1, 2, 3});
  return reshaped(r, v, {w[0], w[1], w[2], w[3]});
}

}  // namespace retort
