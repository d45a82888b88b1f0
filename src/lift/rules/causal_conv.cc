// CausalConvWithState: a depthwise Conv over past and input; the last positions are the new past. The form of
// com.microsoft also has dilations, and channels in the last axes.
#include <optional>

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

/// What is known of a convolution: the channels, and the number of positions before the first one that it reads.
struct Reach {
  std::optional<int64_t> channels, taps;
  int64_t dilation = 1;
  bool last = false;  ///< channels are the last axes

  /// The positions to keep.
  std::optional<int64_t> kept() const { return taps ? std::optional<int64_t>((*taps - 1) * dilation) : std::nullopt; }
};

using Count = std::optional<int64_t>;

Count count_of(Dim extent) { return is_known(extent) ? Count(extent) : std::nullopt; }
bool agree(Count a, Count b) { return !a || !b || *a == *b; }
std::string number_text(Count n) { return n ? cat("{}", *n) : "an unknown number of"; }

// The product of the extents of the channels of the input.
Count input_channels(Rewriter& r, bool last) {
  const ValueType& x = r.type(0);
  if (!x.ranked) return std::nullopt;
  int64_t product = 1;
  for (size_t i = last ? 2 : 1; i < (last ? x.rank() : 2); ++i) {
    if (!is_known(x.shape[i])) return std::nullopt;
    product *= x.shape[i];
  }
  return product;
}

void check_past(Rewriter& r, const Reach& reach) {
  const ValueType &x = r.type(0), &past = r.type(3);
  if (!x.ranked || !past.ranked) return;
  const bool fits = past.rank() == x.rank() && agree(count_of(past.shape[reach.last ? 1 : 2]), reach.kept());
  require(fits, ErrorCode::invalid_argument, "past_state has shape {}, with {} positions to keep",
          r.graph().dims().text(past.shape), number_text(reach.kept()));
}

