// Fuses nodes into one primitive: normalisation and functions after a product, and the expanded forms of Swish and
// Gelu.
#include <algorithm>
#include <cmath>

#include "quantized.h"

namespace onednn {
namespace {

using dnnl::algorithm;

class Fusion {
 public:
  explicit Fusion(Program& program) : p_(program) {}

  void run() {
    while (once([&](Operation& op) { return gated(op) || gelu(op); })) {
    }
    while (once([&](Operation& op) { return numbered(op); })) {
    }
    while (once([&](Operation& op) { return normalised(op) || biased(op) || after(op) || summed(op); })) {
    }
    while (once([&](Operation& op) { return stored(op); })) {
    }
    drop_unread();
    p_.count_uses();
  }

 private:
  template <typename F>
  bool once(F&& fuses) {
    for (size_t i = 0; i < p_.operations.size(); ++i)
      if (p_.operations[i] && fuses(*p_.operations[i])) {
        std::erase_if(p_.operations, [](const auto& op) { return !op; });
        return true;
      }
    return false;
  }

  size_t place(const Operation* op) const {
    return size_t(
        std::find_if(p_.operations.begin(), p_.operations.end(), [&](const auto& o) { return o.get() == op; }) -
        p_.operations.begin());
  }
  void remove(const Operation* op) { p_.operations[place(op)].reset(); }

  // `first` replaces `second`, at a place where everything that it reads has been computed.
  void absorb(Operation* first, Operation* second) {
    first->out = second->out;
    const size_t from = place(first), to = place(second);
    p_.operations[to] = std::move(p_.operations[from]);
  }

  // A constant number; NaN for other values.
  float number(int id) const {
    Weights* w = id < 0 ? nullptr : p_.values[size_t(id)].constant.get();
    return w && w->type() == DataType::f32 && count_of(w->dims()) == 1 ? w->values()[0] : NAN;
  }

  // Sums and products with a number are functions of one value.
  bool numbered(Operation& op) {
    auto* f = dynamic_cast<Binary*>(&op);
    if (!f) return false;
    for (const size_t i : {1, 0}) {
      const float c = number(op.in[i]);
      if (std::isnan(c) || p_.values[size_t(op.in[i])].constant->dims().size() > 1) continue;
      if (p_.values[size_t(op.in[1 - i])].constant) return false;
      PostOp linear{algorithm::eltwise_linear, 1, 0};
      const bool first = i == 0;
      if (f->function == algorithm::binary_add)
        linear.beta = c;
      else if (f->function == algorithm::binary_mul)
        linear.alpha = c;
      else if (f->function == algorithm::binary_sub)
        linear = {linear.function, first ? -1.f : 1.f, first ? c : -c};
      else if (f->function == algorithm::binary_div && !first && std::isnormal(1 / c))
        linear.alpha = 1 / c;
      else
        return false;
      replace(op, op.in[1 - i], {linear});
      return true;
    }
    return false;
  }

  bool normalised(Operation& op) {
    auto* norm = dynamic_cast<BatchNorm*>(&op);
    Operation* source = norm ? p_.maker(op.in[0]) : nullptr;
    if (!source || p_.only_reader(op.in[0]) != &op) return false;
    std::vector<std::vector<float>> v;
    for (size_t i = 1; i < 5; ++i) {
      Weights* w = p_.values[size_t(op.in[i])].constant.get();
      if (!w) return false;
      v.push_back(w->values());
      if (v.back().size() != v[0].size()) return false;
    }
    std::vector<float> scale(v[0].size()), shift(v[0].size());
    for (size_t c = 0; c < scale.size(); ++c) {
      scale[c] = float(double(v[0][c]) / std::sqrt(double(v[3][c]) + norm->epsilon));
      shift[c] = float(double(v[1][c]) - double(v[2][c]) * scale[c]);
    }
    if (!source->fold(p_, scale, shift)) return false;
    absorb(source, &op);
    return true;
  }

  bool biased(Operation& op) {
    auto* sum = dynamic_cast<Binary*>(&op);
    if (!sum || sum->function != algorithm::binary_add || !sum->post.empty()) return false;
    for (const size_t i : {0, 1}) {
      Operation* source = p_.maker(op.in[i]);
      if (!source || p_.only_reader(op.in[i]) != &op || !source->fold_bias(p_, op.in[1 - i])) continue;
      absorb(source, &op);
      return true;
    }
    return false;
  }

