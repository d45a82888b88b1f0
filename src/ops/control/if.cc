// If: runs one of two bodies. The bodies take nothing but captured values.
#include "base/error.h"
#include "ops/op.h"

namespace retort::ops {
namespace {

struct If {
  // The kernel sizes the outputs; before a run only what both branches agree on is known.
  void infer(InferContext& c) const {
    if (!c.node() || c.node()->bodies.size() != 2) return;
    const Graph& a = *c.node()->bodies[0].graph;
    const Graph& b = *c.node()->bodies[1].graph;
    for (size_t i = 0; i < c.output_count(); ++i) {
      require(i < a.outputs.size() && i < b.outputs.size(), ErrorCode::invalid_graph,
              "a branch of If has too few outputs");
      const ValueType &x = a.value(a.outputs[i]).type, &y = b.value(b.outputs[i]).type;
      if (x == y && (!x.ranked || all_known(x.shape)))
        c.set(i, x);
      else if (x.is_tensor() && y.is_tensor())
        c.set(i, x.dtype);
    }
  }

  void run(RunContext& c) const {
    require(c.dtype(0) == DType::boolean && c.count(0) == 1, ErrorCode::invalid_argument,
            "the condition is {}{}, If wants one bool", dtype_name(c.dtype(0)), to_string(c.shape(0)));
    const bool condition = c.input<bool>(0)[0];
    const size_t branch = c.bodies().index(condition ? "then_branch" : "else_branch");
    std::vector<Value> results(c.bodies().output_count(branch));
    require(results.size() >= c.output_count(), ErrorCode::invalid_graph, "a branch of {} outputs, If has {}",
            results.size(), c.output_count());
    c.bodies().run(branch, {}, results);
    for (size_t i = 0; i < c.output_count(); ++i) {
      if (c.wants(i)) c.set_value(i, std::move(results[i]));
    }
  }
};

}  // namespace

extern const OpDef op_if;
constinit const OpDef op_if = define<If>({
    .name = "If",
    .since = {1, 11, 13, 16, 19, 21, 23, 24, 25},
    .inputs = {"cond: B"},
    .outputs = {"outputs: V..."},
    .traits = kDynamicOutput,
});

}  // namespace retort::ops
