// Loop: runs its body until a trip count is reached or the condition that it computes is false. Body inputs are the
// iteration number, the condition and carried values; body outputs are the condition, carried values, and values that
// are stacked along a new first axis.
#include "ops/control/common/iteration.h"
#include "ops/named_bodies.h"

namespace retort::ops {
namespace {

// A number for the body, changed in place if nothing else refers to the one of the last run. It is a scalar, or a
// vector if the body declares one, as in models made by tf2onnx; ONNX Runtime also passes either.
template <typename T>
void set_single(Value& value, T v, const ValueType& declared) {
  Tensor* t = value.get<Tensor>();
  if (!t || t->owner().use_count() != 1) {
    value = Tensor(dtype_of<T>, declared.shape.rank() == 1 ? Shape{1} : Shape{});
    t = value.get<Tensor>();
  }
  *t->mutable_data<T>() = v;
}

// The one element of an optional input, or its default.
template <typename T>
T single(const RunContext& c, size_t i, std::string_view what, T otherwise) {
  if (!c.has(i)) return otherwise;
  require(c.dtype(i) == dtype_of<T> && c.count(i) == 1, ErrorCode::invalid_argument,
          "{} is {}{}, but Loop expects one {}", what, dtype_name(c.dtype(i)), c.shape(i), dtype_name(dtype_of<T>));
  return c.input<T>(i)[0];
}

bool continues(const Value& condition) {
  const Tensor* t = condition.tensor();
  require(t && t->dtype() == DType::boolean && t->count() == 1, ErrorCode::invalid_argument,
          "the body of Loop returns a condition that is not a single bool");
  return t->data<bool>()[0];
}

void check_arity(size_t inputs, size_t outputs, size_t taken, size_t given) {
  require(taken >= 2 && taken == inputs, ErrorCode::invalid_argument,
          "the body takes {} values, but the node passes {}; make it take iteration number, condition and {} carried "
          "values",
          taken, inputs, inputs - 2);
  require(
      given >= taken - 1 && outputs <= given - 1, ErrorCode::invalid_argument,
      "the body returns {} values; make it return a condition, {} carried values and values for {} outputs of the node",
      given, taken - 2, outputs);
}

struct Loop {
  void infer(InferContext& c) const {
    if (!c.node()) return;
    require(c.node()->bodies.size() == 1, ErrorCode::invalid_graph,
            "attribute 'body' is required and missing; set it to a graph");
    const Graph& body = *c.node()->bodies[0].graph;
    const size_t own = std::max<size_t>(c.node()->inputs.size() - c.node()->captures, 2);
    check_arity(own, c.output_count(), body.inputs.size() - body.captures, body.outputs.size());
    const size_t carried = own - 2;
    for (size_t i = 0; i < carried && i + 2 < body.inputs.size() && i + 1 < body.outputs.size(); ++i) {
      const ValueType& formal = body.value(body.inputs[i + 2]).type;
      if (c.has(i + 2)) require_same_type(c.type(i + 2), formal, "carried value", i);
      require(!c.has(i + 2) || c.type(i + 2).kind != ValueType::Kind::optional || !formal.is_tensor(), ErrorCode::fail,
              "carried value {} is optional, but the body takes a tensor; give its element", i);
      require_same_type(body.value(body.outputs[i + 1]).type, formal, "carried value", i);
    }
    for (size_t i = 0; i < c.output_count() && i + 1 < body.outputs.size(); ++i) {
      const ValueType& t = body.value(body.outputs[i + 1]).type;
      if (i < carried && !t.is_tensor())
        c.set(i, t);
      else
        c.set(i, t.dtype);
    }
  }

  void run(RunContext& c) const {
    BodyRunner& bodies = c.bodies();
    const NamedBodies& formal = named_bodies(c);
    const size_t taken = bodies.input_count(0), given = bodies.output_count(0);
    check_arity(taken, c.output_count(), taken, given);
    require(taken <= c.input_count(), ErrorCode::invalid_graph, "the node has {} inputs, but its body has {}",
            c.input_count(), taken);
    const size_t carried = taken - 2, stacked = given - taken + 1;
    const auto limit = single<int64_t>(c, 0, "the trip count", INT64_MAX);
    bool go = single<bool>(c, 1, "the condition", true);
    std::vector<Value> in(2 + carried), out(1 + carried + stacked);
    for (size_t i = 0; i < carried; ++i) {
      require(c.has(2 + i), ErrorCode::invalid_graph, "carried value {} is missing", i);
      in[2 + i] = copy_of(c, 2 + i);
    }
    std::vector<std::vector<Value>> scans(stacked);
    for (int64_t n = 0; n < limit && go && !c.parallel().cancelled(); ++n) {
      set_single(in[0], n, formal.input_type(0, 0));
      set_single(in[1], go, formal.input_type(0, 1));
      bodies.run(0, in, out);
      go = continues(out[0]);
      for (size_t i = 0; i < carried; ++i) in[2 + i] = std::exchange(out[1 + i], Value());
      for (size_t i = 0; i < stacked; ++i) add_part(scans[i], std::exchange(out[1 + carried + i], Value()));
      out[0] = Value();
    }
    for (size_t i = 0; i < c.output_count(); ++i) {
      if (!c.wants(i)) continue;
      if (i < carried)
        c.set_value(i, std::move(in[2 + i]));
      else
        c.set_value(i, stack(scans[i - carried], bodies.output_type(0, 1 + i)));
    }
  }
};

}  // namespace

extern const OpDef op_loop;
constinit const OpDef op_loop = define<Loop>({
    .name = "Loop",
    .since = {1, 11, 13, 16, 19, 21, 23, 24, 25},
    .inputs = {"M: int64?", "cond: bool?", "v_initial: V..."},
    .outputs = {"v_final_and_scan_outputs: V..."},
    .traits = kDynamicOutput,
});

}  // namespace retort::ops
