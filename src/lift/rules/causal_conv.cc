// CausalConvWithState: a depthwise Conv over past and input; the last positions are the new past. The form of
// com.microsoft also has dilations, channels in the last axes, and states that reach further back than the windows.
#include <optional>

#include "base/error.h"
#include "lift/rewriter.h"
#include "ops/op.h"

namespace retort {
namespace {

using Ints = std::vector<int64_t>;

/// What only the form of com.microsoft has.
struct Options {
  int64_t offset = 0, channels = 0;  ///< the part of the channels that is read; no channels: all
  int64_t state_length = 0;          ///< positions of a state; 0: those before the first one that a window reads
  int64_t state_last = -1;           ///< whether channels of the states come last; -1: as those of the input
  int64_t updates = 0;               ///< rows of output 2
  int64_t windows = 0;  ///< states after the last positions, one for each; 0: only the last, without an axis

  bool extended() const {
    return offset != 0 || channels != 0 || state_length != 0 || state_last != -1 || updates != 0;
  }
};

/// The places of channels: after the batch, or in the last axes, maybe several.
class Layout {
 public:
  /// `channels`: the value whose axes from 2 on are the channels if they come last.
  Layout(Rewriter& r, bool last, ValueId channels, bool one_axis)
      : r_(r), last_(last), one_axis_(one_axis), channels_(channels) {}
  // [batch, rows, channels…] as [batch, channels, rows].
  ValueId to_first(ValueId x) {
    if (!last_) return x;
    if (!one_axis_) x = r_.add({.type = "Reshape", .inputs = {x, r_.constant(Ints{0, 0, -1})}});
    return transpose(r_, x, {0, 2, 1});
  }
  // [batch, channels, rows] as the model has it. With `windows`, there is one more axis before them.
  ValueId from_first(ValueId x, bool windows = false) {
    if (!last_) return x;
    x = windows ? transpose(r_, x, {0, 1, 3, 2}) : transpose(r_, x, {0, 2, 1});
    if (one_axis_) return x;
    const ValueId shape = joined(r_, {shape_part(r_, x, 0, windows ? 3 : 2), shape_part(r_, channels_, 2, INT64_MAX)});
    return r_.add({.type = "Reshape", .inputs = {x, shape}, .attributes = {{"allowzero", int64_t(1)}}});
  }

