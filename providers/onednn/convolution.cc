// Conv and ConvTranspose.
#include <algorithm>

#include "quantized.h"
#include "window.h"

namespace onednn {
namespace {

using providers::Error;
using providers::shape_text;
using providers::text;
constexpr auto kInference = dnnl::prop_kind::forward_inference;

class Convolution : public Operation {
 public:
  explicit Convolution(const Node& node) : window_(node) {}
  bool takes_post() const override { return true; }
  std::unique_ptr<Operation> quantized(Quantization q) const override {
    return quantized_convolution(window_, std::move(q));
  }
  bool fold(Program& p, const std::vector<float>& scale, const std::vector<float>& shift) override;
  void build(Builder& b) const override;

 private:
  const Window window_;
};

Tensor formed(Builder& b, int id, const Desc& form, const Desc& view) {
  const Dims dims = b.constant(id) ? b.constant(id)->dims() : b.value(id).dims;
  if (count_of(dims) != count_of(view.dims()))
    throw Error(
        text("an input has shape ", shape_text(dims), ", but its weights need ", count_of(view.dims()), " elements"),
        ORT_INVALID_ARGUMENT);
  if (b.constant(id)) return b.weights(id, form, view);
  Tensor t = b.plain_of(b.value(id));
  t.desc = view;
  return b.in(t, form);
}

bool Convolution::fold(Program& p, const std::vector<float>& scale, const std::vector<float>& shift) {
  const auto constant = [&](size_t i) { return p.values[size_t(in[i])].constant.get(); };
  const bool bias = in.size() > 2 && in[2] >= 0;
  if (!post.empty() || !constant(1) || (bias && !constant(2))) return false;
  const Dims dims = constant(1)->dims();
  if (size_t(dims[0]) != scale.size()) return false;
  if (bias && constant(2)->dims() != Dims{dims[0]}) return false;
  std::vector<float> w = constant(1)->values(),
                     sum = bias ? constant(2)->values() : std::vector<float>(scale.size(), 0);
  const size_t row = w.size() / scale.size();
  for (size_t c = 0; c < scale.size(); ++c) {
    for (size_t i = 0; i < row; ++i) w[c * row + i] *= scale[c];
    sum[c] = sum[c] * scale[c] + shift[c];
  }
  const auto add = [&](std::shared_ptr<Weights> made) {
    Slot slot;
    slot.constant = std::move(made);
    p.values.push_back(std::move(slot));
    return int(p.values.size()) - 1;
  };
  in.resize(3, -1);
  in[1] = add(std::make_shared<Weights>(dims, w));
  in[2] = add(std::make_shared<Weights>(Dims{dims[0]}, sum));
  return true;
}

void Convolution::build(Builder& b) const {
  const Tensor& x = b.value(in[0]);
  const Dims w = b.constant(in[1]) ? b.constant(in[1])->dims() : b.value(in[1]).dims;
  const bool bias = in.size() > 2 && in[2] >= 0;
  Window window = window_;
  const Dims y = window.settle(x.dims, w), dims = window.grouped(w);
  if (b.empty(*this, y)) return;
  const DataType type = b.settings().bf16 ? DataType::bf16 : DataType::f32;
  constexpr auto any = dnnl::memory::format_tag::any;
  const Desc bias_desc = bias ? plain({w[0]}, DataType::f32) : Desc();
  const dnnl::convolution_forward::desc desc(kInference, dnnl::algorithm::convolution_direct, Desc(x.dims, type, any),
                                             Desc(dims, type, any), bias_desc, Desc(y, type, any), window.strides,
                                             window.gaps(), window.begin, window.end);
  const Posts posts(b, *this, y);
  dnnl::primitive_attr attr = attributes();
  attr.set_post_ops(posts.ops());
  const dnnl::convolution_forward::primitive_desc pd(desc, attr, engine());
  Arguments arguments{{DNNL_ARG_SRC, b.in(x, pd.src_desc())},
                      {DNNL_ARG_WEIGHTS, formed(b, in[1], pd.weights_desc(), plain(dims, DataType::f32))}};
  if (bias) arguments.emplace_back(DNNL_ARG_BIAS, formed(b, in[2], bias_desc, bias_desc));
  const Tensor to = posts.target(b, y, pd.dst_desc());
  arguments.emplace_back(DNNL_ARG_DST, to);
  b.step_of(pd, arguments);
  b.made(*this, posts.rest(b, to));
}

class Transposed : public Operation {
 public:
  explicit Transposed(const Node& node) : window_(node) {}
  void build(Builder& b) const override;