Reach check_shapes(Rewriter& r) {
  const ValueType &x = r.type(0), &w = r.type(1);
  Reach reach{.dilation = r.attributes().get_or<int64_t>("dilation", 1),
              .last = r.attributes().get_or<int64_t>("channels_last", 0) != 0};
  require(x.ranked || !reach.last, ErrorCode::not_implemented, "the number of axes of input must be known");
  require(!x.ranked || (reach.last ? x.rank() >= 3 : x.rank() == 3), ErrorCode::invalid_argument,
          "input has {} axes, expected 3, or more with channels last", x.ranked ? x.rank() : 0);
  const Count given = reach.channels = input_channels(r, reach.last);
  require(given || !x.ranked || x.rank() == 3, ErrorCode::not_implemented,
          "the extents of several axes of channels must be known");
  if (w.ranked) {
    const bool fits =
        w.rank() == 3 && may_equal(w.shape[1], 1) && agree(count_of(w.shape[0]), given) && w.shape[2] != 0;
    require(fits, ErrorCode::invalid_argument, "{} channels for weights of shape {}, expected [channels, 1, k]",
            number_text(given), r.graph().dims().text(w.shape));
    if (is_known(w.shape[0])) reach.channels = w.shape[0];
    reach.taps = count_of(w.shape[2]);
  }
  if (r.has(2) && r.type(2).is_static()) {
    const Shape& bias = r.type(2).shape;
    require(bias.rank() == 1 && agree(reach.channels, bias[0]), ErrorCode::invalid_argument,
            "bias has shape {} for {} channels", to_string(bias), number_text(reach.channels));
    reach.channels = bias[0];
  }
  if (r.has(3)) check_past(r, reach);
  return reach;
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

/// Computes numbers from shapes that are known only in a run; each is a vector of one element.
class Numbers {
 public:
  explicit Numbers(Rewriter& r) : r_(r) {}
  ValueId of(int64_t n) { return r_.constant(Ints{n}); }
  ValueId extent(ValueId x, int64_t axis) {
    return r_.add({.type = "Shape", .inputs = {x}, .attributes = {{"start", axis}, {"end", axis + 1}}});
  }
  ValueId binary(const char* type, ValueId a, ValueId b) { return r_.add({.type = type, .inputs = {a, b}}); }
  /// The positions to keep: (k - 1) * dilation.
  ValueId kept(const Reach& reach) {
    if (const Count known = reach.kept()) return of(*known);
    return binary("Mul", binary("Sub", extent(r_.input(1), 2), of(1)), of(reach.dilation));
  }
  /// The pads of [batch, channels, rows].
  ValueId pads(const Reach& reach, ValueId kept) {
    if (const Count known = reach.kept()) return r_.constant(Ints{0, 0, *known, 0, 0, 0});
    const ValueId before = r_.constant(Ints{0, 0}), after = r_.constant(Ints{0, 0, 0});
    return r_.add({.type = "Concat", .inputs = {before, kept, after}, .attributes = {{"axis", int64_t(0)}}});
  }
  /// The first of the last `kept` positions of x.
  ValueId first_kept(ValueId x, const Reach& reach, ValueId kept) {
    if (const Count known = reach.kept()) return of(*known > 0 ? -*known : INT64_MAX);
    return binary("Sub", extent(x, 2), kept);
  }
  /// 0, 1, … below `count`.
  ValueId range(ValueId count) {
    const ValueId zero = r_.constant(Tensor::of<int64_t>({}, {0})), one = r_.constant(Tensor::of<int64_t>({}, {1}));
    const ValueId limit = r_.add({.type = "Squeeze", .inputs = {count}});
    return r_.add({.type = "Range", .inputs = {zero, limit, one}});
  }

 private:
  Rewriter& r_;
};

// Conv needs the number of groups before any run. Without it, the windows of the input, [batch, channels, rows, k], are
// multiplied by the weights, [channels, k, 1].
ValueId windowed_product(Rewriter& r, ValueId x, ValueId kept, const Reach& reach) {
  Numbers n(r);
  const ValueId rows = n.range(n.binary("Sub", n.extent(x, 2), kept));
  const ValueId taps = n.binary("Mul", n.range(n.extent(r.input(1), 2)), n.of(reach.dilation));
  const ValueId column = r.add({.type = "Unsqueeze", .inputs = {rows, n.of(1)}});
  const ValueId windows =
      r.add({.type = "Gather", .inputs = {x, n.binary("Add", column, taps)}, .attributes = {{"axis", int64_t(2)}}});
  const ValueId weights = transpose(r, r.input(1), {0, 2, 1});
  const ValueId product = r.add({.type = "MatMul", .inputs = {windows, weights}});
  const ValueId y = r.add({.type = "Squeeze", .inputs = {product, n.of(3)}});
  if (!r.has(2)) return y;
  return n.binary("Add", y, r.add({.type = "Unsqueeze", .inputs = {r.input(2), n.of(1)}}));
}

ValueId convolution(Rewriter& r, ValueId x, ValueId kept, const Reach& reach) {
  if (!reach.channels) return windowed_product(r, x, kept, reach);
  std::vector<ValueId> inputs = {x, r.input(1)};
  if (r.has(2)) inputs.push_back(r.input(2));
  return r.add({.type = "Conv",
                .inputs = inputs,
                .attributes = {{"dilations", Ints{reach.dilation}}, {"group", *reach.channels}}});
}

// com.microsoft has a kernel for what the rule cannot express: channels that only a run tells.
bool needs_kernel(Rewriter& r) {
  if (r.node().domain != "com.microsoft") return false;
  const bool last = r.attributes().get_or<int64_t>("channels_last", 0) != 0;
  const ValueType &x = r.type(0), &w = r.type(1);
  if (x.ranked && x.rank() < 3) return false;  // an error
  const bool given = input_channels(r, last).has_value();
  if (last && (!x.ranked || (x.rank() > 3 && !given))) return true;
  return !given && !(w.ranked && w.rank() == 3 && is_known(w.shape[0]));
}

void apply_causal_conv(Rewriter& r) {
  check_attributes(r);
  if (needs_kernel(r)) return;
  const Reach reach = check_shapes(r);
  ChannelsLast layout(r, reach.last);
  Numbers n(r);
  const ValueId kept = n.kept(reach);
  ValueId x = layout.to_first(r.input(0));
  if (r.has(3))
    x = r.add({.type = "Concat", .inputs = {layout.to_first(r.input(3)), x}, .attributes = {{"axis", int64_t(2)}}});
  else
    x = r.add({.type = "Pad", .inputs = {x, n.pads(reach, kept)}});
  ValueId y = convolution(r, x, kept, reach);
  const std::string activation = r.attributes().get_or<std::string>("activation", "none");
  require(activation == "none" || activation == "silu" || activation == "swish", ErrorCode::invalid_argument,
          "activation \"{}\" is not one of none, silu, swish", activation);
  if (activation != "none") y = r.add({.type = "Swish", .inputs = {y}});
  r.replace_output(0, layout.to_last(y));
  if (r.output_used(1)) {
    const ValueId state =
        r.add({.type = "Slice", .inputs = {x, n.first_kept(x, reach, kept), n.of(INT64_MAX), n.of(2)}});
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
