// Operators of com.microsoft that were added to ai.onnx later, or that have another name there.
#include "base/error.h"
#include "lift/rewriter.h"

namespace retort {
namespace {

// Makes the node one of ai.onnx, in the newest form.
void move_to(Rewriter& r, const char* type, const char* domain = "") {
  r.node().type = type;
  r.node().domain = domain;
  r.node().version = 0;
}

template <const char* type>
void move_same(Rewriter& r) {
  move_to(r, type);
}

// Indices may be int32.
void move_gather_nd(Rewriter& r) {
  if (r.type(1).dtype == DType::i32) r.set_input(1, cast(r, r.input(1), DType::i64));
  move_to(r, "GatherND");
}

void move_fused_mat_mul(Rewriter& r) { move_to(r, "FusedMatMul", "com.microsoft"); }

/// Input i, a vector of one element or a scalar, as a scalar.
void make_scalar(Rewriter& r, size_t i) {
  if (!r.has(i)) return;
  const ValueType type = r.type(i);
  require(!type.ranked || type.rank() == 0 || (type.rank() == 1 && (!is_known(type.shape[0]) || type.shape[0] == 1)),
          ErrorCode::invalid_argument, "input {} has shape {}, expected one element", i,
          r.graph().dims().text(type.shape));
  if (type.ranked && type.rank() == 0) return;
  r.set_input(i, r.add({.type = "Reshape", .inputs = {r.input(i), r.constant(std::vector<int64_t>{})}}));
}

// Pads may be a matrix of one row.
void move_pad(Rewriter& r) {
  const ValueType pads = r.type(1);
  require(!pads.ranked || pads.rank() == 1 || (pads.rank() == 2 && (!is_known(pads.shape[0]) || pads.shape[0] == 1)),
          ErrorCode::invalid_argument, "pads have shape {}, expected [n] or [1, n]", r.graph().dims().text(pads.shape));
  if (!pads.ranked || pads.rank() != 1) {
    r.set_input(1, r.add({.type = "Reshape", .inputs = {r.input(1), r.constant(std::vector<int64_t>{-1})}}));
  }
  make_scalar(r, 2);
  move_to(r, "Pad");
}

void move_range(Rewriter& r) {
  if (!r.has(2)) {
    const ValueId one = r.constant(Tensor::of<int64_t>({}, {1}));
    r.set_input(2, r.add({.type = "CastLike", .inputs = {one, r.input(0)}}));
  }
  for (size_t i = 0; i < 3; ++i) make_scalar(r, i);
  move_to(r, "Range");
}

void move_expand_dims(Rewriter& r) {
  const ValueId axis = cast(r, r.input(1), DType::i64);
  r.set_input(1, r.add({.type = "Reshape", .inputs = {axis, r.constant(std::vector<int64_t>{1})}}));
  move_to(r, "Unsqueeze");
}

// Outputs: uniques in the order of their appearance in a vector, inverse indices, counts.
void move_unique(Rewriter& r) {
  const ValueType x = r.type(0);
  require(!x.ranked || x.rank() == 1, ErrorCode::invalid_argument, "x has shape {}, expected a vector",
          r.graph().dims().text(x.shape));
  if (!x.ranked) r.set_input(0, transpose(r, r.input(0), {0}));  // an error for any other number of axes
  Graph& graph = r.graph();
  const NodeId id = r.node().id;
  std::vector<ValueId> outputs = r.node().outputs;
  outputs.insert(outputs.begin() + 1, ValueId::none);
  for (size_t i = 2; i < outputs.size(); ++i) {
    if (outputs[i] != ValueId::none) graph.value(outputs[i]).producer_slot = uint32_t(i);
  }
  graph.node(id).outputs = std::move(outputs);
  r.attributes().set("sorted", int64_t(0));
  move_to(r, "Unique");
}

// The GELU of a sum becomes two nodes, because a product before them can be fused with each. If the bias is not known
// to be one row, the node stays, and its operator reports an error for any other shape.
template <bool kTanh>
void take_gelu_apart(Rewriter& r) {
  const ValueType x = r.type(0);
  ValueId sum = r.input(0);
  if (r.has(1)) {
    const ValueType bias = r.type(1);
    const bool row = x.ranked && x.rank() > 0 && bias.ranked && bias.rank() == 1 && is_known(bias.shape[0]) &&
                     x.shape.back() == bias.shape[0];
    if (!row) return;
    sum = r.add({.type = "Add", .inputs = {sum, r.input(1)}});
  }
  Attributes attributes;
  if (kTanh) attributes.set("approximate", std::string("tanh"));
  r.replace_output(0, r.add({.type = "Gelu", .inputs = {sum}, .attributes = attributes}));
  r.remove();
}

void gemm_fast_gelu(Rewriter& r) {
  const ValueId product = r.add({.type = "MatMul", .inputs = {r.input(0), r.input(1)}});
  std::vector<ValueId> inputs = {product};
  if (r.has(2)) inputs.push_back(r.input(2));
  const ValueId y = r.add({.type = "FastGelu", .inputs = std::move(inputs), .domain = "com.microsoft"});
  r.replace_output(0, y);
  r.remove();
  Rewriter next(r.graph(), r.graph().value(y).producer);
  take_gelu_apart<true>(next);
}

// If the shapes are not known to fit, the node stays, and its operator reports the error.
void take_split_gelu_apart(Rewriter& r) {
  const ValueType x = r.type(0), bias = r.type(1);
  const bool fits = x.ranked && x.rank() == 3 && bias.ranked && bias.rank() == 1 && is_known(bias.shape[0]) &&
                    x.shape[2] == bias.shape[0] && bias.shape[0] % 2 == 0;
  if (!fits) return;
  const auto halves = r.add_all({.type = "Split",
                                 .inputs = {r.add({.type = "Add", .inputs = {r.input(0), r.input(1)}})},
                                 .attributes = {{"axis", int64_t(2)}, {"num_outputs", int64_t(2)}},
                                 .outputs = 2});
  const ValueId gelu = r.add({.type = "Gelu", .inputs = {halves[1]}});
  r.replace_output(0, r.add({.type = "Mul", .inputs = {halves[0], gelu}}));
  r.remove();
}

void quick_gelu(Rewriter& r) {
  const float alpha = r.attributes().get_or<float>("alpha", 1.702f);
  r.replace_output(0, r.add({.type = "Swish", .inputs = {r.input(0)}, .attributes = {{"alpha", alpha}}}));
  r.remove();
}

constexpr char kMovedTrilu[] = "Trilu", kMovedIdentity[] = "Identity", kMovedGelu[] = "Gelu";
constexpr std::string_view kMicrosoft = "com.microsoft";
constexpr LiftRule kMovedRules[] = {{"GatherND", kAlways, move_gather_nd, kMicrosoft},
                                    {"Trilu", kAlways, move_same<kMovedTrilu>, kMicrosoft},
                                    {"SampleOp", kAlways, move_same<kMovedIdentity>, kMicrosoft},
                                    {"Gelu", kAlways, move_same<kMovedGelu>, kMicrosoft},
                                    {"BiasGelu", kAlways, take_gelu_apart<false>, kMicrosoft},
                                    {"FastGelu", kAlways, take_gelu_apart<true>, kMicrosoft},
                                    {"GemmFastGelu", kAlways, gemm_fast_gelu, kMicrosoft},
                                    {"BiasSplitGelu", kAlways, take_split_gelu_apart, kMicrosoft},
                                    {"QuickGelu", kAlways, quick_gelu, kMicrosoft},
                                    {"TransposeMatMul", kAlways, move_fused_mat_mul, kMicrosoft},
                                    {"Pad", kAlways, move_pad, kMicrosoft},
                                    {"Range", kAlways, move_range, kMicrosoft},
                                    {"ExpandDims", kAlways, move_expand_dims, kMicrosoft},
                                    {"Unique", kAlways, move_unique, kMicrosoft}};

}  // namespace

extern const LiftRules lift_moved_to_onnx;
constinit const LiftRules lift_moved_to_onnx{kMovedRules};

}  // namespace retort