  bool after(Operation& op) {
    auto* f = dynamic_cast<Eltwise*>(&op);
    Operation* source = f && f->post.empty() ? p_.maker(op.in[0]) : nullptr;
    if (!source || !source->takes_post() || p_.only_reader(op.in[0]) != &op) return false;
    source->post.insert(source->post.end(), f->functions.begin(), f->functions.end());
    absorb(source, &op);
    return true;
  }

  // Fuses a sum into the later one of its two operands, at which the other is already computed.
  bool summed(Operation& op) {
    auto* sum = dynamic_cast<Binary*>(&op);
    if (!sum || sum->function != algorithm::binary_add || !sum->post.empty() || op.in[0] == op.in[1]) return false;
    Operation* best = nullptr;
    size_t side = 0;
    for (const size_t i : {0, 1}) {
      Operation* source = p_.maker(op.in[i]);
      if (!source || !source->takes_post() || p_.only_reader(op.in[i]) != &op) continue;
      const bool sums =
          std::any_of(source->post.begin(), source->post.end(), [](const PostOp& f) { return f.add >= 0; });
      if (sums || (best && place(best) > place(source))) continue;
      best = source;
      side = i;
    }
    if (!best || p_.values[size_t(op.in[1 - side])].constant) return false;
    PostOp add;
    add.add = op.in[1 - side];
    best->post.push_back(add);
    best->in.resize(std::max<size_t>(best->in.size(), 3), -1);
    best->in.push_back(add.add);
    absorb(best, &op);
    return true;
  }

  // x * sigmoid(x), x * hard_sigmoid(x)
  bool gated(Operation& op) {
    auto* product = dynamic_cast<Binary*>(&op);
    if (!product || product->function != algorithm::binary_mul) return false;
    for (const size_t i : {0, 1}) {
      auto* gate = dynamic_cast<Eltwise*>(p_.maker(op.in[i]));
      if (!gate || gate->in[0] != op.in[1 - i] || p_.only_reader(op.in[i]) != &op) continue;
      const auto& f = gate->functions;
      std::vector<PostOp> whole;
      if (f.size() == 1 && f[0].function == algorithm::eltwise_logistic) whole = {{algorithm::eltwise_swish, 1}};
      const bool sixth = f.size() == 2 && f[0].function == algorithm::eltwise_linear &&
                         std::abs(f[0].alpha - 1 / 6.f) < 1e-6f && f[0].beta == 0.5f &&
                         f[1].function == algorithm::eltwise_clip && f[1].alpha == 0 && f[1].beta == 1;
      if (sixth) whole = {{algorithm::eltwise_hardswish}};
      if (whole.empty()) continue;
      replace(op, gate->in[0], whole);
      remove(gate);
      return true;
    }
    return false;
  }

  void replace(Operation& op, int x, const std::vector<PostOp>& functions) {
    auto made = std::make_unique<Eltwise>(functions);
    made->who = op.who;
    made->type = op.type;
    made->in = {x};
    made->out = op.out;
    p_.operations[place(&op)] = std::move(made);
  }

  // The other factor of a product or quotient of a value with a number; -1 for another operation.
  int scaled(const Operation* op, float wanted, float divided) const {
    auto* f = dynamic_cast<const Binary*>(op);
    if (!f || !f->post.empty()) return -1;
    const auto near = [](float a, float b) { return std::abs(a - b) < 1e-4f * std::abs(b); };
    if (f->function == algorithm::binary_div) return near(number(f->in[1]), divided) ? f->in[0] : -1;
    if (f->function != algorithm::binary_mul) return -1;
    for (const size_t i : {0, 1})
      if (near(number(f->in[i]), wanted)) return f->in[1 - i];
    return -1;
  }

  // 0.5 * x * (1 + erf(x / sqrt 2)), whichever two of the three factors are multiplied first.
  bool gelu(Operation& op) {
    auto* erf = dynamic_cast<Erf*>(&op);
    Operation* inner = erf ? p_.maker(op.in[0]) : nullptr;
    const int x = inner ? scaled(inner, float(M_SQRT1_2), float(M_SQRT2)) : -1;
    auto* sum = dynamic_cast<Binary*>(x < 0 || p_.only_reader(op.in[0]) != &op ? nullptr : p_.only_reader(op.out));
    if (!sum || sum->function != algorithm::binary_add || number(sum->in[sum->in[0] == op.out ? 1 : 0]) != 1)
      return false;
    auto* product = dynamic_cast<Binary*>(p_.only_reader(sum->out));
    if (!product || product->function != algorithm::binary_mul) return false;
    const int other = product->in[product->in[0] == sum->out ? 1 : 0];
    Operation *half = nullptr, *last = product;
    if (other == x) {
      half = last = p_.only_reader(product->out);
      if (!half || scaled(half, 0.5f, 2) != product->out) return false;
    } else if (number(other) == 0.5f) {
      auto* outer = dynamic_cast<Binary*>(p_.only_reader(product->out));
      if (!outer || outer->function != algorithm::binary_mul) return false;
      if (outer->in[outer->in[0] == product->out ? 1 : 0] != x) return false;
      half = last = outer;
    } else {
      half = p_.maker(other);
      if (!half || scaled(half, 0.5f, 2) != x || p_.only_reader(other) != product) return false;
    }
    const std::vector<const Operation*> gone = {inner, erf, sum, half == last ? product : half};
    replace(*last, x, {{algorithm::eltwise_gelu_erf}});
    for (const Operation* o : gone) remove(o);
    return true;
  }

