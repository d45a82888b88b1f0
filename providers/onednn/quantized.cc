// QLinearConv, QLinearMatMul, MatMulInteger, QuantizeLinear and DequantizeLinear.
#include "quantized.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "window.h"

namespace onednn {
namespace {

using providers::Error;
using providers::is_byte;
using providers::scale_of;
using providers::shape_text;
using providers::stored;
using providers::TensorView;
using providers::text;
using providers::view_of;
constexpr auto kAny = dnnl::memory::format_tag::any;

// Without these instructions, products of bytes are summed in 16 bits, which may overflow.
bool has_byte_products() {
  static const bool has = [] {
    const auto isa = int(dnnl::get_effective_cpu_isa());
    const auto at_least = [isa](dnnl::cpu_isa least) { return (isa & int(least)) == int(least); };
    return at_least(dnnl::cpu_isa::avx512_core_vnni) || at_least(dnnl::cpu_isa::avx2_vnni);
  }();
  return has;
}

// The factor from sums of products to stored results, and the zero points.
dnnl::primitive_attr scaled(const Quantization& q, bool zero_of_weights) {
  dnnl::primitive_attr attr = attributes();
  if (q.type != DataType::s32) {
    std::vector<float> factors;
    for (const float w : q.w.scales) factors.push_back(q.x.scales[0] * w / q.y.scales[0]);
    attr.set_output_scales(factors.size() > 1 ? 2 : 0, factors);
  }
  if (q.x.zero) attr.set_zero_points(DNNL_ARG_SRC, 0, {q.x.zero});
  if (q.w.zero && zero_of_weights) attr.set_zero_points(DNNL_ARG_WEIGHTS, 0, {q.w.zero});
  if (q.y.zero) attr.set_zero_points(DNNL_ARG_DST, 0, {q.y.zero});
  dnnl::post_ops ops;
  for (const PostOp& p : q.post) ops.append_eltwise(1, p.function, p.alpha, p.beta);
  attr.set_post_ops(ops);
  return attr;
}

// Checks that scales and sums have one value per result.
void check_sizes(const Quantization& q, int64_t results) {
  const bool scales = q.w.scales.size() == 1 || q.w.scales.empty() || int64_t(q.w.scales.size()) == results;
  if (!scales || (q.bias && q.bias->dims() != Dims{results}))
    throw Error(text("scales or bias of the weights have another size than their ", results, " results"),
                ORT_INVALID_ARGUMENT);
}

class IntConvolution : public Operation {
 public:
  IntConvolution(const Window& window, Quantization q) : window_(window), q_(std::move(q)) {}
  void build(Builder& b) const override {
    const Tensor& x = b.value(in[0]);
    const Dims& w = q_.weights->dims();
    Window window = window_;
    const Dims y = window.settle(x.dims, w), dims = window.grouped(w);
    check_sizes(q_, w[0]);
    if (b.empty(*this, y, q_.type)) return;
    const Desc bias = q_.bias ? plain({w[0]}, DataType::s32) : Desc();
    const dnnl::convolution_forward::desc desc(dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
                                               Desc(x.dims, x.type(), kAny), Desc(dims, DataType::s8, kAny), bias,
                                               Desc(y, q_.type, kAny), window.strides, window.gaps(), window.begin,
                                               window.end);
    const dnnl::convolution_forward::primitive_desc pd(desc, scaled(q_, false), engine());
    const Tensor to = b.fresh(y, pd.dst_desc());
    Arguments arguments{{DNNL_ARG_SRC, b.in(x, pd.src_desc())},
                        {DNNL_ARG_WEIGHTS, b.weights(*q_.weights, pd.weights_desc(), plain(dims, DataType::s8))},
                        {DNNL_ARG_DST, to}};
    if (q_.bias) arguments.emplace_back(DNNL_ARG_BIAS, b.weights(*q_.bias, bias, bias));
    b.step_of(pd, arguments);
    b.made(*this, to);
  }

