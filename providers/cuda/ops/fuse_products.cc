// Fusions around a matrix product: transposed operands, a constant factor, a bias, a residual and an activation.
#include <algorithm>
#include <cmath>

#include "float8.h"
#include "products.h"

namespace providers::cuda {
namespace {

bool is_real(const Value* value) {
  return value &&
         (value->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT || value->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 ||
          value->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16);
}

// The number of a constant of one element.
std::optional<float> number_of(const Value* value) {
  if (!is_real(value) || !value->constant) return std::nullopt;
  const TensorView view = view_of(value->constant);
  if (view.count() != 1 || !view.data) return std::nullopt;
  float number = 0;
  if (value->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) {
    std::memcpy(&number, view.data, 4);
    return number;
  }
  uint16_t bits = 0;
  std::memcpy(&bits, view.data, 2);
  if (value->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16) return half_to_float(bits);
  const uint32_t wide = uint32_t(bits) << 16;
  std::memcpy(&number, &wide, 4);
  return number;
}

bool is_product(const Node& node) {
  return (node.domain.empty() && (node.type == "MatMul" || node.type == "Gemm")) ||
         (node.domain == "com.microsoft" && node.type == "FusedMatMul");
}

// Whether a Transpose swaps the last two axes and nothing else.
bool swaps_matrices(const Node& node) {
  if (node.type != "Transpose" || !node.domain.empty() || !node.input(0) || !node.input(0)->has_rank) return false;
  const size_t rank = node.input(0)->rank();
  Dims order(rank);
  for (size_t i = 0; i < rank; ++i) order[i] = node.has("perm") ? int64_t(i) : int64_t(rank - 1 - i);
  if (rank < 2) return false;
  if (!node.has("perm")) return rank == 2;
  std::swap(order[rank - 1], order[rank - 2]);
  return node.integers("perm") == order;
}

// A product and the nodes around it, as far as they can be one.
class Chain {
 public:
  Chain(Fusing& fusing, const Node& product) : fusing_(fusing), last_(&product) {
    nodes_.push_back(&product);
    a_ = product.input(0);
    b_ = product.input(1);
    op_ = std::make_unique<ProductOp>();
    op_->tf32 = fusing.builder().setting("use_tf32");
    op_->alpha = product.number("alpha", 1);
    op_->transposed_a = product.integer("transA", 0) != 0;
    op_->transposed_b = product.integer("transB", 0) != 0;
    op_->batch_first_a = product.integer("transBatchA", 0) != 0;
    op_->batch_first_b = product.integer("transBatchB", 0) != 0;
    if (product.type == "Gemm") {
      op_->plain_matrices = true;
      op_->beta = product.number("beta", 1);
      if (product.input(2) && op_->beta != 0)
        (is_bias(product.input(2)) && op_->beta == 1 ? bias_ : addend_) = product.input(2);
    }
  }

  /// The product reads codes instead of its inputs.
  void read_codes(const Float8Factors& factors) {
    nodes_.insert(nodes_.end(), factors.makers.begin(), factors.makers.end());
    op_->result = factors.type;
    of_codes_ = true;
    a_ = factors.a;
    b_ = factors.b;
    scale_a_ = factors.scale_a;
    scale_b_ = factors.scale_b;
    if (factors.exchanged_b) op_->transposed_b = !op_->transposed_b;
    if (factors.after) {
      op_->plain_matrices = false;
      append(factors.after);
    }
  }

  void grow() {
    if (!of_codes_) {
      take_transpose(a_, op_->transposed_a);
      take_transpose(b_, op_->transposed_b);
      take_factors_before(a_);
      take_factors_before(b_);
      take_flattening();
    }
    if (!bias_ && !addend_) take_factors_after();
    if (!addend_) take_bias();
    if (!addend_ && op_->beta == 1) take_residual();
    take_activation();
    if (of_codes_) take_codes();
  }

  void unite() {
    if (nodes_.size() == 1 && !of_codes_) return;
    Builder& builder = fusing_.builder();
    op_->who = nodes_.front()->who();
    op_->in = {builder.number(a_),
               of_codes_ ? number_of_codes(builder) : number_of_weights(builder, a_, b_, op_->transposed_b)};
    const auto add = [&](const Value* value, int& index) {
      if (!value) return;
      index = int(op_->in.size());
      op_->in.push_back(builder.number(value));
    };
    add(bias_, op_->bias);
    add(addend_, op_->addend);
    if (of_codes_) {
      op_->scale_a = int(op_->in.size());
      op_->scale_b = op_->scale_a + 1;
      op_->in.insert(op_->in.end(), {number_of_scale(builder, scale_a_), number_of_scale(builder, scale_b_)});
    }
    if (inverse_d_) {
      op_->scale_d = int(op_->in.size());
      op_->in.push_back(number_of_inverse(builder, inverse_d_));
    }
    op_->out = {builder.number(last_->out[0])};
    fusing_.unite(nodes_, std::move(op_));
  }

