#include "ir/defaults.h"

#include <algorithm>

namespace retort {

void make_defaults_constant(Graph& graph, std::span<const ValueId> open) {
  std::map<ValueId, Tensor> left;
  for (auto& [id, tensor] : graph.defaults) {
    if (std::find(open.begin(), open.end(), id) != open.end()) {
      left.emplace(id, std::move(tensor));
      continue;
    }
    std::erase(graph.inputs, id);
    graph.value(id).type = ValueType::tensor(tensor.dtype(), tensor.shape());
    graph.value(id).constant = std::move(tensor);
  }
  graph.defaults = std::move(left);
}

}  // namespace retort
