// CausalConvWithState: a depthwise Conv over past and input; the last positions are the new past. The form of
// com.microsoft also has dilations, and channels in the last axes.
#include "base/checked.h"
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

// The extent of an axis of input i if it is known, and -1 otherwise.
Dim known_extent(Rewriter& r, size_t i, size_t axis) {
  const bool known = r.has(i) && r.type(i).ranked && axis < r.type(i).rank() && is_known(r.type(i).shape[axis]);
  return known ? r.type(i).shape[axis] : Dim(-1);
}

// The number of channels if one of the shapes tells it, as it is an attribute of Conv; otherwise -1.
int64_t channels_of(Rewriter& r, bool last) {
  if (const Dim own = known_extent(r, 1, 0); own >= 0) return own;
  const ValueType& x = r.type(0);
  int64_t count = 1;
  bool known = x.ranked;
  for (size_t i = last ? 2 : 1; known && i < (last ? x.rank() : 2); ++i) {
    known = known_extent(r, 0, i) >= 0;
    if (known) count = checked_mul(count, x.shape[i], "channels");
  }
  if (known) return count;
  return last && !(x.ranked && x.rank() == 3) ? Dim(-1) : known_extent(r, 3, last ? 2 : 1);
}

void check_shapes(Rewriter& r, bool last, int64_t channels, Dim kept) {
  const ValueType &x = r.type(0), &w = r.type(1);
  require(
      !w.ranked || (w.rank() == 3 && may_equal(w.shape[0], channels) && may_equal(w.shape[1], 1) && w.shape[2] != 0),
      ErrorCode::invalid_argument, "{} channels for weights of shape {}, expected [{},1,k]", channels,
      r.graph().dims().text(w.shape), channels);
  require(x.ranked || !last, ErrorCode::not_implemented, "the number of axes of input must be known");
  if (r.has(2) && r.type(2).is_static()) {
    require(r.type(2).shape == Shape{channels}, ErrorCode::invalid_argument, "bias has shape {}, expected [{}]",
            to_string(r.type(2).shape), channels);
  }
  if (!x.ranked) return;
  require(last ? x.rank() >= 3 : x.rank() == 3, ErrorCode::invalid_argument,
          "input has {} axes, expected 3, or more with channels last", x.rank());
  bool known = true;
  int64_t given = 1;
  for (size_t i = last ? 2 : 1; i < (last ? x.rank() : 2); ++i) {
    known = known && is_known(x.shape[i]);
    if (known) given *= x.shape[i];
  }
  require(known || x.rank() == 3, ErrorCode::not_implemented, "the extents of several axes of channels must be known");
  require(!known || channels == given, ErrorCode::invalid_argument, "input has {} channels, the weights {}", given,
          channels);
  if (!r.has(3) || !r.type(3).ranked) return;
  const Shape& past = r.type(3).shape;
  const Dim rows = past.rank() == x.rank() ? past[last ? 1 : 2] : Dim(-1);
  require(past.rank() == x.rank() && (kept < 0 || may_equal(rows, kept)), ErrorCode::invalid_argument,
          "past_state has shape {}, with {} positions to keep", r.graph().dims().text(past), kept);
}

/// How many positions before a result it depends on: a number, or if only a run tells the size of the weights, the
/// value [1] that computes it.
struct Reach {
  Dim known = -1;
  ValueId computed = ValueId::none;

  Reach(Rewriter& r, Dim taps, int64_t dilation) {
    if (taps > 0) {
      known = checked_mul(taps - 1, dilation, "positions to keep");
      return;
    }
    const ValueId size =
        r.add({.type = "Shape", .inputs = {r.input(1)}, .attributes = {{"start", int64_t(2)}, {"end", int64_t(3)}}});
    computed = r.add({.type = "Sub", .inputs = {size, r.constant(Ints{1})}});
    if (dilation != 1) computed = r.add({.type = "Mul", .inputs = {computed, r.constant(Ints{dilation})}});
  }
  // x [batch, channels, rows] after as many zeros.
  ValueId zeros_before(Rewriter& r, ValueId x) const {
    if (known >= 0) return r.add({.type = "Pad", .inputs = {x, r.constant(Ints{0, 0, known, 0, 0, 0})}});
    const ValueId pads = r.add({.type = "Concat",
                                .inputs = {r.constant(Ints{0, 0}), computed, r.constant(Ints{0, 0, 0})},
                                .attributes = {{"axis", int64_t(0)}}});
    return r.add({.type = "Pad", .inputs = {x, pads}});
  }
  // As many of the last positions of x.
  ValueId last(Rewriter& r, ValueId x) const {
    const ValueId end = r.constant(Ints{INT64_MAX}), axis = r.constant(Ints{2});
    ValueId first;
    if (known >= 0) {
      first = r.constant(known > 0 ? Ints{-known} : Ints{INT64_MAX});
    } else {
      const ValueId length =
          r.add({.type = "Shape", .inputs = {x}, .attributes = {{"start", int64_t(2)}, {"end", int64_t(3)}}});
      first = r.add({.type = "Sub", .inputs = {length, computed}});
    }
    return r.add({.type = "Slice", .inputs = {x, first, end, axis}});
  }
};

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
  check_attributes(r);
  const int64_t dilation = r.attributes().get_or<int64_t>("dilation", 1);
  const bool last = r.attributes().get_or<int64_t>("channels_last", 0) != 0;
  const int64_t channels = channels_of(r, last);
  if (channels < 0 && r.node().domain == "com.microsoft") return;  // there is a kernel for any number
  require(channels >= 0, ErrorCode::not_implemented,
          "the number of channels must be known; declare the shape of the input or of the weights");
  const Dim taps = known_extent(r, 1, 2);
  check_shapes(r, last, channels, taps > 0 ? (taps - 1) * dilation : Dim(-1));
  const Reach reach(r, taps, dilation);
  ChannelsLast layout(r, last);
  ValueId x = layout.to_first(r.input(0));
  if (r.has(3))
    x = r.add({.type = "Concat", .inputs = {layout.to_first(r.input(3)), x}, .attributes = {{"axis", int64_t(2)}}});
  else
    x = reach.zeros_before(r, x);
  std::vector<ValueId> inputs = {x, r.input(1)};
  if (r.has(2)) inputs.push_back(r.input(2));
  ValueId y =
      r.add({.type = "Conv", .inputs = inputs, .attributes = {{"dilations", Ints{dilation}}, {"group", channels}}});
  const std::string activation = r.attributes().get_or<std::string>("activation", "none");
  require(activation == "none" || activation == "silu" || activation == "swish", ErrorCode::invalid_argument,
          "activation \"{}\" is not one of none, silu, swish", activation);
  if (activation != "none") y = r.add({.type = "Swish", .inputs = {y}});
  r.replace_output(0, layout.to_last(y));
  if (r.output_used(1)) r.replace_output(1, layout.to_last(reach.last(r, x)));
  r.remove();
}
constexpr LiftRule kCausalConvRules[] = {{"CausalConvWithState", kAlways, apply_causal_conv},
                                         {"CausalConvWithState", kAlways, apply_causal_conv, "com.microsoft"}};

}  // namespace

extern const LiftRules lift_causal_conv;
constinit const LiftRules lift_causal_conv{kCausalConvRules};

}  // namespace retort