 private:
  // Codes along k are adjacent.
  int number_of_codes(Builder& builder) {
    if (op_->transposed_b) return builder.number(b_);
    op_->transposed_b = true;
    return builder.packed(b_, "exchanged", b_->type, {b_->dims[1], b_->dims[0]}, exchanged_matrix);
  }
  const Value* output() const { return last_->out[0]; }
  // The only reader of the result so far; null if it cannot join.
  const Node* next() const {
    const Node* node = fusing_.only_reader(output());
    return node && !fusing_.taken(node) ? node : nullptr;
  }
  bool joins(const Node* node) const {
    std::vector<const Node*> all = nodes_;
    all.push_back(node);
    return fusing_.closed(all);
  }
  bool is_here(const Node* node) const {
    const auto& all = fusing_.nodes();
    return node && std::find(all.begin(), all.end(), node) != all.end() && !fusing_.taken(node);
  }
  void append(const Node* node) {
    nodes_.push_back(node);
    last_ = node;
  }
  // The other operand of a node with two.
  const Value* other(const Node* node) const { return node->input(0) == output() ? node->input(1) : node->input(0); }
  bool is_bias(const Value* value) const {
    if (!is_real(value) || !value->has_rank || value->rank() != 1 || value->dims[0] < 1) return false;
    if (!b_->has_rank || b_->rank() < 2) return false;  // the last axis of a vector's product is that of rows
    const Value* whole = nodes_.front()->out[0];
    if (whole && whole->has_rank && whole->rank() > 0 && whole->dims.back() > 0)
      return whole->dims.back() == value->dims[0];
    return b_->dims[b_->rank() - (op_->transposed_b ? 2 : 1)] == value->dims[0];
  }

  void take_transpose(const Value*& operand, bool& transposed) {
    const Node* maker = operand->maker;
    if (!is_here(maker) || !swaps_matrices(*maker) || fusing_.only_reader(operand) != nodes_.front()) return;
    if ((op_->batch_first_a || op_->batch_first_b) || !joins(maker)) return;
    nodes_.push_back(maker);
    operand = maker->input(0);
    transposed = !transposed;
  }

  // Two Reshapes around Gemm.
  void take_flattening() {
    const Node *before = a_->maker, *after = next();
    if (!op_->plain_matrices || op_->transposed_a || addend_ || nodes_.size() > 1 || !is_here(before) || !after) return;
    if (before->type != "Reshape" || !before->domain.empty() || !undoes(before->input(0), *before, *after)) return;
    std::vector<const Node*> all = nodes_;
    if (fusing_.only_reader(a_) == nodes_.front()) all.push_back(before);
    all.push_back(after);
    if (!fusing_.closed(all)) return;
    nodes_ = all;
    last_ = after;
    a_ = before->input(0);
    op_->plain_matrices = false;
  }

  // A factor of an operand is one of the product.
  void take_factors_before(const Value*& operand) {
    const Node* maker = operand->maker;
    if (!is_here(maker) || !maker->domain.empty() || (maker->type != "Mul" && maker->type != "Div")) return;
    if (readers_elsewhere(operand) || !joins(maker)) return;
    const bool first = maker->type == "Mul" && number_of(maker->input(0));
    const auto factor = number_of(maker->input(first ? 0 : 1));
    const Value* rest = maker->input(first ? 1 : 0);
    if (!factor || rest->constant || !same_rank(rest, operand)) return;
    nodes_.push_back(maker);
    operand = rest;
    op_->alpha = maker->type == "Mul" ? op_->alpha * *factor : op_->alpha / *factor;
  }
  // A scalar constant of more axes would change the shape.
  static bool same_rank(const Value* x, const Value* y) { return x->has_rank && y->has_rank && x->rank() == y->rank(); }
  bool readers_elsewhere(const Value* value) const {
    const Node* reader = fusing_.only_reader(value);
    return !reader || std::find(nodes_.begin(), nodes_.end(), reader) == nodes_.end();
  }

