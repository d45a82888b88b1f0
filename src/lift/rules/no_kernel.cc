// Operators of com.microsoft that ONNX Runtime has only on other devices than the CPU. Operators of ai.onnx replace
// them.
#include <cmath>

#include "base/error.h"
#include "lift/expect.h"

namespace retort {
namespace {

using Ints = std::vector<int64_t>;

/// Short names for the nodes that the rules below add.
class Maker {
 public:
  explicit Maker(Rewriter& r) : r_(r) {}
  ValueId operator()(const char* type, std::vector<ValueId> inputs, Attributes attributes = {}) {
    return r_.add({.type = type, .inputs = std::move(inputs), .attributes = std::move(attributes)});
  }
  ValueId scalar(int64_t value) { return r_.constant(Tensor::of<int64_t>({}, {value})); }
  ValueId list(const Ints& values) { return r_.constant(values); }
  ValueId number(float value) { return r_.constant(float_scalar(DType::f32, value)); }
  ValueId cast(ValueId x, DType type) { return retort::cast(r_, x, type); }
  /// Extent `axis` as a scalar.
  ValueId extent(ValueId x, int64_t axis) { return (*this)("Gather", {(*this)("Shape", {x}), scalar(axis)}); }
  ValueId range(ValueId count) { return (*this)("Range", {scalar(0), count, scalar(1)}); }