 private:
  const Window window_;
};

void Transposed::build(Builder& b) const {
  const Tensor& x = b.value(in[0]);
  const Dims w = b.constant(in[1]) ? b.constant(in[1])->dims() : b.value(in[1]).dims;
  const bool bias = in.size() > 2 && in[2] >= 0;
  const int64_t groups = window_.groups;
  if (w.size() != x.dims.size() || x.dims[1] != w[0] || w[0] % groups)
    throw Error(text("weights ", shape_text(w), " with group ", groups, " do not fit an input ", shape_text(x.dims)),
                ORT_INVALID_ARGUMENT);
  Dims y{x.dims[0], w[1] * groups}, own{groups, w[0] / groups, w[1]};
  for (size_t i = 0; i + 2 < w.size(); ++i) {
    own.push_back(w[i + 2]);
    y.push_back((x.dims[i + 2] - 1) * window_.strides[i] + window_.span(i, w[i + 2]) - window_.begin[i] -
                window_.end[i]);
    if (y.back() <= 0)
      throw Error(text("padding leaves no elements of axis ", i + 2, " of an input ", shape_text(x.dims)),
                  ORT_INVALID_ARGUMENT);
  }
  if (b.empty(*this, y)) return;
  // The model has [input channels, output channels of a group, ...]; the library has output channels first.
  std::vector<int> swap(own.size());
  for (size_t i = 0; i < swap.size(); ++i) swap[i] = i == 1 ? 2 : i == 2 ? 1 : int(i);
  const Desc view = plain(own, DataType::f32).permute_axes(swap);
  const Desc bias_desc = bias ? plain({y[1]}, DataType::f32) : Desc();
  constexpr auto any = dnnl::memory::format_tag::any;
  const dnnl::deconvolution_forward::desc desc(kInference, dnnl::algorithm::deconvolution_direct,
                                               Desc(x.dims, DataType::f32, any), Desc(view.dims(), DataType::f32, any),
                                               bias_desc, Desc(y, DataType::f32, any), window_.strides, window_.gaps(),
                                               window_.begin, window_.end);
  const dnnl::deconvolution_forward::primitive_desc pd(desc, attributes(), engine());
  Arguments arguments{{DNNL_ARG_SRC, b.in(x, pd.src_desc())},
                      {DNNL_ARG_WEIGHTS, formed(b, in[1], pd.weights_desc(), view)}};
  if (bias) arguments.emplace_back(DNNL_ARG_BIAS, formed(b, in[2], bias_desc, bias_desc));
  const Tensor to = b.fresh(y, pd.dst_desc());
  arguments.emplace_back(DNNL_ARG_DST, to);
  b.step_of(pd, arguments);
  b.made(*this, to);
}

bool claims_conv(const Node& node) {
  const Dims kernel = node.integers("kernel_shape");
  if (node.input(1) && !kernel.empty() && node.in[1]->fixed() &&
      (node.in[1]->rank() != kernel.size() + 2 ||
       !std::equal(kernel.begin(), kernel.end(), node.in[1]->dims.begin() + 2)))
    return false;  // the CPU provider reports the error
  return floats(node, 3, 5) && node.in.size() >= 2 && node.in[1] && node.in[1]->rank() == node.in[0]->rank() &&
         Window(node).sound();
}

bool claims_transposed(const Node& node) {
  const Dims extra = node.integers("output_padding");
  const std::string pad = node.string("auto_pad", "NOTSET");
  return claims_conv(node) && !node.has("output_shape") && (pad == "NOTSET" || pad.empty()) &&
         std::all_of(extra.begin(), extra.end(), [](int64_t v) { return v == 0; });
}

}  // namespace

void add_convolutions(Rules& rules) {
  rules.push_back({"Conv", 1, claims_conv,
                   [](const Node& n) -> std::unique_ptr<Operation> { return std::make_unique<Convolution>(n); }});
  rules.push_back({"ConvTranspose", 1, claims_transposed,
                   [](const Node& n) -> std::unique_ptr<Operation> { return std::make_unique<Transposed>(n); }});
}

}  // namespace onednn