 private:
  Rewriter& r_;
  bool last_, one_axis_;
  ValueId channels_;
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

// The product of the extents of the channels that are read.
Count input_channels(Rewriter& r, bool last, const Options& options) {
  const ValueType& x = r.type(0);
  if (options.channels) return options.channels;
  if (!x.ranked) return std::nullopt;
  int64_t product = 1;
  for (size_t i = last ? 2 : 1; i < (last ? x.rank() : 2); ++i) {
    if (!is_known(x.shape[i])) return std::nullopt;
    product *= x.shape[i];
  }
  return product;
}

bool last_in_state(const Reach& reach, const Options& options) {
  return options.state_last < 0 ? reach.last : options.state_last != 0;
}

void check_past(Rewriter& r, const Reach& reach, const Options& options) {
  const ValueType &x = r.type(0), &past = r.type(3);
  if (!x.ranked || !past.ranked) return;
  const size_t before = options.windows ? 1 : 0, rows = before + (last_in_state(reach, options) ? 1 : 2);
  const Count kept = options.state_length ? Count(options.state_length) : reach.kept();
  const bool fits = past.rank() == x.rank() + before && agree(count_of(past.shape[rows]), kept) &&
                    (before == 0 || may_equal(past.shape[0], options.windows));
  require(fits, ErrorCode::invalid_argument, "past_state has shape {}, with {} positions to keep{}",
          r.graph().dims().text(past.shape), number_text(kept),
          before ? cat(" in each of {} windows", options.windows) : "");
}

void check_weights(Rewriter& r, Reach& reach) {
  const ValueType& w = r.type(1);
  if (!w.ranked) return;
  const bool fits =
      w.rank() == 3 && may_equal(w.shape[1], 1) && agree(count_of(w.shape[0]), reach.channels) && w.shape[2] != 0;
  require(fits, ErrorCode::invalid_argument, "{} channels for weights of shape {}, expected [channels, 1, k]",
          number_text(reach.channels), r.graph().dims().text(w.shape));
  if (is_known(w.shape[0])) reach.channels = w.shape[0];
  reach.taps = count_of(w.shape[2]);
}

Reach check_shapes(Rewriter& r, const Options& options) {
  const ValueType& x = r.type(0);
  Reach reach{.dilation = r.attributes().get_or<int64_t>("dilation", 1),
              .last = r.attributes().get_or<int64_t>("channels_last", 0) != 0};
  require(!x.ranked || (reach.last ? x.rank() >= 3 : x.rank() == 3), ErrorCode::invalid_argument,
          "input has {} axes, expected 3, or more with channels last", x.ranked ? x.rank() : 0);
  require(!options.extended() || (reach.last && options.windows == 0 && (!x.ranked || x.rank() == 3)),
          ErrorCode::invalid_argument,
          "attributes of channels and states need channels_last, an input of 3 axes and no state_window");
  reach.channels = input_channels(r, reach.last, options);
  check_weights(r, reach);
  if (r.has(2) && r.type(2).is_static()) {
    const Shape& bias = r.type(2).shape;
    require(bias.rank() == 1 && agree(reach.channels, bias[0]), ErrorCode::invalid_argument,
            "bias has shape {} for {} channels", to_string(bias), number_text(reach.channels));
    reach.channels = bias[0];
  }
  require(options.state_length == 0 || reach.kept(), ErrorCode::not_implemented,
          "with state_length, the number of weights of a channel must be known");
  require(options.state_length == 0 || options.state_length >= *reach.kept(), ErrorCode::invalid_argument,
          "state_length is {}, but windows read {} positions before the first", options.state_length,
          number_text(reach.kept()));
  if (r.has(3)) check_past(r, reach, options);
  return reach;
}

Options check_attributes(Rewriter& r) {
  const auto number = [&](const char* name, int64_t usual, int64_t least, int64_t most) {
    const auto value = r.attributes().get_or<int64_t>(name, usual);
    require(value >= least && value <= most, ErrorCode::invalid_argument, "{} is {}, expected {}{}", name, value, least,
            most == INT32_MAX ? " or more" : cat(" to {}", most));
    return value;
  };
  const auto axes = r.attributes().get_or<int64_t>("ndim", 1);
  require(axes == 1, ErrorCode::not_implemented, "ndim is {}, 1 is supported", axes);
  number("dilation", 1, 1, INT32_MAX);
  const Options options{.offset = number("input_channel_offset", 0, 0, INT32_MAX),
                        .channels = number("input_channels", 0, 0, INT32_MAX),
                        .state_length = number("state_length", 0, 0, INT32_MAX),
                        .state_last = number("state_channels_last", -1, -1, 1),
                        .updates = number("state_update_capacity", 0, 0, 8),
                        .windows = number("state_window", 0, 0, 8)};
  require(options.offset == 0 || options.channels > 0, ErrorCode::invalid_argument,
          "input_channel_offset is {}, but input_channels is missing", options.offset);
  require(!r.output_used(2) || options.updates > 0, ErrorCode::invalid_argument,
          "output state_update needs state_update_capacity; set it, or remove the output");
  return options;
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
  /// x[begin:end] along an axis.
  ValueId slice(ValueId x, ValueId begin, ValueId end, int64_t axis) {
    return r_.add({.type = "Slice", .inputs = {x, begin, end, of(axis)}});
  }
  /// The same elements in a shape of vectors; an error if their number is another.
  ValueId reshape(ValueId x, std::vector<ValueId> extents) {
    const ValueId shape =
        r_.add({.type = "Concat", .inputs = std::move(extents), .attributes = {{"axis", int64_t(0)}}});
    return r_.add({.type = "Reshape", .inputs = {x, shape}, .attributes = {{"allowzero", int64_t(1)}}});
  }
  /// The positions to keep: (k - 1) * dilation.
  ValueId kept(const Reach& reach) {
    if (const Count known = reach.kept()) return of(*known);
    return binary("Mul", binary("Sub", extent(r_.input(1), 2), of(1)), of(reach.dilation));
  }
  /// The pads of [batch, channels, rows].
  ValueId pads(Count known, ValueId kept) {
    if (known) return r_.constant(Ints{0, 0, *known, 0, 0, 0});
    const ValueId before = r_.constant(Ints{0, 0}), after = r_.constant(Ints{0, 0, 0});
    return r_.add({.type = "Concat", .inputs = {before, kept, after}, .attributes = {{"axis", int64_t(0)}}});
  }
  /// The first of the last `kept` positions of x.
  ValueId first_kept(ValueId x, Count known, ValueId kept) {
    if (known) return of(*known > 0 ? -*known : INT64_MAX);
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
  // The shapes are checked here, since a product would repeat the weights of a single channel.
  const ValueId channels = n.extent(x, 1), taps_alone = r.add({.type = "Squeeze", .inputs = {r.input(1), n.of(1)}});
  const ValueId weights = n.reshape(taps_alone, {channels, n.extent(r.input(1), 2), n.of(1)});
  const ValueId product = r.add({.type = "MatMul", .inputs = {windows, weights}});
  const ValueId y = r.add({.type = "Squeeze", .inputs = {product, n.of(3)}});
  if (!r.has(2)) return y;
  return n.binary("Add", y, n.reshape(r.input(2), {channels, n.of(1)}));
}

ValueId convolution(Rewriter& r, ValueId x, ValueId kept, const Reach& reach) {
  if (!reach.channels) return windowed_product(r, x, kept, reach);
  std::vector<ValueId> inputs = {x, r.input(1)};
  if (r.has(2)) inputs.push_back(r.input(2));
  return r.add({.type = "Conv",
                .inputs = inputs,
                .attributes = {{"dilations", Ints{reach.dilation}}, {"group", *reach.channels}}});
}

/// The samples of a convolution, [batch, channels, rows]: those of the past, and then those of the input.
class Samples {
 public:
  Samples(Rewriter& r, const Reach& reach, const Options& options)
      : r_(r), n_(r), reach_(reach), options_(options), kept_(n_.kept(reach)) {
    history_ = options.state_length ? n_.of(options.state_length) : kept_;
    known_ = options.state_length ? Count(options.state_length) : reach.kept();
  }
  /// `past` is none if there is none.
  void join(ValueId input, ValueId past) {
    if (past == ValueId::none) {
      all_ = r_.add({.type = "Pad", .inputs = {input, n_.pads(known_, history_)}});
      return;
    }
    const ValueType& given = r_.type(3);
    const size_t rows = (options_.windows ? 1 : 0) + (last_in_state(reach_, options_) ? 1 : 2);
    if (!known_ || !given.ranked || given.rank() <= rows || !is_known(given.shape[rows]))
      past = n_.reshape(past, {n_.extent(input, 0), n_.extent(input, 1), history_});
    all_ = r_.add({.type = "Concat", .inputs = {past, input}, .attributes = {{"axis", int64_t(2)}}});
  }
  ValueId convolved() {
    ValueId x = all_;
    if (options_.state_length && known_ != reach_.kept())
      x = n_.slice(x, n_.of(*known_ - *reach_.kept()), n_.of(INT64_MAX), 2);
    return convolution(r_, x, kept_, reach_);
  }
  ValueId state() { return n_.slice(all_, n_.first_kept(all_, known_, history_), n_.of(INT64_MAX), 2); }
  /// [windows, batch, channels, kept]: the states after the last positions, and zeros where there is no such position.
  ValueId states() {
    Ints from_end;
    for (int64_t i = options_.windows; i-- > 0;) from_end.push_back(i);
    const ValueId rows = n_.binary("Sub", n_.extent(all_, 2), kept_), zero = n_.of(0);
    const ValueId read = n_.binary("Sub", rows, r_.constant(from_end));
    const auto column = [&](ValueId v) { return r_.add({.type = "Unsqueeze", .inputs = {v, n_.of(1)}}); };
    const ValueId at = n_.binary("Add", column(n_.binary("Max", read, zero)), n_.range(kept_));
    const ValueId taken = r_.add({.type = "Gather", .inputs = {all_, at}, .attributes = {{"axis", int64_t(2)}}});
    const ValueId nothing = r_.add({.type = "CastLike", .inputs = {zero, taken}});
    const std::vector<ValueId> choice{column(n_.binary("Greater", read, zero)), taken, nothing};
    return transpose(r_, r_.add({.type = "Where", .inputs = choice}), {2, 0, 1, 3});
  }

 private:
  Rewriter& r_;
  Numbers n_;
  const Reach& reach_;
  const Options& options_;
  ValueId kept_, history_ = ValueId::none, all_ = ValueId::none;
  Count known_;  ///< the value of history_, if it is known
};

// The first rows of the input, [batch, rows, channels], and zeros after them.
ValueId first_rows(Rewriter& r, ValueId input, int64_t count) {
  Numbers n(r);
  const ValueId padded = r.add({.type = "Pad", .inputs = {input, r.constant(Ints{0, 0, 0, 0, count, 0})}});
  return n.slice(padded, n.of(0), n.of(count), 1);
}

ValueId activated(Rewriter& r, ValueId y) {
  const std::string activation = r.attributes().get_or<std::string>("activation", "none");
  require(activation == "none" || activation == "silu" || activation == "swish", ErrorCode::invalid_argument,
          "activation \"{}\" is not one of none, silu, swish", activation);
  return activation == "none" ? y : r.add({.type = "Swish", .inputs = {y}});
}

void apply_causal_conv(Rewriter& r) {
  const Options options = check_attributes(r);
  const Reach reach = check_shapes(r, options);
  Numbers n(r);
  ValueId input = r.input(0);
  if (options.channels) input = n.slice(input, n.of(options.offset), n.of(options.offset + options.channels), 2);
  const bool one_axis = options.extended() || (r.type(0).ranked && r.type(0).rank() == 3);
  Layout layout(r, reach.last, input, one_axis), of_states(r, last_in_state(reach, options), input, one_axis);
  ValueId past = r.has(3) ? r.input(3) : ValueId::none;
  if (r.has(3) && options.windows) {
    const ValueId latest = r.constant(Tensor::of<int64_t>({}, {options.windows - 1}));
    past = r.add({.type = "Gather", .inputs = {past, latest}});
  }
  if (r.has(3)) past = of_states.to_first(past);
  Samples samples(r, reach, options);
  samples.join(layout.to_first(input), past);
  r.replace_output(0, layout.from_first(activated(r, samples.convolved())));
  if (r.output_used(1)) {
    const bool windows = options.windows > 0;
    r.replace_output(1, of_states.from_first(windows ? samples.states() : samples.state(), windows));
  }
  if (r.output_used(2)) r.replace_output(2, first_rows(r, input, options.updates));
  r.remove();
}

constexpr LiftRule kCausalConvRules[] = {{"CausalConvWithState", kAlways, apply_causal_conv},
                                         {"CausalConvWithState", kAlways, apply_causal_conv, "com.microsoft"}};

}  // namespace

extern const LiftRules lift_causal_conv;
constinit const LiftRules lift_causal_conv{kCausalConvRules};

}  // namespace retort
