// Runs operators that have no 16-bit float kernel in 32 bits: their inputs are widened once (weights by constant
// folding), and values between two of them are never rounded to 16 bits. Speeds up every fp16 model.
#include <map>

#include "memory/host.h"
#include "passes/passes.h"

namespace retort {
namespace {

bool is_half(const ValueType& t) { return t.is_tensor() && (t.dtype == DType::f16 || t.dtype == DType::bf16); }

class Widener {
 public:
  Widener(Graph& g, PassContext& context) : g_(g), context_(context) {}

  void run() {
    const std::span<const NodeId> order = g_.order();
    for (NodeId id : std::vector<NodeId>(order.begin(), order.end())) {
      const Node& n = g_.node(id);
      if (n.is("Cast") && wide_.contains(n.inputs[0]))
        read_wide(id);
      else if (widens(n))
        widen(id);
    }
  }

 private:
  // The result has the type of the scale, and is rounded to it as those of other operators.
  static bool dequantizes(const Node& n) {
    return n.is("DequantizeLinear") && n.attributes.get_or<int64_t>("output_dtype", 0) == 0;
  }

  // Boxed values keep their types.
  static bool may_widen(const Node& n) {
    if (dequantizes(n)) return true;
    const bool internal = n.op && n.op->has(kInternal) && !n.op->has(kView);
    if (!n.op || n.op->has(kConverts) || n.op->has(kBoxed) || internal || !n.bodies.empty()) return false;
    return contains(n.op->info.types, DType::f32);
  }

  bool widens(const Node& n) const {
    if (!may_widen(n)) return false;
    bool any = false, wide = false, kernel = n.op->run && !dequantizes(n);
    for (ValueId in : n.inputs) {
      if (in == ValueId::none) continue;
      const ValueType& t = g_.value(in).type;
      if (t.kind != ValueType::Kind::tensor) return false;
      if (!is_half(t)) continue;
      any = true;
      wide = wide || wide_.contains(in);
      kernel = kernel || n.op->fast_for(t.dtype);
    }
    return any && (wide || !kernel);
  }

  // A Cast from 16 bits to the same 16 bits does nothing, so its consumers also read the wide value.
  void read_wide(NodeId id) {
    const ValueId in = g_.node(id).inputs[0], out = g_.node(id).outputs[0], wide = wide_.at(in);
    if (g_.value(out).type.dtype == g_.value(in).type.dtype) wide_[out] = wide;
    g_.set_input(id, 0, wide);
  }

  ValueId cast(ValueId v, DType to, uint32_t position) {
    const NodeId id =
        g_.add({.type = "Cast", .inputs = {v}, .attributes = {{"to", int64_t(to)}}, .position = position});
    resolve(g_.node(id));
    infer_node(g_, g_.node(id));
    return g_.node(id).outputs[0];
  }

  // A constant: rules for quantised operators read them.
  ValueId widened_scale(const Tensor& half, const std::string& name) {
    Tensor t = new_constant(DType::f32, half.shape());
    for (size_t i = 0; i < t.count(); ++i) {
      const bool binary16 = half.dtype() == DType::f16;
      t.mutable_data<float>()[i] = binary16 ? float(half.at<float16>(i)) : float(half.at<bfloat16>(i));
    }
    return g_.add_constant(name, std::move(t));
  }

  void widen(NodeId id) {
    const uint32_t position = g_.node(id).position;
    for (size_t i = 0; i < g_.node(id).inputs.size(); ++i) {
      const ValueId in = g_.node(id).inputs[i];
      if (in == ValueId::none || !is_half(g_.value(in).type)) continue;
      const bool is_scale = dequantizes(g_.node(id)) && g_.constant(in);
      if (!wide_.contains(in) || (is_scale && !g_.constant(wide_.at(in))))  // others may have widened it by a Cast
        wide_[in] = is_scale ? widened_scale(*g_.constant(in), g_.value(in).name) : cast(in, DType::f32, position);
      g_.set_input(id, i, wide_.at(in));
    }
    std::vector<DType> before;
    for (ValueId out : g_.node(id).outputs)
      before.push_back(out == ValueId::none ? DType::undefined : g_.value(out).type.dtype);
    infer_node(g_, g_.node(id));
    for (size_t i = 0; i < before.size(); ++i) {
      const ValueId out = g_.node(id).outputs[i];
      if (out == ValueId::none || g_.value(out).type.dtype == before[i]) continue;
      const ValueId narrow = cast(out, before[i], position);
      g_.replace_uses(out, narrow);
      g_.set_input(g_.value(narrow).producer, 0, out);
      wide_[narrow] = out;
    }
    context_.count("node");
  }

  Graph& g_;
  PassContext& context_;
  std::map<ValueId, ValueId> wide_;  ///< 16-bit values and their 32-bit forms
};

void widen_half(Graph& graph, PassContext& context) { Widener(graph, context).run(); }

}  // namespace

constinit const Pass pass_widen_half{"widen_half", 0, widen_half};

}  // namespace retort
