// LayerNormalization and its kin along the last axes, with what is added before.
#include "rows.h"

namespace providers::cuda {
namespace {

// The kernel's struct of this name.
struct Sizes {
  int64_t rows, length, x_rows, skip_rows, bias_rows, groups, area;
  float epsilon;
  int32_t unused;
};

}  // namespace

void launch_norm(Emitter& e, const RowNorm& n) {
  if (n.rows == 0 || n.length == 0) return;
  RowPlan plan = plan_rows(e, n.x.type, n.rows, n.length);
  const bool scaled = n.scale.buffer >= 0;
  Defines& d = plan.defines;
  d["SKIP"] = n.skip.buffer >= 0 ? "1" : "0";
  d["BIAS"] = n.bias.buffer >= 0 ? "1" : "0";
  d["CENTRED"] = n.centred ? "1" : "0";
  d["SCALE"] = !scaled ? "0" : n.area ? "2" : "1";
  d["SCALED"] = stored_type(n.y.type);
  d["STATISTIC"] = stored_type(n.statistic);
  const Sizes sizes{n.rows, n.length, n.x_rows, n.skip_rows, n.bias_rows, n.groups, n.area, n.epsilon, 0};
  e.launch(e.kernel("norm.cu", "norm_rows", d), plan.grid,
           {n.x, n.skip, n.bias, n.scale, n.shift, n.y, n.mean, n.inverse, n.sum, n.ids[0], n.ids[1], n.ids[2],
            Argument::of(sizes)});
}

namespace {

// LayerNormalization, RMSNormalization, SimplifiedLayerNormalization.
struct LayerNorm : Op {
  int64_t axis = -1;
  float epsilon = 0;
  bool centred = true;
  Type statistic = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;

  void emit(Emitter& e) const override {
    RowNorm n;
    n.x = e.in(0);
    const size_t at = axis_of(e, axis, n.x.rank());
    n.rows = n.x_rows = product(n.x.dims, 0, at);
    n.length = product(n.x.dims, at, n.x.rank());
    n.epsilon = epsilon;
    n.centred = centred;
    n.statistic = statistic;
    n.scale = e.in(1);
    if (e.has(2)) n.shift = e.in(2);
    const int64_t scales = int64_t(n.scale.count());
    if (scales != n.length && scales != 1) e.fail(text("the scale has ", scales, " elements, expected ", n.length));
    if (e.has(2) && n.shift.count() != n.scale.count())
      e.fail(text("the bias has ", n.shift.count(), " elements, expected ", scales));
    if (scales != n.length) n.area = n.length;
    n.y = e.out(0, n.scale.type, n.x.dims);
    Dims statistics(n.x.dims.begin(), n.x.dims.begin() + long(at));
    statistics.resize(n.x.rank(), 1);
    const size_t inverse = centred ? 2 : 1;
    if (centred && e.has_out(1)) n.mean = e.out(1, statistic, statistics);
    if (e.has_out(inverse)) n.inverse = e.out(inverse, statistic, statistics);
    launch_norm(e, n);
  }
};

std::string refuses_layer(const Node& node, const Claiming&) {
  for (size_t i = 0; i < node.in.size(); ++i) {
    if (i == 2 && !node.input(2)) continue;
    const std::string why = refuses_type(node, i, "fd");
    if (!why.empty()) return why;
  }
  const Value *x = node.input(0), *scale = node.input(1);
  if (node.input(2) && node.input(2)->type != scale->type) return "scale and bias have different types";
  if ((size_of(x->type) == 8) != (size_of(scale->type) == 8)) return "only one of input and scale is float64";
  if (!x->has_rank || !scale->fixed() || !scale->has_rank) return "";
  const int64_t given = node.integer("axis", -1), axis = given < 0 ? given + int64_t(x->rank()) : given;
  if (axis < 0 || axis >= int64_t(x->rank())) return text("axis ", given, " for rank ", x->rank());
  int64_t length = 1;
  for (size_t d = size_t(axis); d < x->rank(); ++d) length = x->dims[d] < 0 ? -1 : length * x->dims[d];
  const int64_t scales = product(scale->dims, 0, scale->rank());
  const bool known = length >= 0 && x->fixed();
  return !known || scales == length || scales == 1 ? "" : "the scale is broadcast along some axes only";
}

std::unique_ptr<Op> make_layer(const Node& node, Builder& builder) {
  auto op = std::make_unique<LayerNorm>();
  bind(*op, node, builder);
  op->axis = node.integer("axis", -1);
  op->epsilon = node.number("epsilon", 1e-5f);
  op->centred = node.type == "LayerNormalization";
  for (size_t i = 1; i < node.out.size(); ++i)
    if (node.out[i]) op->statistic = node.out[i]->type;
  return op;
}

// SkipLayerNormalization and SkipSimplifiedLayerNormalization of com.microsoft.
struct SkipNorm : Op {
  float epsilon = 0;
  bool centred = true;
  Type statistic = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;

