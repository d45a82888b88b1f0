// LinearAttention and CausalConvWithState, of ai.onnx and of com.microsoft.
#include <algorithm>
#include <cmath>

#include "expand.h"
#include "reductions.h"

namespace providers::cuda {
namespace {

enum Input : size_t { kQ, kK, kV, kState, kDecay, kBeta };

class LinearAttention final : public Op {
 public:
  explicit LinearAttention(const Node& node)
      : q_heads_(node.integer("q_num_heads", 0)),
        heads_(node.integer("kv_num_heads", 0)),
        scale_(node.number("scale", 0)),
        rule_(node.string("update_rule", "gated_delta")) {}

  void emit(Emitter& e) const override {
    const Operand q = e.in(kQ), k = e.in(kK), v = e.in(kV);
    if (q.rank() != 3 || k.rank() != 3 || v.rank() != 3) e.fail("queries, keys and values have 3 axes");
    const int64_t keys = q.dims[2] / q_heads_, values = v.dims[2] / heads_;
    const int64_t k_heads = keys ? k.dims[2] / keys : 0, out_heads = std::max(q_heads_, heads_);
    const bool fits = keys > 0 && q.dims[2] == keys * q_heads_ && v.dims[2] == values * heads_ && k_heads > 0 &&
                      k.dims[2] == keys * k_heads && heads_ % k_heads == 0;
    if (!fits) e.fail(text("rows do not fit ", q_heads_, " heads of queries and ", heads_, " of values"));
    for (const Operand* other : {&k, &v})
      if (other->dims[0] != q.dims[0] || other->dims[1] != q.dims[1]) e.fail("keys or values have other tokens");
    const Dims state{q.dims[0], heads_, keys, values};
    const Operand past = optional(e, kState, state);
    const Type state_type = past.buffer < 0 ? q.type : past.type;
    const bool decays = rule_.find("gated") == 0, corrects = rule_.find("delta") != std::string::npos;
    const Operand decay = decays ? e.in(kDecay) : Operand(), beta = corrects ? e.in(kBeta) : Operand();
    const bool each = decays && decay.dims.back() != heads_;
    const int64_t tokens = q.dims[0] * q.dims[1];
    if (decays && int64_t(decay.count()) != tokens * heads_ * (each ? keys : 1)) e.fail("decay has another shape");
    if (corrects && int64_t(beta.count()) != tokens * beta.dims.back()) e.fail("beta has another shape");
    const Operand y = e.out(0, q.type, {q.dims[0], q.dims[1], out_heads * values});
    const Operand present = e.outputs() > 1 && e.has_out(1) ? e.out(1, state_type, state) : Operand();
    if (q.dims[0] * values == 0) return;
    const int64_t reads = std::max<int64_t>(1, q_heads_ / heads_), floats = (1 + reads + each) * keys + 20;
    const Defines defines{{"STORED", kernel_type(q.type)},
                          {"STATE", kernel_type(state_type)},
                          {"KEYS", std::to_string(keys)},
                          {"READS", std::to_string(reads)},
                          {"DECAY", decays ? each ? "2" : "1" : "0"},
                          {"CORRECTS", corrects ? "1" : "0"},
                          {"CHUNK", std::to_string(std::clamp<int64_t>(10000 / floats, 1, 16))}};
    struct {
      int64_t tokens;
      int32_t heads, k_heads, q_heads, values, beta_heads;
      float scale;
    } x{q.dims[1],
        int32_t(heads_),
        int32_t(k_heads),
        int32_t(q_heads_),
        int32_t(values),
        int32_t(corrects ? beta.dims.back() : 1),
        scale_ != 0 ? scale_ : 1 / std::sqrt(float(keys))};
    const Grid grid{{unsigned(q.dims[0] * heads_), unsigned(divide_up(values, 16))}, {128}};
    e.launch(e.kernel("linear_attention.cu", "linear_attention", defines), grid,
             {q, k, v, past, decay, beta, y, present, Argument::of(x)});
  }

  static Operand optional(Emitter& e, size_t i, const Dims& dims) {
    if (!e.has(i)) return Operand();
    const Operand made = e.in(i);
    if (made.dims != dims) e.fail(text("input ", i, " has another shape than the state"));
    return made;
  }

