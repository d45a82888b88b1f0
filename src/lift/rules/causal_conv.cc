// CausalConvWithState: a depthwise Conv over past and input; the last positions are the new past. The form of
// com.microsoft also has dilations, and channels in the last axes.
#include "base/error.h"
#include "lift/rewriter.h"
#include "ops/op.h"

namespace retort {
namespace {

using Ints = std::vector<int64_t>;

/// Channels in the last axes of the input and of the state, maybe several.
class ChannelsLast {
 public:
  ChannelsLast(Rewriter& r, bool last) : r_(r), last_(last) {
    if (last_) shape_ = r.type(0).shape;
  }
  // [batch, rows, channels…] as [batch, channels, rows].
  ValueId to_first(ValueId x) {
    if (!last_) return x;
    if (shape_.rank() > 3) x = r_.add({.type = "Reshape", .inputs = {x, r_.constant(Ints{0, 0, -1})}});
    return transpose(r_, x, {0, 2, 1});
  }
  ValueId to_last(ValueId x) {
    if (!last_) return x;
    x = transpose(r_, x, {0, 2, 1});
    if (shape_.rank() == 3) return x;
    Ints shape{0, 0};
    for (size_t i = 2; i < shape_.rank(); ++i) shape.push_back(shape_[i]);
    return r_.add({.type = "Reshape", .inputs = {x, r_.constant(shape)}});
  }

 private:
  Rewriter& r_;
  bool last_;
  Shape shape_;
};

void check_shapes(Rewriter& r, bool last, int64_t kept) {
  const ValueType &x = r.type(0), &w = r.type(1);
  require(x.ranked || !last, ErrorCode::not_implemented, "the number of axes of input must be known");
  if (!x.ranked) return;
  require(last ? x.rank() >= 3 : x.rank() == 3, ErrorCode::invalid_argument,
          "input has {} axes, expected 3, or more with channels last", x.rank());
  bool known = true;
  int64_t channels = 1;
  for (size_t i = last ? 2 : 1; i < (last ? x.rank() : 2); ++i) {
    known = known && is_known(x.shape[i]);
    if (known) channels *= x.shape[i];
  }
  require(known || x.rank() == 3, ErrorCode::not_implemented, "the extents of several axes of channels must be known");
  require(!known || (channels == w.shape[0] && may_equal(w.shape[1], 1)), ErrorCode::invalid_argument,
          "{} channels for weights of shape {}", channels, to_string(w.shape));
  if (r.has(2) && r.type(2).is_static()) {
    require(r.type(2).shape == Shape{w.shape[0]}, ErrorCode::invalid_argument, "bias has shape {}, expected [{}]",
            to_string(r.type(2).shape), w.shape[0]);
  }
  if (!r.has(3) || !r.type(3).ranked) return;
  const Shape& past = r.type(3).shape;
  const Dim rows = past.rank() == x.rank() ? past[last ? 1 : 2] : Dim(-1);
  require(past.rank() == x.rank() && (!is_known(rows) || rows == kept), ErrorCode::invalid_argument,
          "past_state has shape {}, with {} positions to keep", r.graph().dims().text(past), kept);
}

void check_attributes(Rewriter& r) {
  const auto number = [&](const char* name, int64_t usual) { return r.attributes().get_or<int64_t>(name, usual); };
  require(number("ndim", 1) == 1, ErrorCode::not_implemented, "ndim is {}, 1 is supported", number("ndim", 1));
  require(number("dilation", 1) >= 1, ErrorCode::invalid_argument, "dilation is {}, expected a number from 1 on",
          number("dilation", 1));
  for (const char* name :
       {"input_channel_offset", "input_channels", "state_length", "state_update_capacity", "state_window"})
    require(number(name, 0) == 0, ErrorCode::not_implemented, "{} is not supported", name);
  require(number("state_channels_last", -1) == -1, ErrorCode::not_implemented, "state_channels_last is not supported");
}

void apply_causal_conv(Rewriter& r) {
  const ValueType w = r.type(1);  // a copy: adding nodes moves the values
  require(w.ranked && w.rank() == 3 && is_known(w.shape[0]) && is_known(w.shape[2]) && w.shape[2] > 0,
          ErrorCode::not_implemented, "the shape of the weights, [channels, 1, k], must be known");
  check_attributes(r);
  const int64_t dilation = r.attributes().get_or<int64_t>("dilation", 1), kept = (w.shape[2] - 1) * dilation;
  const bool last = r.attributes().get_or<int64_t>("channels_last", 0) != 0;
  check_shapes(r, last, kept);
  ChannelsLast layout(r, last);
  ValueId x = layout.to_first(r.input(0));
  if (r.has(3))
    x = r.add({.type = "Concat", .inputs = {layout.to_first(r.input(3)), x}, .attributes = {{"axis", int64_t(2)}}});
  else
    x = r.add({.type = "Pad", .inputs = {x, r.constant(Ints{0, 0, kept, 0, 0, 0})}});
  std::vector<ValueId> inputs = {x, r.input(1)};
  if (r.has(2)) inputs.push_back(r.input(2));
  ValueId y =
      r.add({.type = "Conv", .inputs = inputs, .attributes = {{"dilations", Ints{dilation}}, {"group", w.shape[0]}}});
  const std::string activation = r.attributes().get_or<std::string>("activation", "none");
  require(activation == "none" || activation == "silu" || activation == "swish", ErrorCode::invalid_argument,
          "activation \"{}\" is not one of none, silu, swish", activation);
  if (activation != "none") y = r.add({.type = "Swish", .inputs = {y}});
  r.replace_output(0, layout.to_last(y));
  if (r.output_used(1)) {
    const Ints first = kept > 0 ? Ints{-kept} : Ints{INT64_MAX};
    const ValueId state =
        r.add({.type = "Slice", .inputs = {x, r.constant(first), r.constant(Ints{INT64_MAX}), r.constant(Ints{2})}});
    r.replace_output(1, layout.to_last(state));
  }
  r.remove();
}
constexpr LiftRule kCausalConvRules[] = {{"CausalConvWithState", kAlways, apply_causal_conv},
                                         {"CausalConvWithState", kAlways, apply_causal_conv, "com.microsoft"}};

}  // namespace

extern const LiftRules lift_causal_conv;
constinit const LiftRules lift_causal_conv{kCausalConvRules};

}  // namespace retort