  void take_factors_after() {
    const Node* node = next();
    if (!node || !node->domain.empty() || (node->type != "Mul" && node->type != "Div") || !joins(node)) return;
    if (node->type == "Div" && node->input(0) != output()) return;
    const auto factor = number_of(other(node));
    if (!factor || !same_rank(node->out[0], output())) return;
    op_->alpha = node->type == "Mul" ? op_->alpha * *factor : op_->alpha / *factor;
    append(node);
  }

  void take_bias() {
    const Node* node = next();
    if (bias_ || !node || !node->domain.empty() || node->type != "Add" || !is_bias(other(node)) || !joins(node)) return;
    bias_ = other(node);
    append(node);
  }

  void take_residual() {
    const Node* node = next();
    if (!node || !node->domain.empty() || node->type != "Add") return;
    const Value *more = other(node), *mine = output();
    if (more == mine || more->constant || !is_real(more) || !same_rank(more, mine) || more->dims != mine->dims) return;
    if (!joins(node)) return;
    addend_ = more;
    append(node);
  }

  void take_activation() {
    const Node* node = next();
    if (!node || !joins(node)) return;
    const auto activated = activated_by(*node);
    if (!activated) return;
    // A gate that is multiplied next is better left to the kernel that multiplies.
    const Node* after = fusing_.only_reader(node->out[0]);
    if (activated->act != Act::relu && after && after->type == "Mul") return;
    // So is a function that the library does not have before codes are made: one kernel does both.
    const bool library = activated->act == Act::relu || activated->act == Act::gelu_tanh;
    if (of_codes_ && !library && after && after->type == "QuantizeLinear") return;
    if (node->input(1)) bias_ = node->input(1);
    op_->activated = *activated;
    append(node);
  }
  void take_codes() {
    const Node* node = next();
    const Act act = op_->activated.act;
    const bool library = act == Act::none || act == Act::relu || act == Act::gelu_tanh;
    const bool one_bias = !bias_ || bias_->type == op_->result;
    if (!node || !library || !one_bias || addend_ || !makes_codes(*node, op_->result) || !joins(node)) return;
    inverse_d_ = node->input(1);
    op_->wide = op_->result;
    op_->result = node->out[0]->type;
    append(node);
  }
  std::optional<Activated> activated_by(const Node& node) const {
    const bool contrib = node.domain == "com.microsoft";
    if (node.domain.empty() && node.type == "Relu") return Activated{Act::relu};
    if (node.domain.empty() && node.type == "Gelu")
      return Activated{node.string("approximate", "none") == "tanh" ? Act::gelu_tanh : Act::gelu_erf};
    if (contrib && node.type == "Gelu") return Activated{Act::gelu_erf};
    if (contrib && node.type == "QuickGelu") return Activated{Act::swish, node.number("alpha", 1.702f)};
    // These may have a bias of their own.
    if (contrib && (node.type == "BiasGelu" || node.type == "FastGelu") && node.input(0) == output()) {
      if (node.input(1) && (bias_ || addend_ || !is_bias(node.input(1)))) return std::nullopt;
      return Activated{node.type == "BiasGelu" ? Act::gelu_erf : Act::gelu_tanh};
    }
    return std::nullopt;
  }

  Fusing& fusing_;
  std::vector<const Node*> nodes_;
  const Node* last_;  // whose output is that of all
  const Value *a_ = nullptr, *b_ = nullptr, *bias_ = nullptr, *addend_ = nullptr;
  bool of_codes_ = false;                                // the factors are codes of float8
  const Value *scale_a_ = nullptr, *scale_b_ = nullptr;  // of codes; null: none
  const Value* inverse_d_ = nullptr;                     // the scale of the result's codes, if it has any
  std::unique_ptr<ProductOp> op_;
};

}  // namespace

float half_to_float(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const float size = exponent == 31  ? (fraction ? NAN : INFINITY)
                     : exponent == 0 ? std::ldexp(float(fraction), -24)
                                     : std::ldexp(float(fraction + 1024), exponent - 25);
  return bits & 0x8000 ? -size : size;
}

void fuse_products(Fusing& f) {
  fuse_codes(f);
  fuse_blocked_codes(f);
  fuse_siblings(f);
  fuse_nbits(f);
  const Float8Products float8(f);
  for (const Node* node : f.nodes()) {
    if (f.taken(node) || !is_product(*node) || !is_real(node->input(0)) || !node->out[0]) continue;
    Chain chain(f, *node);
    if (const auto factors = float8.of(node)) chain.read_codes(*factors);
    chain.grow();
    chain.unite();
  }
}

}  // namespace providers::cuda