  void emit(Emitter& e) const override {
    RowNorm n;
    const size_t bias = centred ? 4 : 3;
    n.x = e.in(0);
    n.skip = e.in(1);
    n.scale = e.in(2);
    if (centred && e.has(3)) n.shift = e.in(3);
    if (e.has(bias)) n.bias = e.in(bias);
    n.length = n.x.dims.empty() ? 1 : n.x.dims.back();
    const int64_t count = int64_t(n.x.count()), skips = int64_t(n.skip.count());
    if (int64_t(n.scale.count()) != n.length || (n.length && skips % n.length) || (skips == 0) != (count == 0))
      e.fail(text("the last axis has ", n.length, " elements, the scale ", n.scale.count(), ", the skip ", skips));
    n.rows = n.x_rows = n.length ? count / n.length : 0;
    n.skip_rows = n.length ? skips / n.length : 1;
    n.epsilon = epsilon;
    n.centred = centred;
    n.statistic = statistic;
    n.y = e.out(0, n.x.type, n.x.dims);
    Dims statistics = n.x.dims;
    if (!statistics.empty()) statistics.back() = 1;
    if (e.has_out(1)) n.mean = e.out(1, statistic, statistics);
    if (e.has_out(2)) n.inverse = e.out(2, statistic, statistics);
    if (e.has_out(3)) n.sum = e.out(3, n.x.type, n.x.dims);
    launch_norm(e, n);
  }
};

std::string refuses_skip(const Node& node, const Claiming&) {
  for (size_t i = 0; i < node.in.size(); ++i) {
    if (i > 2 && !node.in[i]) continue;
    const std::string why = refuses_type(node, i, "f");
    if (!why.empty()) return why;
    if (node.in[i]->type != node.in[0]->type) return "inputs have different types";
  }
  return "";
}

std::unique_ptr<Op> make_skip(const Node& node, Builder& builder) {
  auto op = std::make_unique<SkipNorm>();
  bind(*op, node, builder);
  op->epsilon = node.number("epsilon", 1e-12f);
  op->centred = node.type == "SkipLayerNormalization";
  for (size_t i = 1; i < 3 && i < node.out.size(); ++i)
    if (node.out[i]) op->statistic = node.out[i]->type;
  return op;
}

}  // namespace

void add_layer_norms(Kinds& kinds) {
  for (const char* kind : {"LayerNormalization", "RMSNormalization", "SimplifiedLayerNormalization"})
    kinds[{"", kind}] = {refuses_layer, make_layer};
  kinds[{"com.microsoft", "SimplifiedLayerNormalization"}] = {refuses_layer, make_layer};
  for (const char* kind : {"SkipLayerNormalization", "SkipSimplifiedLayerNormalization"})
    kinds[{"com.microsoft", kind}] = {refuses_skip, make_skip};
}

void add_norms(Kinds& kinds) {
  add_layer_norms(kinds);
  add_channel_norms(kinds);
  add_other_norms(kinds);
}

}  // namespace providers::cuda