 private:
  const Window window_;
  const Quantization q_;
};

class IntProduct : public Operation {
 public:
  IntProduct(bool transposed, Quantization q) : transposed_(transposed), q_(std::move(q)) {}
  void build(Builder& b) const override {
    const Tensor& x = b.value(in[0]);
    Dims w = q_.weights->dims(), result = x.dims;
    const Desc view = transposed_ ? plain(w, DataType::s8).permute_axes({1, 0}) : plain(w, DataType::s8);
    if (transposed_) std::swap(w[0], w[1]);
    if (x.dims.back() != w[0])
      throw Error(text("shapes ", shape_text(x.dims), " and ", shape_text(w), " cannot be multiplied"),
                  ORT_INVALID_ARGUMENT);
    result.back() = w[1];
    check_sizes(q_, w[1]);
    if (b.empty(*this, result, q_.type)) return;
    if (w[0] == 0)
      throw Error("there are no elements to sum; the last axis of its first input must not be 0", ORT_INVALID_ARGUMENT);
    const int64_t rows = w[0] ? count_of(x.dims) / w[0] : 0;
    const Tensor from = b.reshaped(b.plain_of(x), {rows, w[0]});
    const Desc bias = q_.bias ? plain({1, w[1]}, DataType::s32) : Desc(), to_desc = plain({rows, w[1]}, q_.type);
    const Desc any(w, DataType::s8, kAny);
    const auto desc =
        q_.bias ? dnnl::matmul::desc(from.desc, any, bias, to_desc) : dnnl::matmul::desc(from.desc, any, to_desc);
    const dnnl::matmul::primitive_desc pd(desc, scaled(q_, true), engine());
    Tensor to = b.fresh(result, to_desc);
    Arguments arguments{
        {DNNL_ARG_SRC, from}, {DNNL_ARG_WEIGHTS, b.weights(*q_.weights, pd.weights_desc(), view)}, {DNNL_ARG_DST, to}};
    if (q_.bias) arguments.emplace_back(DNNL_ARG_BIAS, b.weights(*q_.bias, bias, bias));
    b.step_of(pd, arguments);
    to.desc = plain(result, q_.type);
    b.made(*this, to);
  }

