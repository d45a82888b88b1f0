// If: runs one of two bodies. The bodies have no inputs except captures.
#include "base/error.h"
#include "ops/op.h"

namespace retort::ops {
namespace {

const Graph& branch(const Node& node, std::string_view name) {
  for (const Body& body : node.bodies) {
    if (body.attribute == name) return *body.graph;
  }
  fail(ErrorCode::invalid_graph, "attribute '{}' is required and missing; set it to a graph", name);
}

struct If {
  // The kernel determines the sizes of outputs; before a run only what both branches agree on is known.
  void infer(InferContext& c) const {
    if (!c.node()) return;
    const Graph &a = branch(*c.node(), "then_branch"), &b = branch(*c.node(), "else_branch");
    require(a.outputs.size() == b.outputs.size() && c.output_count() <= a.outputs.size(), ErrorCode::invalid_argument,
            "then_branch returns {} values, else_branch {}, but the node has {} outputs; make these numbers equal",
            a.outputs.size(), b.outputs.size(), c.output_count());
    for (size_t i = 0; i < c.output_count(); ++i) {
      const ValueType &x = a.value(a.outputs[i]).type, &y = b.value(b.outputs[i]).type;
      if (!agree(x, y)) {
        fail(ErrorCode::invalid_argument,
             "output {} is of type {} from then_branch, {} from else_branch; cast one of them", i, kind_text(x),
             kind_text(y));
      }
      if (x == y && (!x.ranked || all_known(x.shape)))
        c.set(i, x);
      else if (x.is_tensor() && y.is_tensor())
        c.set(i, x.dtype);
    }
  }

  void run(RunContext& c) const {
    require(c.dtype(0) == DType::boolean && c.count(0) == 1, ErrorCode::invalid_argument,
            "the condition is {}{}, but If expects one bool", dtype_name(c.dtype(0)), c.shape(0));
    const bool condition = c.input<bool>(0)[0];
    const size_t branch = c.bodies().index(condition ? "then_branch" : "else_branch");
    std::vector<Value> results(c.bodies().output_count(branch));
    require(results.size() >= c.output_count(), ErrorCode::invalid_graph, "a branch has {} outputs, but If has {}",
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
    .inputs = {"cond: bool"},
    .outputs = {"outputs: V..."},
    .traits = kDynamicOutput,
});

}  // namespace retort::ops
