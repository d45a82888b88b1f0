// Convolutions with what follows them: the sum with another tensor (the shortcut of residual networks) and an
// activation.
#include <cstring>
#include <limits>
#include <optional>

#include "convolutions.h"
#include "cuda/core/known_data.h"

namespace providers::cuda {
namespace {

struct Function {
  ConvActivation activation = ConvActivation::none;
  float alpha = 0, beta = 0;
};

constexpr float kLargest = std::numeric_limits<float>::max();

bool is_onnx(const Node& node, const char* type) {
  return node.type == type && (node.domain.empty() || node.domain == "ai.onnx");
}

/// A bound of Clip: the constant input, or `otherwise` if it is omitted; nothing if the graph computes it.
std::optional<float> bound(const Node& node, size_t input, const char* attribute, float otherwise) {
  if (node.since < 11) return node.number(attribute, otherwise);
  const Value* const v = node.input(input);
  if (!v || v->name.empty()) return otherwise;
  if (!v->constant) return std::nullopt;
  const auto known = load_known(view_of(v->constant));
  if (!known || known->reals.size() != 1) return std::nullopt;
  return float(known->reals[0]);
}

std::optional<Function> clip(const Node& node) {
  const auto least = bound(node, 1, "min", -kLargest), most = bound(node, 2, "max", kLargest);
  if (!least || !most || *least > *most) return std::nullopt;
  if (*least == 0 && *most >= kLargest) return Function{ConvActivation::relu, 0, 0};
  return Function{ConvActivation::clip, *least, *most};
}

/// The function of a node with one input.
std::optional<Function> function_of(const Node& node) {
  if (node.domain == "com.microsoft")
    return node.type == "QuickGelu" ? std::optional<Function>({ConvActivation::swish, node.number("alpha", 1.702f), 0})
                                    : std::nullopt;
  if (is_onnx(node, "Relu")) return Function{ConvActivation::relu, 0, 0};
  if (is_onnx(node, "Clip")) return clip(node);
  if (is_onnx(node, "LeakyRelu")) return Function{ConvActivation::leaky_relu, node.number("alpha", 0.01f), 0};
  if (is_onnx(node, "Sigmoid")) return Function{ConvActivation::sigmoid, 0, 0};
  if (is_onnx(node, "Tanh")) return Function{ConvActivation::tanh, 0, 0};
  if (is_onnx(node, "HardSigmoid"))
    return Function{ConvActivation::hard_sigmoid, node.number("alpha", 0.2f), node.number("beta", 0.5f)};
  if (is_onnx(node, "HardSwish")) return Function{ConvActivation::hard_swish, 1.0f / 6, 0.5f};
  if (is_onnx(node, "Swish")) return Function{ConvActivation::swish, node.number("alpha", 1), 0};
  return std::nullopt;
}

/// Nodes that follow a convolution and run with it.
struct Chain {
  std::vector<const Node*> nodes;
  const Value* end = nullptr;
  const Value* residual = nullptr;
  Function function;
};

const Value* other_input(const Node& node, const Value* one) {
  if (node.in.size() != 2 || node.in[0] == node.in[1]) return nullptr;
  return node.in[0] == one ? node.in[1] : node.in[0];
}

void add_residual(const Fusing& f, Chain& c) {
  const Node* const add = f.only_reader(c.end);
  if (!add || !is_onnx(*add, "Add")) return;
  const Value* const other = other_input(*add, c.end);
  if (!other || other->type != c.end->type || !other->has_rank || !c.end->has_rank || other->dims != c.end->dims)
    return;
  c.nodes.push_back(add);
  c.residual = other;
  c.end = add->out[0];
}

/// v * sigmoid(v) and v * hard_sigmoid(v), written as two nodes.
bool add_gate(const Fusing& f, Chain& c) {
  const auto readers = f.readers(c.end);
  if (readers.size() != 2 || f.is_output(c.end)) return false;
  for (const bool swapped : {false, true}) {
    const Node *const gate = readers[swapped], *const product = readers[!swapped];
    if (f.taken(gate) || f.taken(product) || !is_onnx(*product, "Mul")) continue;
    const bool hard = is_onnx(*gate, "HardSigmoid");
    if (!hard && !is_onnx(*gate, "Sigmoid")) continue;
    if (f.only_reader(gate->out[0]) != product || other_input(*product, c.end) != gate->out[0]) continue;
    c.function = hard ? Function{ConvActivation::hard_swish, gate->number("alpha", 0.2f), gate->number("beta", 0.5f)}
                      : Function{ConvActivation::swish, 1, 0};
    c.nodes.push_back(gate);
    c.nodes.push_back(product);
    c.end = product->out[0];
    return true;
  }
  return false;
}

void add_function(const Fusing& f, Chain& c) {
  if (add_gate(f, c)) return;
  const Node* const next = f.only_reader(c.end);
  if (!next || next->in.empty() || next->in[0] != c.end) return;
  const auto function = function_of(*next);
  if (!function) return;
  c.function = *function;
  c.nodes.push_back(next);
  c.end = next->out[0];
}

// Nodes that make filter and bias, if no other node reads their results.
void add_decodings(const Fusing& f, const Node& node, Chain& c) {
  for (const size_t i : {kConvW, kConvBias})
    if (const Node* const codes = decoding(node.input(i)); codes && f.only_reader(codes->out[0]) == &node)
      c.nodes.push_back(codes);
}

Chain chain_of(const Fusing& f, const Node& node, bool with_residual) {
  Chain c;
  c.nodes = {&node};
  add_decodings(f, node, c);
  c.end = node.out[0];
  if (with_residual) add_residual(f, c);
  add_function(f, c);
  return c;
}

void unite(Fusing& f, const Node& node, const Chain& c) {
  auto op = std::make_unique<ConvOp>(node, f.builder());
  op->who = node.who();
  op->epilogue.activation = c.function.activation;
  op->epilogue.alpha = c.function.alpha;
  op->epilogue.beta = c.function.beta;
  if (c.residual) op->in[kConvResidual] = f.builder().number(c.residual);
  op->out = {f.builder().number(c.end)};
  f.unite(c.nodes, std::move(op));
}

/// The numbers of an attribute.
std::vector<float> numbers(const Node& node, const std::string& name) {
  const auto at = node.attributes.find(name);
  if (at == node.attributes.end()) return {};
  std::vector<float> made(16);
  size_t bytes = 0;
  check(api().ReadOpAttr(at->second, ORT_OP_ATTR_FLOATS, made.data(), made.size() * sizeof(float), &bytes));
  made.resize(std::min(made.size(), bytes / sizeof(float)));
  return made;
}

/// The activation of com.microsoft.FusedConv; nothing if it is unknown.
std::optional<Function> function_in(const Node& node) {
  const std::string name = node.string("activation", "");
  const auto p = numbers(node, "activation_params");
  const auto at = [&](size_t i, float otherwise) { return i < p.size() ? p[i] : otherwise; };
  if (name.empty()) return Function{};
  if (name == "Relu") return Function{ConvActivation::relu, 0, 0};
  if (name == "Sigmoid") return Function{ConvActivation::sigmoid, 0, 0};
  if (name == "Tanh") return Function{ConvActivation::tanh, 0, 0};
  if (name == "LeakyRelu") return Function{ConvActivation::leaky_relu, at(0, 0.01f), 0};
  if (name == "Clip") return Function{ConvActivation::clip, at(0, -kLargest), at(1, kLargest)};
  if (name == "HardSigmoid") return Function{ConvActivation::hard_sigmoid, at(0, 0.2f), at(1, 0.5f)};
  if (name == "HardSwish") return Function{ConvActivation::hard_swish, 1.0f / 6, 0.5f};
  return std::nullopt;
}

std::unique_ptr<Op> make_convolution(const Node& node, Builder& builder) {
  auto op = std::make_unique<ConvOp>(node, builder);
  op->who = node.who();
  op->out = {builder.number(node.out[0])};
  if (node.type != "FusedConv") return op;
  const Function function = function_in(node).value_or(Function{});
  op->epilogue.activation = function.activation;
  op->epilogue.alpha = function.alpha;
  op->epilogue.beta = function.beta;
  if (node.input(3)) op->in[kConvResidual] = builder.number(node.input(3));
  return op;
}

std::string refuses_fused(const Node& node, const Claiming& claiming) {
  if (!function_in(node)) return "its activation is " + node.string("activation", "");
  return refuses_convolution(node, claiming);
}

}  // namespace

void fuse_convolutions(Fusing& f) {
  for (const Node* const node : f.nodes()) {
    if (f.taken(node) || (!is_onnx(*node, "Conv") && !is_onnx(*node, "ConvTranspose"))) continue;
    for (const bool with_residual : {true, false}) {
      const Chain c = chain_of(f, *node, with_residual);
      if (c.nodes.size() < 2 || !f.closed(c.nodes)) continue;
      unite(f, *node, c);
      break;
    }
  }
}

void add_convolutions(Kinds& kinds) {
  for (const char* type : {"Conv", "ConvTranspose"}) kinds[{"", type}] = {refuses_convolution, make_convolution};
  kinds[{"com.microsoft", "FusedConv"}] = {refuses_fused, make_convolution};
  add_pools(kinds);
  add_integer_convolutions(kinds);
  add_deformed_convolutions(kinds);
}

}  // namespace providers::cuda