 private:
  const bool transposed_;
  const Quantization q_;
};

// The weights of a node as int8 with their scale; null if they cannot be converted.
std::shared_ptr<Weights> weights_of(const Node& node, size_t i, Scale& scale) {
  Weights w(view_of(node.in[i]->constant));
  return signed_weights(w, scale.zero);
}

// Inputs of QLinearConv and QLinearMatMul; no weights if the node cannot be claimed.
Quantization linear(const Node& node) {
  Quantization q;
  if (node.in.size() < 8 || !is_byte(node.in[0]) || !node.in[0]->has_rank || !is_byte(node.in[3]) ||
      !is_constant(node, 3) || !is_byte(node.out[0]) || !has_byte_products())
    return q;
  q.x = scale_of(node, 1, 2);
  q.w = scale_of(node, 4, 5);
  q.y = scale_of(node, 6, 7);
  q.type = data_type(node.out[0]->type);
  if (q.x.scales.size() != 1 || q.y.scales.size() != 1 || q.w.scales.empty()) return q;
  if (node.input(8)) {
    const bool fits = is_constant(node, 8) && node.in[8]->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32 &&
                      node.in[8]->dims == Dims{node.in[3]->dims.at(0)};
    if (!fits) return q;
    q.bias = std::make_shared<Weights>(view_of(node.in[8]->constant));
  }
  q.weights = weights_of(node, 3, q.w);
  return q;
}

bool claims_linear_conv(const Node& node) {
  const Quantization q = linear(node);
  if (!q.weights || q.w.zero || !Window(node).sound()) return false;
  const Dims& w = q.weights->dims();
  const size_t rank = node.in[0]->rank();
  return rank >= 3 && rank <= 5 && w.size() == rank && (q.w.scales.size() == 1 || int64_t(q.w.scales.size()) == w[0]);
}

bool claims_linear_product(const Node& node) {
  const Quantization q = linear(node);
  return q.weights && q.weights->dims().size() == 2 && node.in[0]->rank() >= 2 &&
         (q.w.scales.size() == 1 || (int64_t(q.w.scales.size()) == q.weights->dims()[1] && !q.w.zero));
}

// Unscaled sums of products.
Quantization integers(const Node& node) {
  Quantization q;
  q.type = DataType::s32;
  const auto zero = [&](size_t i, int32_t& z) {
    if (!node.input(i)) return true;
    const std::vector<int32_t> list = is_constant(node, i) ? stored(node.in[i]->constant) : std::vector<int32_t>();
    z = list.size() == 1 ? list[0] : 0;
    return list.size() == 1;
  };
  if (is_byte(node.in[0]) && is_byte(node.input(1)) && is_constant(node, 1) && has_byte_products() &&
      zero(2, q.x.zero) && zero(3, q.w.zero))
    q.weights = weights_of(node, 1, q.w);
  return q;
}

bool claims_integers(const Node& node) {
  if (!node.in[0]->has_rank || node.in[0]->rank() < 2) return false;
  const Quantization q = integers(node);
  return q.weights && q.weights->dims().size() == 2;
}

bool claims_dequantize(const Node& node) { return providers::dequantizes(node) && node.in[0]->rank() <= 5; }
bool claims_quantize(const Node& node) { return providers::quantizes(node) && node.in[0]->rank() <= 5; }

// The tensor in a usual layout for elements of another type; row-major if it has another one.
Tensor usual(Builder& b, const Tensor& t) { return channels_last(t.desc) ? t : b.plain_of(t); }
Desc like(const Tensor& t, DataType type) {
  return channels_last(t.desc) ? last_channels(t.desc.dims(), type) : plain(t.desc.dims(), type);
}

template <typename T>
void quantize(const float* from, T* to, int64_t count, float scale, int32_t zero) {
  constexpr float least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
#pragma omp parallel for simd schedule(static)
  for (int64_t i = 0; i < count; ++i)
    to[i] = T(std::min(std::max(std::nearbyint(from[i] / scale) + float(zero), least), most));
}

}  // namespace

std::unique_ptr<Operation> Operation::quantized(Quantization) const { return nullptr; }

std::unique_ptr<Operation> quantized_convolution(const Window& window, Quantization q) {
  if (q.w.zero || !has_byte_products()) return nullptr;
  return std::make_unique<IntConvolution>(window, std::move(q));
}

std::unique_ptr<Operation> quantized_product(bool transposed, Quantization q) {
  if (q.weights->dims().size() != 2 || !has_byte_products() || (q.w.zero && q.w.scales.size() > 1)) return nullptr;
  return std::make_unique<IntProduct>(transposed, std::move(q));
}

std::shared_ptr<Weights> signed_weights(Weights& w, int32_t& zero) {
  if (w.type() != DataType::s8 && w.type() != DataType::u8) return nullptr;
  const Desc own = plain(w.dims(), w.type());
  const Bytes memory = w.in(own);
  const bool moved = w.type() == DataType::u8;
  std::vector<int8_t> values(size_t(count_of(w.dims())));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = moved ? int8_t(int(uint8_t(memory.get()[i])) - 128) : int8_t(memory.get()[i]);
  zero -= moved ? 128 : 0;
  TensorView view;
  view.type = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8;
  view.dims = w.dims();
  view.data = values.data();
  return std::make_shared<Weights>(view);
}

void Dequantize::build(Builder& b) const {
  if (b.empty(*this, b.value(in[0]).dims)) return;
  const Tensor x = usual(b, b.value(in[0]));
  Tensor to = b.fresh(x.dims, like(x, DataType::f32));
  dnnl::primitive_attr attr = attributes();
  attr.set_output_scales(scale.scales.size() > 1 ? 1 << scale.axis : 0, scale.scales);
  if (scale.zero) attr.set_zero_points(DNNL_ARG_SRC, 0, {scale.zero});
  const dnnl::reorder::primitive_desc pd(engine(), x.desc, engine(), to.desc, attr);
  b.step_of(pd, {{DNNL_ARG_FROM, x}, {DNNL_ARG_TO, to}});
  b.made(*this, to);
}

void Quantize::build(Builder& b) const {
  Tensor x = usual(b, b.value(in[0]));
  if (x.type() != DataType::f32) x = b.in(x, like(x, DataType::f32));
  const Tensor to = b.fresh(x.dims, like(x, type));
  const int64_t count = count_of(x.dims);
  const bool is_signed = type == DataType::s8;
  b.work({x, to}, [count, is_signed, s = scale.scales[0], zero = scale.zero](const std::vector<char*>& p) {
    const auto* from = reinterpret_cast<const float*>(p[0]);
    if (is_signed)
      quantize(from, reinterpret_cast<int8_t*>(p[1]), count, s, zero);
    else
      quantize(from, reinterpret_cast<uint8_t*>(p[1]), count, s, zero);
  });
  b.made(*this, to);
}

void add_quantized(Rules& rules) {
  rules.push_back(
      {"QLinearConv", 10, claims_linear_conv,
       [](const Node& n) -> std::unique_ptr<Operation> { return quantized_convolution(Window(n), linear(n)); }, false,
       false, true});
  rules.push_back({"QLinearMatMul", 10, claims_linear_product,
                   [](const Node& n) -> std::unique_ptr<Operation> { return quantized_product(false, linear(n)); },
                   false, false, true});
  rules.push_back({"MatMulInteger", 10, claims_integers,
                   [](const Node& n) -> std::unique_ptr<Operation> { return quantized_product(false, integers(n)); },
                   false, false, true});
  rules.push_back({"DequantizeLinear", 10, claims_dequantize,
                   [](const Node& n) -> std::unique_ptr<Operation> {
                     return std::make_unique<Dequantize>(providers::dequantization(n));
                   },
                   false, false, true});
  rules.push_back({"QuantizeLinear", 10, claims_quantize,
                   [](const Node& n) -> std::unique_ptr<Operation> {
                     return std::make_unique<Quantize>(scale_of(n, 1, 2), data_type(n.out[0]->type));
                   },
                   false, false, true});
}

}  // namespace onednn
