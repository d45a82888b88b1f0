// Resize by integer factors.
#include <cmath>

#include "operators.h"

namespace onednn {
namespace {

class Resize : public Operation {
 public:
  Resize(dnnl::algorithm f, Dims factors) : function_(f), factors_(std::move(factors)) {}
  void build(Builder& b) const override {
    const Tensor& x = b.value(in[0]);
    Dims y = x.dims;
    for (size_t i = 0; i < y.size(); ++i) y[i] *= factors_[i];
    if (b.empty(*this, y)) return;
    const dnnl::resampling_forward::desc desc(dnnl::prop_kind::forward_inference, function_, x.desc,
                                              Desc(y, x.type(), dnnl::memory::format_tag::any));
    const dnnl::resampling_forward::primitive_desc pd(desc, attributes(), engine());
    const Tensor to = b.fresh(y, pd.dst_desc());
    b.step_of(pd, {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, to}});
    b.made(*this, to);
  }

 private:
  const dnnl::algorithm function_;
  const Dims factors_;
};

// Integer factors, 1 for batch and channels; empty for other scales.
Dims factors_of(const Node& node) {
  const size_t at = node.type == "Upsample" || node.since < 11 ? 1 : 2;
  if (!is_constant(node, at) || node.input(3)) return {};
  const providers::TensorView v = providers::view_of(node.in[at]->constant);
  if (v.type != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT || v.count() != node.in[0]->rank()) return {};
  Dims factors;
  for (size_t i = 0; i < v.count(); ++i) {
    const float f = static_cast<const float*>(v.data)[i];
    if (f < 1 || f > 1024 || f != std::floor(f) || (i < 2 && f != 1)) return {};
    factors.push_back(int64_t(f));
  }
  return factors;
}

// The library finds neighbours from the centres of elements, as half_pixel does. For integer factors, the nearest
// element is also that of asymmetric with floor.
bool claims_resize(const Node& node) {
  const Value& x = *node.in[0];
  if (x.type != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT || !x.has_rank || x.rank() < 3 || x.rank() > 5) return false;
  if (node.since < 11 || node.has("axes") || node.integer("antialias", 0) || factors_of(node).empty()) return false;
  const std::string mode = node.string("mode", "nearest"),
                    way = node.string("coordinate_transformation_mode", "half_pixel"),
                    nearest = node.string("nearest_mode", "round_prefer_floor");
  if (mode == "linear") return way == "half_pixel";
  return mode == "nearest" && ((way == "asymmetric" && nearest == "floor") ||
                               (way == "half_pixel" && nearest != "floor" && nearest != "ceil"));
}

}  // namespace

void add_resizes(Rules& rules) {
  rules.push_back({"Resize", 11, claims_resize, [](const Node& n) -> std::unique_ptr<Operation> {
                     return std::make_unique<Resize>(n.string("mode", "nearest") == "linear"
                                                         ? dnnl::algorithm::resampling_linear
                                                         : dnnl::algorithm::resampling_nearest,
                                                     factors_of(n));
                   }});
}

}  // namespace onednn
