#include "ir/defaults.h"

namespace retort {

void make_defaults_constant(Graph& graph) {
  std::erase_if(graph.inputs, [&](ValueId id) { return graph.defaults.contains(id); });
  for (auto& [id, tensor] : graph.defaults) {
    graph.value(id).type = ValueType::tensor(tensor.dtype(), tensor.shape());
    graph.value(id).constant = std::move(tensor);
  }
  graph.defaults.clear();
}

}  // namespace retort
