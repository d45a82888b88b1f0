// MatMul and Gemm.

#include "quantized.h"

namespace onednn {
namespace {

using providers::Error;
using providers::shape_text;
using providers::text;

struct Form {
  bool transpose_a = false, transpose_b = false;
  float alpha = 1, beta = 1;
};

/// Inputs a, b and an addend: for Gemm any, for MatMul a row from an Add.
class Product : public Operation {
 public:
  explicit Product(const Form& form) : form_(form) {}
  bool takes_post() const override { return true; }
  bool fold_bias(const Program& p, int value) override;
  std::unique_ptr<Operation> quantized(Quantization q) const override {
    if (form_.transpose_a || form_.alpha != 1 || form_.beta != 1) return nullptr;
    return quantized_product(form_.transpose_b, std::move(q));
  }
  void build(Builder& b) const override;

 private:
  struct Shapes {
    Dims a, b, y;  // of the primitive
    Dims result;   // of the model
  };
  Shapes shapes(const Dims& a, const Dims& b) const;
  bool adds() const { return in.size() > 2 && in[2] >= 0; }
  bool row(const Builder& b, int64_t n) const;
  Tensor scaled_sum(Builder& b, Tensor t) const;

  const Form form_;
};

bool Product::fold_bias(const Program& p, int value) {
  const Weights* w = p.values[size_t(in[1])].constant.get();
  const Weights* c = p.values[size_t(value)].constant.get();
  if (adds() || !post.empty() || !w || !c || w->dims().size() != 2 || form_.alpha != 1) return false;
  if (c->dims() != Dims{w->dims()[form_.transpose_b ? 0 : 1]}) return false;
  in.resize(3, -1);
  in[2] = value;
  return true;
}

// If b has no batches, the batches of a become rows.
Product::Shapes Product::shapes(const Dims& a, const Dims& b) const {
  Shapes s{a, b, {}, {}};
  const bool vector_a = a.size() == 1, vector_b = b.size() == 1;
  if (vector_a) s.a.insert(s.a.begin(), 1);
  if (vector_b) s.b.push_back(1);
  if (form_.transpose_a) std::swap(s.a[0], s.a[1]);
  if (form_.transpose_b) std::swap(s.b[0], s.b[1]);
  const int64_t m = s.a[s.a.size() - 2], n = s.b.back(), k = s.a.back();
  if (k != s.b[s.b.size() - 2])
    throw Error(text("shapes ", shape_text(a), " and ", shape_text(b), " cannot be multiplied"), ORT_INVALID_ARGUMENT);
  const Dims batch = broadcast({s.a.begin(), s.a.end() - 2}, {s.b.begin(), s.b.end() - 2});
  s.result = batch;
  if (!vector_a) s.result.push_back(m);
  if (!vector_b) s.result.push_back(n);
  if (s.b.size() == 2 && !form_.transpose_a) {
    s.a = {k ? count_of(s.a) / k : count_of(batch) * m, k};
    s.y = {s.a[0], n};
    return s;
  }
  s.a.insert(s.a.begin(), batch.size() + 2 - s.a.size(), 1);
  s.b.insert(s.b.begin(), batch.size() + 2 - s.b.size(), 1);
  s.y = batch;
  s.y.insert(s.y.end(), {m, n});
  return s;
}

// Whether a matrix is dense and row-major, or its transpose is.
bool direct(const Desc& desc) {
  const int n = desc.data.ndims;
  if (desc.data.format_kind != dnnl_blocked || desc.data.format_desc.blocking.inner_nblks) return false;
  const Desc straight = plain(desc.dims(), desc.data_type());
  if (desc == straight || n < 2) return desc == straight;
  std::vector<int> swap(static_cast<size_t>(n));
  for (int i = 0; i < n; ++i) swap[size_t(i)] = i;
  std::swap(swap[size_t(n) - 1], swap[size_t(n) - 2]);
  Dims other = desc.dims();
  std::swap(other[size_t(n) - 1], other[size_t(n) - 2]);
  return desc == plain(other, desc.data_type()).permute_axes(swap);
}

Tensor operand(Builder& b, const Tensor& t, const Dims& dims, bool transpose, DataType type) {
  Tensor x = t;
  if (transpose) {
    x = b.plain_of(x, type);
    x.desc = x.desc.permute_axes({1, 0});
  } else if (x.desc.dims() != dims) {
    x = b.reshaped(x, dims);
  }
  if (!direct(x.desc)) x = b.plain_of(x, type);
  if (x.type() != type) x = b.plain_of(x, type);
  return x;
}

bool Product::row(const Builder& b, int64_t n) const {
  const Dims dims = b.constant(in[2]) ? b.constant(in[2])->dims() : b.value(in[2]).dims;
  return form_.alpha == 1 && form_.beta == 1 && !dims.empty() && dims.back() == n && count_of(dims) == n;
}

Tensor Product::scaled_sum(Builder& b, Tensor t) const {
  constexpr auto linear = dnnl::algorithm::eltwise_linear;
  if (form_.alpha != 1) t = b.eltwise(t, {linear, form_.alpha, 0}, true);
  if (!adds()) return t;
  Tensor c = b.value(in[2]);
  if (form_.beta != 1) c = b.eltwise(b.plain_of(c), {linear, form_.beta, 0}, false);
  if (broadcast(t.dims, c.dims) != t.dims)
    throw Error(text("its third input ", shape_text(c.dims), " does not fit a result ", shape_text(t.dims)),
                ORT_INVALID_ARGUMENT);
  return b.binary(dnnl::algorithm::binary_add, t, c, true);
}

void Product::build(Builder& b) const {
  Weights* w = b.constant(in[1]);
  const Tensor& a = b.value(in[0]);
  const Shapes s = shapes(a.dims, w ? w->dims() : b.value(in[1]).dims);
  if (b.empty(*this, s.result)) return;
  if (s.a.back() == 0)
    throw Error("there are no elements to sum; the last axis of its first input must not be 0", ORT_INVALID_ARGUMENT);
  const DataType type = b.settings().bf16 ? DataType::bf16 : DataType::f32;
  const Tensor x = operand(b, a, s.a, form_.transpose_a, type);
  const Desc view =
      form_.transpose_b ? plain({s.b[1], s.b[0]}, DataType::f32).permute_axes({1, 0}) : plain(s.b, DataType::f32);
  Tensor y;
  if (!w) y = operand(b, b.value(in[1]), s.b, form_.transpose_b, type);
  const Desc y_desc = w ? Desc(s.b, type, dnnl::memory::format_tag::any) : y.desc;
  const bool bias = adds() && row(b, s.y.back()), whole = bias || (!adds() && form_.alpha == 1);
  Dims bias_dims(s.y.size(), 1);
  bias_dims.back() = s.y.back();
  const Desc bias_desc = bias ? plain(bias_dims, DataType::f32) : Desc(), to_desc = plain(s.y, DataType::f32);
  const auto desc =
      bias ? dnnl::matmul::desc(x.desc, y_desc, bias_desc, to_desc) : dnnl::matmul::desc(x.desc, y_desc, to_desc);
  const Posts posts(b, *this, s.result);
  dnnl::primitive_attr attr = attributes();
  if (whole) attr.set_post_ops(posts.ops());
  const dnnl::matmul::primitive_desc pd(desc, attr, engine());
  if (w) y = b.weights(in[1], pd.weights_desc(), view);
  Tensor to = whole ? posts.target(b, s.y, to_desc) : b.fresh(s.y, to_desc);
  to.desc = to_desc;
  Arguments arguments{{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, y}, {DNNL_ARG_DST, to}};
  if (bias) {
    Tensor c = b.plain_of(b.value(in[2]));
    c.desc = bias_desc;
    arguments.emplace_back(DNNL_ARG_BIAS, c);
  }
  b.step_of(pd, arguments);
  to.dims = s.result;
  if (to.desc.dims() != s.result) to.desc = plain(s.result, DataType::f32);
  if (!whole) to = scaled_sum(b, to);
  b.made(*this, whole ? posts.rest(b, to) : Posts::steps(b, *this, to, 0));
}

bool claims_matmul(const Node& node) {
  return floats(node, 1, 6) && node.in.size() == 2 && node.in[1] && node.in[1]->rank() <= 6;
}

bool claims_gemm(const Node& node) {
  return floats(node, 2, 2) && node.in.size() >= 2 && node.in[1] && node.in[1]->rank() == 2 &&
         (!node.input(2) || node.in[2]->rank() <= 2);
}

}  // namespace

void add_products(Rules& rules) {
  rules.push_back({"MatMul", 1, claims_matmul,
                   [](const Node&) -> std::unique_ptr<Operation> { return std::make_unique<Product>(Form{}); }});
  rules.push_back({"Gemm", 7, claims_gemm, [](const Node& n) -> std::unique_ptr<Operation> {
                     return std::make_unique<Product>(Form{n.integer("transA", 0) != 0, n.integer("transB", 0) != 0,
                                                           n.number("alpha", 1), n.number("beta", 1)});
                   }});
}

}  // namespace onednn
