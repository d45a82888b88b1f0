// retort.External: stands for a node whose operator is external (ops/external.h).
#include "ops/external.h"

#include "base/error.h"

namespace retort {
namespace {

struct External {
  ExternalNode node;
  std::shared_ptr<const ExternalOp> op;

  void infer(InferContext& c) const { op->infer(node, c); }
  std::unique_ptr<State> prepare(PrepareContext& c) const { return op->prepare(node, c); }
  void run(RunContext& c) const { op->run(node, c); }
};

}  // namespace

namespace ops {

extern const OpDef op_external;
constinit const OpDef op_external = define<External>({
    .name = "External",
    .domain = "retort",
    .inputs = {"x: X..."},
    .outputs = {"y: Y..."},
    .traits = kInternal | kDynamicOutput | kRandom | kExternal,
});

}  // namespace ops

std::shared_ptr<const ExternalOp> ExternalOps::find(std::string_view domain, std::string_view type, int version) const {
  bool known = false;
  for (const auto& op : all_) {
    if (op->domain() != domain || op->type() != type) continue;
    if (op->covers(version)) return op;
    known = true;
  }
  require(!known, ErrorCode::fail,
          "the custom operator {}.{} is registered, but not for version {}, which the model imports; register one "
          "for it",
          domain, type, version);
  return nullptr;
}

void resolve_external(const Graph& graph, Node& node, std::shared_ptr<const ExternalOp> op) {
  auto made = std::make_shared<External>();
  const auto names = [&](const std::vector<ValueId>& values) {
    std::vector<std::string> all;
    for (const ValueId v : values) all.push_back(v == ValueId::none ? "" : graph.value(v).name);
    return all;
  };
  made->node = {node.name,       node.domain,        node.type,           node.version,
                node.attributes, names(node.inputs), names(node.outputs), graph.shared_dims()};
  node.version = op->first_version();
  made->op = std::move(op);
  node.params = std::move(made);
  node.op = &ops::op_external;
}

const ExternalOp* external_op(const OpDef& op, const void* params) {
  return &op == &ops::op_external ? static_cast<const External*>(params)->op.get() : nullptr;
}

const ExternalOp* external_op(const Node& node) { return node.op ? external_op(*node.op, node.params.get()) : nullptr; }

}  // namespace retort
