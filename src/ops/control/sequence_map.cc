// SequenceMap: runs its body for each element of a sequence, together with those of further sequences and with tensors
// that are the same for all, and returns a sequence for each body output.
#include "ops/control/common/iteration.h"
#include "ops/sequence/common/sequence.h"

namespace retort::ops {
namespace {

struct SequenceMap {
  void infer(InferContext& c) const {
    if (!c.node()) return;
    require(c.node()->bodies.size() == 1, ErrorCode::invalid_graph,
            "attribute 'body' is required and missing; set it to a graph");
    const Graph& body = *c.node()->bodies[0].graph;
    require(c.output_count() <= body.outputs.size(), ErrorCode::invalid_graph,
            "the node has {} outputs, but its body has {}", c.output_count(), body.outputs.size());
    const size_t formals = body.inputs.size() - body.captures;
    for (size_t i = 0; i < formals && c.has(i); ++i) {
      const ValueType& given = c.type(i);
      const bool sequence = given.kind == ValueType::Kind::sequence && given.element;
      require_same_type(sequence ? *given.element : given, body.value(body.inputs[i]).type, "input", i);
    }
    for (size_t i = 0; i < c.output_count(); ++i)
      c.set(i, ValueType::sequence_of(ValueType::tensor(body.value(body.outputs[i]).type.dtype)));
  }

  void run(RunContext& c) const {
    BodyRunner& bodies = c.bodies();
    const size_t body = bodies.index("body"), taken = bodies.input_count(body);
    const size_t length = sequence_at(c, 0).items.size();
    require(taken <= c.input_count() && c.output_count() <= bodies.output_count(body), ErrorCode::invalid_graph,
            "the node has {} inputs and {} outputs, but its body has {} and {}", c.input_count(), c.output_count(),
            taken, bodies.output_count(body));
    std::vector<Value> in(taken), out(bodies.output_count(body));
    std::vector<Sequence> results(out.size());
    for (size_t i = 0; i < out.size(); ++i) results[i].dtype = bodies.output_type(body, i).dtype;
    for (size_t k = 0; k < length && !c.parallel().cancelled(); ++k) {
      for (size_t i = 0; i < taken; ++i) in[i] = input_of(c, i, k, length);
      bodies.run(body, in, out);
      for (size_t i = 0; i < out.size(); ++i) results[i].items.push_back(std::exchange(out[i], Value()));
    }
    for (size_t i = 0; i < c.output_count(); ++i) {
      if (c.wants(i)) c.set_value(i, std::move(results[i]));
    }
  }

 private:
  static Value input_of(const RunContext& c, size_t i, size_t k, size_t length) {
    const auto* s = c.in_slot(i).boxed.get<Sequence>();
    if (!s) return copy_of(c, i);
    require(s->items.size() == length, ErrorCode::invalid_argument, "sequences 0 and {} have {} and {} elements", i,
            length, s->items.size());
    return s->items[k];
  }
};

}  // namespace

extern const OpDef op_sequence_map;
constinit const OpDef op_sequence_map = define<SequenceMap>({
    .name = "SequenceMap",
    .since = {17},
    .inputs = {"input_sequence: S", "additional_inputs: V..."},
    .outputs = {"out_sequence: S..."},
    .traits = kBoxed,
});

}  // namespace retort::ops
