#include "explain/how_it_runs.h"

#include <vector>

namespace retort {

HowItRuns how_it_runs(const OpDef& op, DType type) {
  const Kernel kernel = find_kernel(op, type);
  const bool complex = type == DType::complex64 || type == DType::complex128;
  if (kernel.carried || (complex && !op.run && kernel.fn)) return HowItRuns::converted;  // ops/complex_parts.h
  if (!kernel.fn) return HowItRuns::nothing;
  return op.run || op.fast_for(type) ? HowItRuns::kernel : HowItRuns::reference;
}

std::string_view how_text(HowItRuns how) {
  switch (how) {
    case HowItRuns::kernel:
      return "kernel";
    case HowItRuns::reference:
      return "reference";
    case HowItRuns::converted:
      return "converted";
    default:
      return "";
  }
}

DType computed_type(const Graph& graph, const Node& node) {
  std::vector<Slot> slots(node.inputs.size() + node.outputs.size());
  std::vector<Slot*> inputs, outputs;
  size_t next = 0;
  const auto add = [&](ValueId id, std::vector<Slot*>& list) {
    Slot& slot = slots[next++];
    if (id != ValueId::none) slot.type = graph.value(id).type;
    list.push_back(id == ValueId::none ? nullptr : &slot);
  };
  for (const ValueId in : node.inputs) add(in, inputs);
  for (const ValueId out : node.outputs) add(out, outputs);
  return dispatch_type(*node.op, inputs, outputs);
}

}  // namespace retort
