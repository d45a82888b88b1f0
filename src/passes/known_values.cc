// Turns integer values whose content is known without symbols into constants: Shape → Gather → Concat chains on static
// shapes. Speeds up the transformers exported from torch (BERT, GPT-2, ViT, Whisper).
#include "passes/known_values.h"

#include "passes/passes.h"

namespace retort {
namespace {

template <typename T>
Tensor make(const GraphValue& v) {
  Tensor t(dtype_of<T>, v.type.shape);
  for (size_t i = 0; i < t.count(); ++i) t.mutable_data<T>()[i] = T(v.known[i]);
  return t;
}

}  // namespace

std::optional<Tensor> known_content(const GraphValue& v) {
  if (!v.has_known || !all_known(v.known) || !v.type.is_static()) return std::nullopt;
  if (element_count(v.type.shape) != v.known.size()) return std::nullopt;
  switch (v.type.dtype) {
    case DType::i64:
      return make<int64_t>(v);
    case DType::i32:
      return make<int32_t>(v);
    case DType::boolean:
      return make<bool>(v);
    default:
      return std::nullopt;
  }
}

namespace {

void replace_known_values(Graph& graph, PassContext& context) {
  const std::span<const NodeId> order = graph.order();
  for (NodeId id : std::vector<NodeId>(order.begin(), order.end())) {
    const Node& n = graph.node(id);
    if (n.dead || !n.op || n.op->has(kRandom) || n.outputs.size() != 1) continue;
    std::optional<Tensor> t = known_content(graph.value(n.outputs[0]));
    if (!t) continue;
    graph.make_constant(n.outputs[0], std::move(*t));
    remove_dead(graph, id);
    context.count("value");
  }
}

}  // namespace

constinit const Pass pass_known_values{"known_values", 1, replace_known_values};

}  // namespace retort
