// BatchNormalization, LayerNormalization, Softmax and LogSoftmax.
#include <algorithm>

#include "operators.h"

namespace onednn {
namespace {

using Flags = dnnl::normalization_flags;
constexpr auto kNormInference = dnnl::prop_kind::forward_inference;

class LayerNorm : public Operation {
 public:
  LayerNorm(size_t axis, float epsilon) : axis_(axis), epsilon_(epsilon) {}
  void build(Builder& b) const override {
    const Tensor& x = b.value(in[0]);
    if (b.empty(*this, x.dims)) return;
    const auto split = x.dims.begin() + ptrdiff_t(axis_);
    const int64_t inner = count_of({split, x.dims.end()}), outer = count_of({x.dims.begin(), split});
    Tensor rows = b.reshaped(b.plain_of(x, DataType::f32), {outer, inner});
    const bool shifts = in.size() > 2 && in[2] >= 0;
    const Flags flags = shifts ? Flags::use_scale | Flags::use_shift : Flags::use_scale;
    const dnnl::layer_normalization_forward::desc desc(kNormInference, rows.desc, epsilon_, flags);
    Tensor to = b.fresh(rows.dims, rows.desc);
    const auto parameter = [&](size_t i) {
      Tensor t = b.plain_of(b.value(in[i]));
      t.desc = plain({inner}, DataType::f32);
      return t;
    };
    Arguments arguments{{DNNL_ARG_SRC, rows}, {DNNL_ARG_DST, to}, {DNNL_ARG_SCALE, parameter(1)}};
    if (shifts) arguments.emplace_back(DNNL_ARG_SHIFT, parameter(2));
    b.step_of(dnnl::layer_normalization_forward::primitive_desc(desc, attributes(), engine()), arguments);
    b.made(*this, b.reshaped(to, x.dims));
  }

 private:
  const size_t axis_;
  const float epsilon_;
};

class Softmax : public Operation {
 public:
  Softmax(dnnl::algorithm f, size_t axis, bool flat) : function_(f), axis_(axis), flat_(flat) {}
  void build(Builder& b) const override {
    const Tensor& x = b.value(in[0]);
    if (b.empty(*this, x.dims)) return;
    const auto split = x.dims.begin() + ptrdiff_t(axis_);
    if (flat_) {  // before version 13, all axes from this one on count as one
      const Dims rows{count_of({x.dims.begin(), split}), count_of({split, x.dims.end()})};
      b.made(*this, b.reshaped(over_last(b, b.reshaped(b.plain_of(x), rows)), x.dims));
      return;
    }
    // The library is fast only along the last axis: the axis is swapped with it, and back in the view of the result.
    std::vector<int> swap(x.dims.size());
    for (size_t i = 0; i < swap.size(); ++i) swap[i] = int(i);
    std::swap(swap[axis_], swap.back());
    Tensor seen = x;
    seen.desc = x.desc.permute_axes(swap);
    seen.dims = seen.desc.dims();
    Tensor y = over_last(b, seen);
    y.desc = y.desc.permute_axes(swap);
    y.dims = x.dims;
    b.made(*this, y);
  }

 private:
  Tensor over_last(Builder& b, const Tensor& x) const {
    const Tensor from = b.plain_of(x, DataType::f32);
    const bool over = from.block != x.block || b.dies(x);
    const Tensor to = over ? from : b.fresh(from.dims, from.desc);
    const dnnl::softmax_v2_forward::desc desc(kNormInference, function_, from.desc, to.desc, int(from.dims.size()) - 1);
    b.step_of(dnnl::softmax_v2_forward::primitive_desc(desc, attributes(), engine()),
              {{DNNL_ARG_SRC, from}, {DNNL_ARG_DST, to}});
    return to;
  }

  const dnnl::algorithm function_;
  const size_t axis_;
  const bool flat_;
};

bool claims_batch_norm(const Node& node) {
  return floats(node, 2, 5) && node.in.size() == 5 &&
         std::all_of(node.in.begin(), node.in.end(), [](const Value* v) { return v != nullptr; }) &&
         node.integer("training_mode", 0) == 0 && node.integer("spatial", 1) == 1 && node.since >= 7;
}

int64_t norm_axis(const Node& node, int64_t otherwise) {
  const auto rank = int64_t(node.in[0]->rank());
  const int64_t axis = node.integer("axis", otherwise);
  return axis < 0 ? axis + rank : axis;
}

bool has_axis(const Node& node, int64_t otherwise) {
  const int64_t axis = norm_axis(node, otherwise);
  return axis >= 0 && axis < int64_t(node.in[0]->rank());
}

bool claims_layer_norm(const Node& node) {
  if (!floats(node) || !has_axis(node, -1) || node.integer("stash_type", 1) != 1) return false;
  const Dims& x = node.in[0]->dims;
  const Dims inner(x.begin() + ptrdiff_t(norm_axis(node, -1)), x.end());
  const auto fits = [&](const Value* v) { return v && v->fixed() && v->dims == inner; };
  return fits(node.input(1)) && (!node.input(2) || fits(node.in[2])) && count_of(inner) > 0;
}

bool claims_softmax(const Node& node) { return floats(node, 1, 5) && has_axis(node, node.since < 13 ? 1 : -1); }

std::unique_ptr<Operation> make_softmax(const Node& node) {
  const bool log = node.type == "LogSoftmax", flat = node.since < 13;
  return std::make_unique<Softmax>(log ? dnnl::algorithm::softmax_log : dnnl::algorithm::softmax_accurate,
                                   size_t(norm_axis(node, flat ? 1 : -1)), flat);
}

}  // namespace

void BatchNorm::build(Builder& b) const {
  const Tensor& x = b.value(in[0]);
  if (b.empty(*this, x.dims)) return;
  const dnnl::batch_normalization_forward::desc desc(kNormInference, x.desc, epsilon,
                                                     Flags::use_global_stats | Flags::use_scale | Flags::use_shift);
  const Tensor to = b.fresh(x.dims, x.desc);
  for (size_t i = 1; i < 5; ++i) {
    if (b.value(in[i]).dims != Dims{x.dims[1]})
      throw providers::Error(
          providers::text("input ", i, " must have one value for each of the ", x.dims[1], " channels"),
          ORT_INVALID_ARGUMENT);
  }
  b.step_of(dnnl::batch_normalization_forward::primitive_desc(desc, attributes(), engine()),
            {{DNNL_ARG_SRC, x},
             {DNNL_ARG_DST, to},
             {DNNL_ARG_SCALE, b.value(in[1])},
             {DNNL_ARG_SHIFT, b.value(in[2])},
             {DNNL_ARG_MEAN, b.value(in[3])},
             {DNNL_ARG_VARIANCE, b.value(in[4])}});
  b.made(*this, to);
}

void add_norms(Rules& rules) {
  rules.push_back({"BatchNormalization", 7, claims_batch_norm, [](const Node& n) -> std::unique_ptr<Operation> {
                     return std::make_unique<BatchNorm>(n.number("epsilon", 1e-5f));
                   }});
  rules.push_back({"LayerNormalization", 17, claims_layer_norm, [](const Node& n) -> std::unique_ptr<Operation> {
                     return std::make_unique<LayerNorm>(size_t(norm_axis(n, -1)), n.number("epsilon", 1e-5f));
                   }});
  for (const char* type : {"Softmax", "LogSoftmax"}) rules.push_back({type, 1, claims_softmax, make_softmax});
}

}  // namespace onednn