 private:
  Rewriter& r_;
};

// padding_idx and scale_grad_by_freq only matter in training.
void require_rank(Rewriter& r, size_t i, size_t rank, bool or_more = false) {
  const ValueType& x = r.type(i);
  require(!x.ranked || x.rank() == rank || (or_more && x.rank() > rank), ErrorCode::invalid_graph,
          "input {} has shape {}, expected {} axes{}", i, r.graph().dims().text(x.shape), rank,
          or_more ? " or more" : "");
}

void torch_embedding(Rewriter& r) {
  require_rank(r, 0, 2, true);
  r.replace_output(0, Maker(r)("Gather", {r.input(0), r.input(1)}));
  r.remove();
}

void is_all_finite(Rewriter& r) {
  const bool nan_only = r.attributes().get_or<int64_t>("isnan_only", 0) != 0,
             inf_only = r.attributes().get_or<int64_t>("isinf_only", 0) != 0;
  require(!nan_only || !inf_only, ErrorCode::invalid_argument, "isnan_only and isinf_only are both set");
  Maker make(r);
  ValueId any = ValueId::none;
  const std::vector<ValueId> inputs = r.node().inputs;
  for (const ValueId x : inputs) {
    const ValueId flat = make("Reshape", {x, make.list({-1})});
    ValueId bad = ValueId::none;
    for (const char* type : {"IsNaN", "IsInf"}) {
      if (inf_only && type[2] == 'N') continue;
      if (nan_only && type[2] == 'I') continue;
      const ValueId found = make(type, {flat});
      bad = bad == ValueId::none ? found : make("Or", {bad, found});
    }
    const ValueId count = make("ReduceSum", {make.cast(bad, DType::i64)}, {{"keepdims", int64_t(0)}});
    any = any == ValueId::none ? count : make("Add", {any, count});
  }
  require(any != ValueId::none, ErrorCode::invalid_graph, "there are no inputs");
  r.replace_output(0, make("Equal", {any, make.scalar(0)}));
  r.remove();
}

// Dropout(data + bias) + residual
void bias_dropout(Rewriter& r) {
  const ValueType data = r.type(0), bias = r.type(1);
  // One row, or a tensor like data.
  const bool row = bias.ranked && bias.rank() == 1 && (!data.ranked || data.rank() != 1);
  const ValueId added = row && data.ranked && data.rank() > 0
                            ? expect(r, r.input(1), "bias", r.input(0), {extent_of(int64_t(data.rank()) - 1)})
                        : row ? r.input(1)
                              : expect(r, r.input(1), "bias", r.input(0));
  const ValueId sum = expect(r, Maker(r)("Add", {r.input(0), added}), "the sum of data and bias", r.input(0));
  NodeSpec dropout{.type = "Dropout", .inputs = {sum, r.input(3), r.input(4)}, .attributes = r.attributes()};
  while (dropout.inputs.back() == ValueId::none) dropout.inputs.pop_back();
  dropout.outputs = 2;
  const auto made = r.add_all(std::move(dropout));
  ValueId y = made[0];
  if (r.has(2)) y = Maker(r)("Add", {y, expect(r, r.input(2), "residual", y)});
  r.replace_output(0, y);
  r.replace_output(1, made[1]);
  r.remove();
}

// Positions of the tokens that count, followed by those of the others.
void remove_padding(Rewriter& r) {
  require_rank(r, 0, 3);
  require_rank(r, 1, 1);
  Maker make(r);
  const ValueId x = r.input(0), counts = make.cast(r.input(1), DType::i64);
  const ValueId column = make("Unsqueeze", {counts, make.list({1})});
  const ValueId counts_here = make("Less", {make.range(make.extent(x, 1)), column});  // [batch, length]
  const auto places = [&](ValueId mask) {
    const ValueId flat = make("Reshape", {mask, make.list({-1})});
    return make("Reshape", {make("NonZero", {flat}), make.list({-1})});
  };
  const ValueId kept = places(counts_here);
  const Attributes first{{"axis", int64_t(0)}};
  const ValueId all = make("Concat", {kept, places(make("Not", {counts_here}))}, first);
  const ValueId rows = make("Flatten", {x}, {{"axis", int64_t(2)}});
  const ValueId total = make("CumSum", {counts, make.scalar(0)});
  const auto as_int32 = [&](ValueId v) { return make.cast(v, DType::i32); };
  r.replace_output(0, make("Gather", {rows, kept}));
  r.replace_output(1, as_int32(make("Reshape", {all, make("Shape", {counts_here})})));
  r.replace_output(2, as_int32(make("Concat", {make.list({0}), total}, first)));
  r.replace_output(3, as_int32(make("Reshape", {make("ReduceMax", {counts}), make.list({1})})));
  r.remove();
}

void restore_padding(Rewriter& r) {
  require_rank(r, 0, 2);
  require_rank(r, 1, 2);
  Maker make(r);
  const ValueId x = r.input(0), shape = make("Shape", {r.input(1)});
  const ValueId places = make("Reshape", {make.cast(r.input(1), DType::i64), make.list({-1})});
  const ValueId tokens = make("Unsqueeze", {make.extent(x, 0), make.list({0})});
  const ValueId used = make("Unsqueeze", {make("Slice", {places, make.list({0}), tokens}), make.list({1})});
  const Attributes first{{"axis", int64_t(0)}};
  const ValueId width = make("Unsqueeze", {make.extent(x, 1), make.list({0})});
  const ValueId flat = make("Concat", {make("Shape", {places}), width}, first);
  const ValueId zeros = make("Expand", {make("CastLike", {make.number(0), x}), flat});
  const ValueId rows = make("ScatterND", {zeros, used, x});
  r.replace_output(0, make("Reshape", {rows, make("Concat", {shape, width}, first)}));
  r.remove();
}

// The bucket of each distance: its own for the first half of the buckets, then by its logarithm. The table is ordered
// by heads, whatever its shape.
void relative_position_bias(Rewriter& r) {
  const ValueType table = r.type(0);
  const int64_t farthest = r.attributes().get_or<int64_t>("max_distance", 0);
  const bool both = r.attributes().get_or<int64_t>("is_bidirectional", 0) != 0;
  require(table.ranked && table.rank() == 2 && is_known(table.shape[0]), ErrorCode::not_implemented,
          "the number of buckets of bias_table, [buckets, heads], must be known");
  const int64_t buckets = both ? table.shape[0] / 2 : table.shape[0], exact = buckets / 2;
  require(exact > 0 && farthest > exact, ErrorCode::invalid_argument, "{} buckets for max_distance {}", table.shape[0],
          farthest);
  Maker make(r);
  const auto places = [&](size_t i) { return make.range(make("Reshape", {r.input(i), make.list({})})); };
  const ValueId ahead = make("Sub", {places(2), make("Unsqueeze", {places(1), make.list({1})})});
  const ValueId distance = both ? make("Abs", {ahead}) : make("Max", {make("Neg", {ahead}), make.scalar(0)});
  const ValueId part =
      make("Div", {make.cast(make("Max", {distance, make.scalar(1)}), DType::f32), make.number(float(exact))});
  const auto scale = float(double(buckets - exact) / std::log(double(farthest) / double(exact)));
  const ValueId behind = make.cast(make("Mul", {make("Log", {part}), make.number(scale)}), DType::i64);
  const ValueId far = make("Min", {make("Add", {behind, make.scalar(exact)}), make.scalar(buckets - 1)});
  ValueId bucket = make("Where", {make("Less", {distance, make.scalar(exact)}), distance, far});
  if (both) {
    const ValueId later = make.cast(make("Greater", {ahead, make.scalar(0)}), DType::i64);
    bucket = make("Add", {bucket, make("Mul", {later, make.scalar(buckets)})});
  }
  const ValueId heads = make("Reshape", {r.input(0), make.list({-1, table.shape[0]})});
  const ValueId bias = make("Gather", {heads, bucket}, {{"axis", int64_t(1)}});
  r.replace_output(0, make("Unsqueeze", {bias, make.list({0})}));
  r.remove();
}

// Softmax(data + bias), of matrices split at `axis`. The bias lacks axes of extent 1 either before those of its own, or
// (inner) before `axis`.
void bias_softmax(Rewriter& r) {
  const auto rank = int64_t(r.rank(0, "BiasSoftmax")), given = int64_t(r.rank(1, "BiasSoftmax"));
  const bool inner = r.attributes().get_or<int64_t>("is_inner_broadcast", 0) != 0;
  int64_t axis = r.attributes().get_or<int64_t>("axis", 1);
  require(axis >= -rank && axis < rank, ErrorCode::invalid_argument, "axis is {} for data of {} axes", axis, rank);
  axis += axis < 0 ? rank : 0;
  const int64_t lacks = rank - given;
  require(lacks >= 0 && (!inner || lacks <= axis), ErrorCode::invalid_argument,
          "bias has {} axes, data {}, of which the softmax takes those from {} on", given, rank, axis);
  Maker make(r);
  const ValueId data = r.input(0);
  ValueId bias = r.input(1);
  if (inner && lacks > 0) {
    Ints axes;
    for (int64_t i = axis - lacks; i < axis; ++i) axes.push_back(i);
    bias = make("Unsqueeze", {bias, make.list(axes)});
  }
  const ValueId sum = make("Add", {data, bias});
  const auto whole = [&](ValueId x) { return expect(r, x, "the sum of data and bias", data); };
  if (axis == rank - 1) {
    r.replace_output(0, whole(make("Softmax", {sum})));
  } else {
    const ValueId rows = make("Softmax", {make("Flatten", {whole(sum)}, {{"axis", axis}})});
    r.replace_output(0, make("Reshape", {rows, make("Shape", {data})}, {{"allowzero", int64_t(1)}}));
  }
  r.remove();
}

// States turned by the angles `emb`, which are the same for all heads: x · cos + x_rot · sin.
void gemma_rotary_embedding(Rewriter& r) {
  require_rank(r, 0, 3);
  for (const size_t i : {1, 2, 3, 4}) require_rank(r, i, 4);
  Maker make(r);
  const ValueId q = r.input(1), emb = expect(r, r.input(0), "emb", q, {extent_of(0), extent_of(2), extent_of(3)});
  const auto factor = [&](const char* function) {
    return make("Unsqueeze", {make.cast(make(function, {emb}), r.type(1).dtype), make.list({1})});
  };
  const ValueId sine = factor("Sin"), cosine = factor("Cos");
  const auto turned = [&](ValueId x, ValueId half) {
    return make("Add", {make("Mul", {x, cosine}), make("Mul", {half, sine})});
  };
  r.replace_output(0, turned(q, expect(r, r.input(2), "q_rot", q)));
  const ValueId k = expect(r, r.input(3), "k", q, {extent_of(0), kAnyExtent, extent_of(2), extent_of(3)});
  r.replace_output(1, turned(k, expect(r, r.input(4), "k_rot", k)));
  r.remove();
}

constexpr std::string_view kElsewhere = "com.microsoft";
constexpr LiftRule kNoKernelRules[] = {{"TorchEmbedding", kAlways, torch_embedding, kElsewhere},
                                       {"IsAllFinite", kAlways, is_all_finite, kElsewhere},
                                       {"BiasSoftmax", kAlways, bias_softmax, kElsewhere},
                                       {"GemmaRotaryEmbedding", kAlways, gemma_rotary_embedding, kElsewhere},
                                       {"BiasDropout", kAlways, bias_dropout, kElsewhere},
                                       {"RemovePadding", kAlways, remove_padding, kElsewhere},
                                       {"RestorePadding", kAlways, restore_padding, kElsewhere},
                                       {"RelativePositionBias", kAlways, relative_position_bias, kElsewhere}};

}  // namespace

extern const LiftRules lift_no_kernel;
constinit const LiftRules lift_no_kernel{kNoKernelRules};

}  // namespace retort
