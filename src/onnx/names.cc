#include "onnx/names.h"

#include <algorithm>

#include "base/error.h"
#include "base/loading.h"

namespace retort::onnx {

Names::Names(const Graph& graph, const Names* outer, const std::vector<std::string>& captured)
    : outer_(outer), names_(graph.value_count()) {
  const size_t formal = graph.inputs.size() - captured.size();
  for (size_t i = 0; i < captured.size(); ++i) names_[size_t(graph.inputs[formal + i])] = captured[i];
  // Inputs and outputs choose first: their names are the model's interface.
  for (size_t i = 0; i < formal; ++i) {
    const std::string& own = graph.value(graph.inputs[i]).name;
    // A formal input hides a value of a surrounding graph, unless the graph reads that.
    const bool hides = !own.empty() && std::find(captured.begin(), captured.end(), own) == captured.end();
    if (hides && own_.insert(own).second) names_[size_t(graph.inputs[i])] = own;
    choose(graph, graph.inputs[i]);
  }
  for (ValueId id : graph.outputs) choose(graph, id);
  for (size_t i = 0; i < graph.value_count(); ++i) {
    check_loading();
    choose(graph, ValueId(i));
  }
}

void Names::choose(const Graph& graph, ValueId id) {
  std::string& chosen = names_[size_t(id)];
  if (!chosen.empty()) return;
  const std::string wanted = graph.value(id).name.empty() ? "value" : graph.value(id).name;
  chosen = wanted;
  while (taken(chosen)) chosen = cat("{}_{}", wanted, next_++);
  own_.insert(chosen);
}

}  // namespace retort::onnx
