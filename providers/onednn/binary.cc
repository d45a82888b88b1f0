// Functions of two values, and PRelu.
#include <map>

#include "operators.h"

namespace onednn {
namespace {

using dnnl::algorithm;

const std::map<std::string, algorithm>& binaries() {
  static const std::map<std::string, algorithm> all = {{"Add", algorithm::binary_add}, {"Sub", algorithm::binary_sub},
                                                       {"Mul", algorithm::binary_mul}, {"Div", algorithm::binary_div},
                                                       {"Max", algorithm::binary_max}, {"Min", algorithm::binary_min}};
  return all;
}

bool commutes(algorithm f) { return f != algorithm::binary_sub && f != algorithm::binary_div; }

// Version 7 introduced numpy's broadcasting; for Max and Min, version 8 did.
bool claims_binary(const Node& node) {
  const int least = node.type == "Max" || node.type == "Min" ? 8 : 7;
  return node.since >= least && floats(node, 0, 5) && node.in.size() == 2 && node.in[1] && node.in[1]->rank() <= 5 &&
         node.in[0]->rank() + node.in[1]->rank() > 0;
}

class PRelu : public Operation {
 public:
  void build(Builder& b) const override {
    const Tensor& x = b.value(in[0]);
    if (b.empty(*this, x.dims)) return;
    Tensor slope = b.plain_of(b.value(in[1]));
    Dims dims = slope.dims;
    dims.insert(dims.begin(), x.dims.size() - dims.size(), 1);
    slope = b.reshaped(slope, dims);
    const dnnl::prelu_forward::desc desc(dnnl::prop_kind::forward_inference, x.desc,
                                         Desc(dims, DataType::f32, dnnl::memory::format_tag::any));
    const dnnl::prelu_forward::primitive_desc pd(desc, attributes(), engine());
    const Tensor to = b.fresh(x.dims, pd.dst_desc());
    b.step_of(pd, {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, b.in(slope, pd.weights_desc())}, {DNNL_ARG_DST, to}});
    b.made(*this, to);
  }
};

bool claims_prelu(const Node& node) {
  if (!floats(node, 2, 5) || node.in.size() != 2 || !node.in[1] || !node.in[1]->fixed()) return false;
  const Dims &x = node.in[0]->dims, &slope = node.in[1]->dims;
  if (slope.size() > x.size()) return false;
  for (size_t i = 0; i < slope.size(); ++i) {
    const int64_t s = slope[slope.size() - 1 - i];
    if (s != 1 && s != x[x.size() - 1 - i]) return false;
  }
  return true;
}

/// x to the power of a constant.
class Power : public Operation {
 public:
  explicit Power(float e) : exponent_(e) {}
  void build(Builder& b) const override {
    const Tensor& x = b.value(in[0]);
    PostOp f{algorithm::eltwise_pow, 1, exponent_};
    if (exponent_ == 2) f = {algorithm::eltwise_square};
    if (exponent_ == 0.5f) f = {algorithm::eltwise_sqrt};
    b.made(*this, b.eltwise(x, f, b.dies(x)));
  }

 private:
  const float exponent_;
};

bool claims_power(const Node& node) {
  return floats(node) && node.in.size() == 2 && is_constant(node, 1) &&
         providers::view_of(node.in[1]->constant).count() == 1 && node.in[1]->rank() <= 1;
}

}  // namespace

void Binary::build(Builder& b) const {
  const Tensor *x = &b.value(in[0]), *y = &b.value(in[1]);
  const Dims dims = broadcast(x->dims, y->dims);
  if (commutes(function) && x->dims != dims && y->dims == dims) std::swap(x, y);
  const bool over = x->dims == dims && x->block != y->block && b.dies(*x);
  b.made(*this, Posts::steps(b, *this, b.binary(function, *x, *y, over), 0));
}

void add_binaries(Rules& rules) {
  for (const auto& [type, f] : binaries()) {
    rules.push_back({type.c_str(), 7, claims_binary, [](const Node& n) -> std::unique_ptr<Operation> {
                       return std::make_unique<Binary>(binaries().at(n.type));
                     }});
  }
  rules.push_back(
      {"PRelu", 7, claims_prelu, [](const Node&) -> std::unique_ptr<Operation> { return std::make_unique<PRelu>(); }});
  rules.push_back({"Pow", 7, claims_power, [](const Node& n) -> std::unique_ptr<Operation> {
                     return std::make_unique<Power>(constant_number(n, 1, 1));
                   }});
}

}  // namespace onednn
