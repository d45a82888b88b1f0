// com.microsoft.nchwc: convolutions and pools of images whose channels are stored in blocks (channel_blocks.h), from
// models that ONNX Runtime's optimiser saved. They become the operators on plain images.
#include "base/error.h"
#include "lift/channel_blocks.h"
#include "lift/fused_activation.h"

namespace retort {
namespace {

using Ints = std::vector<int64_t>;

void finish_blocked(Rewriter& r, ValueId image) {
  const ValueId blocked = blocked_image(r, image);
  r.replace_output(0, blocked);
  r.remove();
}

Attributes nchwc_attributes(Rewriter& r) {
  channel_block(r);  // stores the block size at all nodes that need it
  Attributes attributes = r.attributes();
  attributes.erase("channel_block");
  return attributes;
}

// If there are fewer channels than a block has, but more than one per group, the input is a plain image.
bool takes_plain(Rewriter& r, int64_t group) {
  const ValueType w = r.type(1);
  const int64_t block = channel_block(r);
  if (!w.is_static() || w.rank() != 4 || group <= 0 || w.shape[1] >= block) return false;
  return !(w.shape[1] == 1 && w.shape[0] == group);
}

void nchwc_conv(Rewriter& r) {
  Attributes attributes = nchwc_attributes(r);
  const auto name = attributes.get_or<std::string>("activation", "");
  const auto parameters = attributes.get_or<std::vector<float>>("activation_params", {});
  for (const char* own : {"activation", "activation_params"}) attributes.erase(own);
  const bool plain = takes_plain(r, attributes.get_or<int64_t>("group", 1));
  const ValueId x = plain ? r.input(0) : plain_image(r, r.input(0));
  std::vector<ValueId> inputs = {x, plain_weights(r, r.input(1))};
  if (r.has(2)) inputs.push_back(r.input(2));
  ValueId y = r.add({.type = "Conv", .inputs = inputs, .attributes = attributes});
  if (r.has(3)) y = r.add({.type = "Add", .inputs = {y, plain_image(r, r.input(3))}});
  finish_blocked(r, activated(r, y, name, parameters));
}

void check_pads_of_pool(const Attributes& attributes) {
  const auto kernel = attributes.get_or<Ints>("kernel_shape", {}), pads = attributes.get_or<Ints>("pads", {});
  for (size_t i = 0; i < pads.size(); ++i)
    require(kernel.empty() || pads[i] < kernel[i % kernel.size()], ErrorCode::invalid_argument,
            "pads {} are not below kernel_shape {}", to_string(pads), to_string(kernel));
}

// An operator of ai.onnx on one image.
template <const char* type>
void nchwc_pool(Rewriter& r) {
  const Attributes attributes = nchwc_attributes(r);
  check_pads_of_pool(attributes);
  const ValueId x = plain_image(r, r.input(0));
  finish_blocked(r, r.add({.type = type, .inputs = {x}, .attributes = attributes}));
}

void nchwc_upsample(Rewriter& r) {
  const Attributes attributes = nchwc_attributes(r);
  const auto given = attributes.get_or<Ints>("scales", {});
  require(given.size() == 4 && given[0] == 1 && given[1] == 1 && given[2] > 0 && given[3] > 0,
          ErrorCode::invalid_argument, "scales are {}, expected [1, 1, h, w]", to_string(given));
  const std::vector<float> scales(given.begin(), given.end());
  const auto mode = attributes.get_or<std::string>("mode", "nearest");
  const auto coordinates = attributes.get_or<std::string>("coordinate_transformation_mode", "asymmetric");
  require(mode != "nearest" || coordinates == "asymmetric", ErrorCode::not_implemented,
          "mode nearest with coordinate_transformation_mode {}, expected asymmetric", coordinates);
  const ValueId x = plain_image(r, r.input(0)), factors = r.constant(Tensor::of<float>({4}, scales));
  Attributes resize{{"mode", mode}, {"coordinate_transformation_mode", coordinates}};
  if (mode == "nearest") resize.set("nearest_mode", std::string("floor"));
  finish_blocked(r, r.add({.type = "Resize", .inputs = {x, ValueId::none, factors}, .attributes = resize}));
}

// The number of channels that the weights of a convolution of the reordered image tell; 0: none do.
int64_t channels_of_consumer(Rewriter& r) {
  const Graph& graph = r.graph();
  for (const NodeId id : graph.order()) {
    const Node& n = graph.node(id);
    if (!n.is("Conv", "com.microsoft.nchwc") || n.input(0) != r.node().outputs[0] || n.input(1) == ValueId::none)
      continue;
    const ValueType& w = graph.value(n.input(1)).type;
    const auto group = n.attributes.get_or<int64_t>("group", 1);
    if (w.ranked && w.rank() == 4 && is_known(w.shape[1]) && group > 0) return w.shape[1] * group;
  }
  return 0;
}

// The last block is padded with zeros. A number of channels that only the weights tell is checked by a Reshape.
void nchwc_reorder_input(Rewriter& r) {
  const int64_t block = channel_block(r);
  ValueId x = r.input(0);
  if (r.attributes().get_or<int64_t>("channels_last", 0) != 0) x = transpose(r, x, {0, 3, 1, 2});
  ValueType type = r.type_of(x);
  const bool known = !type.ranked || type.rank() != 4 || is_known(type.shape[1]);  // or of an unknown rank
  if (const int64_t channels = known ? 0 : channels_of_consumer(r); channels > 0) {
    x = r.add({.type = "Reshape", .inputs = {x, r.constant(Ints{0, channels, 0, 0})}});
    type = r.type_of(x);
  }
  if (type.ranked && type.rank() == 4 && is_known(type.shape[1])) {
    if (const int64_t missing = (block - type.shape[1] % block) % block; missing > 0)
      x = r.add({.type = "Pad", .inputs = {x, r.constant(Ints{0, 0, 0, 0, 0, missing, 0, 0})}});
  } else {
    const ValueId less = r.add({.type = "Neg", .inputs = {shape_part(r, x, 1, 2)}});
    const ValueId missing = r.add({.type = "Mod", .inputs = {less, r.constant(Ints{block})}});
    const ValueId pads = joined(r, {r.constant(Ints{0, 0, 0, 0, 0}), missing, r.constant(Ints{0, 0})});
    x = r.add({.type = "Pad", .inputs = {x, pads}});
  }
  finish_blocked(r, x);
}

void nchwc_reorder_output(Rewriter& r) {
  const auto channels = r.attributes().get_or<int64_t>("channels", 0);
  ValueId x = plain_image(r, r.input(0));
  const ValueType type = r.type_of(x);
  const bool known = type.ranked && type.rank() == 4 && is_known(type.shape[1]);
  require(channels > 0 && (!known || channels <= type.shape[1]), ErrorCode::invalid_argument,
          "channels {} of a blocked image of shape {}", channels,
          known ? r.graph().dims().text(type.shape) : "unknown");
  if (!known || type.shape[1] != channels) {
    x = r.add({.type = "Slice", .inputs = {x, r.constant(Ints{0}), r.constant(Ints{channels}), r.constant(Ints{1})}});
  }
  if (r.attributes().get_or<int64_t>("channels_last", 0) != 0) x = transpose(r, x, {0, 2, 3, 1});
  r.replace_output(0, x);
  r.remove();
}

constexpr char kNchwcMaxPool[] = "MaxPool", kNchwcAveragePool[] = "AveragePool",
               kNchwcGlobalMaxPool[] = "GlobalMaxPool", kNchwcGlobalAveragePool[] = "GlobalAveragePool";
constexpr std::string_view kNchwc = "com.microsoft.nchwc";
constexpr LiftRule kNchwcRules[] = {{"Conv", kAlways, nchwc_conv, kNchwc},
                                    {"MaxPool", kAlways, nchwc_pool<kNchwcMaxPool>, kNchwc},
                                    {"AveragePool", kAlways, nchwc_pool<kNchwcAveragePool>, kNchwc},
                                    {"GlobalMaxPool", kAlways, nchwc_pool<kNchwcGlobalMaxPool>, kNchwc},
                                    {"GlobalAveragePool", kAlways, nchwc_pool<kNchwcGlobalAveragePool>, kNchwc},
                                    {"Upsample", kAlways, nchwc_upsample, kNchwc},
                                    {"ReorderInput", kAlways, nchwc_reorder_input, kNchwc},
                                    {"ReorderOutput", kAlways, nchwc_reorder_output, kNchwc}};

}  // namespace

extern const LiftRules lift_nchwc;
constinit const LiftRules lift_nchwc{kNchwcRules};

}  // namespace retort