  // A product between DequantizeLinear before and QuantizeLinear after it.
  bool stored(Operation& op) {
    auto* last = dynamic_cast<Quantize*>(&op);
    Operation* product = last ? p_.maker(op.in[0]) : nullptr;
    if (!product || p_.only_reader(op.in[0]) != &op || product->in.size() > 3) return false;
    auto* x = dynamic_cast<Dequantize*>(p_.maker(product->in[0]));
    auto* w = dynamic_cast<Dequantize*>(product->in.size() > 1 ? p_.maker(product->in[1]) : nullptr);
    Weights* weights = w ? p_.values[size_t(w->in[0])].constant.get() : nullptr;
    if (!x || !weights || x->scale.scales.size() != 1) return false;
    Quantization q{x->scale, w->scale, nullptr, nullptr, last->scale, last->type, {}};
    // Weights have one scale per result: a convolution's along their first axis, a product's along the last one.
    const bool conv = product->type == "Conv";
    const size_t along = conv ? 0 : 1;
    if (w->scale.scales.size() > 1 && (w->scale.axis != along || product->type == "Gemm")) return false;
    for (const PostOp& f : product->post) {
      if (f.function == algorithm::eltwise_relu && f.alpha == 0)
        q.post.push_back(f);
      else
        return false;
    }
    if (weights->dims().empty()) return false;
    q.weights = signed_weights(*weights, q.w.zero);
    if (!q.weights || !stored_bias(*product, q)) return false;
    std::unique_ptr<Operation> made = product->quantized(std::move(q));
    if (!made) return false;
    made->who = product->who;
    made->type = product->type;
    made->in = {x->in[0]};
    made->out = op.out;
    p_.operations[place(product)].reset();
    p_.operations[place(&op)] = std::move(made);
    return true;
  }

  // The third input of a product as integers with the scale of its sums.
  bool stored_bias(const Operation& product, Quantization& q) {
    if (product.in.size() < 3 || product.in[2] < 0) return true;
    auto* source = dynamic_cast<Dequantize*>(p_.maker(product.in[2]));
    const int id = source ? source->in[0] : product.in[2];
    Weights* c = p_.values[size_t(id)].constant.get();
    if (!c || c->dims().size() != 1 || (source && source->scale.zero)) return false;
    // The last axis of a product's weights; the first one for a convolution or a product with transB.
    const Dims& w = q.weights->dims();
    if (c->dims()[0] != w.front() && c->dims()[0] != w.back()) return false;
    std::vector<float> real = c->values();
    const auto at = [](const std::vector<float>& list, size_t i) { return list[list.size() > 1 ? i : 0]; };
    std::vector<int32_t> sums(real.size());
    for (size_t i = 0; i < real.size(); ++i) {
      if (source) real[i] *= at(source->scale.scales, i);
      const double stored = std::nearbyint(double(real[i]) / (double(q.x.scales[0]) * at(q.w.scales, i)));
      if (!(std::abs(stored) < 2e9)) return false;
      sums[i] = int32_t(stored);
    }
    providers::TensorView view;
    view.type = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32;
    view.dims = c->dims();
    view.data = sums.data();
    q.bias = std::make_shared<Weights>(view);
    return true;
  }

  void drop_unread() {
    for (bool found = true; found;) {
      p_.count_uses();
      found = std::erase_if(p_.operations, [&](const auto& op) {
                return op->out >= 0 && !p_.values[size_t(op->out)].uses && p_.values[size_t(op->out)].output < 0;
              }) > 0;
    }
  }

  Program& p_;
};

}  // namespace

void fuse(Program& program) { Fusion(program).run(); }

}  // namespace onednn