 private:
  const int64_t q_heads_, heads_;
  const float scale_;
  const std::string rule_;
};

std::string refuses_linear(const Node& node, const Claiming&) {
  const int64_t q_heads = node.integer("q_num_heads", 0), heads = node.integer("kv_num_heads", 0);
  for (const size_t i : {kQ, kK, kV, kState, kDecay, kBeta}) {
    if (!node.input(i)) continue;
    const std::string why = refuses_type(node, i, "f");
    if (!why.empty()) return why;
    if (i != kState && node.input(i)->type != node.input(kQ)->type) return text("input ", i, " has another type");
  }
  if (q_heads <= 0 || heads <= 0 || (q_heads % heads && heads % q_heads)) return "its numbers of heads do not fit";
  const std::string rule = node.string("update_rule", "gated_delta");
  if (rule != "linear" && rule != "gated" && rule != "delta" && rule != "gated_delta") return "update_rule is " + rule;
  if (rule.find("gated") == 0 && !node.input(kDecay)) return "decay is missing";
  if (rule.find("delta") != rule.npos && !node.input(kBeta)) return "beta is missing";
  if (node.integer("state_window", 0)) return "state_window is set";
  const Value* const q = node.input(kQ);
  if (!q->has_rank || q->rank() != 3 || q->dims[2] < q_heads) return "the size of its heads is unknown";
  if (q->dims[2] / q_heads > 512 || q_heads / heads > 16) return "its heads are too large or too many share a state";
  return "";
}

class CausalConv final : public Op {
 public:
  explicit CausalConv(const Node& node)
      : last_(node.integer("channels_last", 0) != 0),
        dilation_(node.integer("dilation", 1)),
        silu_(node.string("activation", "none") != "none") {}

  void emit(Emitter& e) const override {
    const Operand in = e.in(0), weight = e.in(1);
    if (in.rank() != 3 || weight.rank() != 3 || weight.dims[1] != 1) e.fail("input and weights have 3 axes");
    struct {
      int64_t count, channels, length;
      int32_t taps, dilation, kept, unused;
    } x{};
    x.channels = in.dims[last_ ? 2 : 1];
    x.length = in.dims[last_ ? 1 : 2];
    x.taps = int32_t(weight.dims[2]);
    x.dilation = int32_t(dilation_);
    x.kept = int32_t((weight.dims[2] - 1) * dilation_);
    if (x.taps < 1 || weight.dims[0] != x.channels) e.fail(text("expected weights for ", x.channels, " channels"));
    const Dims kept = last_ ? Dims{in.dims[0], x.kept, x.channels} : Dims{in.dims[0], x.channels, x.kept};
    const Operand bias = e.has(2) ? e.in(2) : Operand();
    if (e.has(2) && int64_t(bias.count()) != x.channels) e.fail(text("the bias needs ", x.channels, " elements"));
    const Operand past = LinearAttention::optional(e, 3, kept);
    const Operand y = e.out(0, in.type, in.dims);
    const Operand present = e.outputs() > 1 && e.has_out(1) ? e.out(1, in.type, kept) : Operand();
    x.count = in.dims[0] * x.channels * (x.length + x.kept);
    if (x.count == 0) return;
    const Defines defines{{"STORED", kernel_type(in.type)}, {"LAST", last_ ? "1" : "0"}, {"SILU", silu_ ? "1" : "0"}};
    e.launch(e.kernel("causal_conv.cu", "causal_conv", defines), flat_grid(size_t(x.count)),
             {in, weight, bias, past, y, present, Argument::of(x)});
  }

 private:
  const bool last_;
  const int64_t dilation_;
  const bool silu_;
};

std::string refuses_conv(const Node& node, const Claiming&) {
  for (size_t i = 0; i < 4; ++i) {
    if (i > 1 && !node.input(i)) continue;
    const std::string why = refuses_type(node, i, "f");
    if (!why.empty()) return why;
    if (node.input(i)->type != node.input(0)->type) return text("input ", i, " has another type");
  }
  for (const char* name :
       {"input_channel_offset", "input_channels", "state_length", "state_update_capacity", "state_window"})
    if (node.integer(name, 0)) return text("attribute ", name, " is set");
  if (node.integer("ndim", 1) != 1 || node.integer("state_channels_last", -1) != -1) return "it has more axes";
  if (node.integer("dilation", 1) < 1) return "attribute dilation is not positive";
  const Value* const x = node.input(0);
  if (!x->has_rank || x->rank() != 3) return "its input has not 3 axes";
  if (node.out.size() > 2 && node.out[2]) return "it has a third output";
  const std::string activation = node.string("activation", "none");
  const bool known = activation == "none" || activation == "silu" || activation == "swish";
  return known ? "" : "its activation is " + activation;
}

template <typename Made>
std::unique_ptr<Op> make(const Node& node, Builder& builder) {
  auto op = std::make_unique<Made>(node);
  bind(*op, node, builder);
  return op;
}

}  // namespace

void add_linear_attention(Kinds& kinds) {
  for (const char* domain : {"", "com.microsoft"}) {
    kinds[{domain, "LinearAttention"}] = {refuses_linear, make<LinearAttention>};
    kinds[{domain, "CausalConvWithState"}] = {refuses_conv, make<CausalConv>};
  }
}

}  // namespace providers::cuda
