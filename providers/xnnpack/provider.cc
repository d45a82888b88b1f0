// The plug-in: claims nodes that XNNPACK runs, and compiles groups of them.
#include <pthreadpool.h>

#include <algorithm>

#include "common/options.h"
#include "common/partition.h"
#include "quantized.h"

namespace xnn {
namespace {

using providers::Error;
using providers::text;

constexpr const char* kName = "XnnPackExecutionProvider";

// Weights that a DequantizeLinear computes from a constant must be known when the group is compiled: nodes whose group
// lacks it are removed from `wanted`. Returns whether there were any.
bool drop_without_weights(const std::vector<std::vector<const Node*>>& groups, std::set<const Node*>& wanted) {
  const size_t before = wanted.size();
  for (const auto& group : groups)
    for (const Node* node : group) {
      const std::vector<const Node*> makers = makers_of_weights(*node);
      if (!std::all_of(makers.begin(), makers.end(),
                       [&](const Node* m) { return std::find(group.begin(), group.end(), m) != group.end(); }))
        wanted.erase(node);
    }
  return wanted.size() < before;
}

// Such a group alone saves no time.
bool only_converts(const std::vector<const Node*>& group) {
  return std::all_of(group.begin(), group.end(), [](const Node* node) {
    return node->type == "QuantizeLinear" || node->type == "DequantizeLinear";
  });
}

ONNXTensorElementDataType type_of(const Slot& slot) {
  if (slot.scale == 0) return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  return slot.biased ? ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8 : ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8;
}

class XnnPack : public providers::Provider {
 public:
  explicit XnnPack(const providers::Options& options) {
    int threads = 0;
    for (const auto& [name, value] : options) {
      if (name == "threads")
        threads = providers::threads_of(kName, value);
      else if (name == "disable")
        disabled_ = providers::operators_of(kName, value, operator_names());
      else
        throw Error(text(kName, " has no option '", name, "'; its options are threads and disable"),
                    ORT_INVALID_ARGUMENT);
    }
    if (xnn_initialize(nullptr) != xnn_status_success)
      throw Error(text(kName, ": XNNPACK does not run on this processor"));
    if (threads != 1) threads_.reset(pthreadpool_create(size_t(threads)));
  }

  std::vector<std::vector<const Node*>> claim(const providers::Graph& graph) override {
    const Agreements agreements(graph);
    std::set<const Node*> wanted;
    for (const Node& node : graph.nodes())
      if (!disabled_.count(node.type) && claims(node) && agreements.hold(node)) wanted.insert(&node);
    for (;;) {
      auto groups = providers::groups_of(graph, [&](const Node& n) { return wanted.count(&n) > 0; });
      if (!drop_without_weights(groups, wanted)) {
        std::erase_if(groups, only_converts);
        return groups;
      }
    }
  }
  std::unique_ptr<providers::Part> compile(const providers::Compilation& what) override {
    Program program = lower(what);
    const auto conversions = std::count_if(program.steps.begin(), program.steps.end(),
                                           [](const Step& s) { return s.kind == Kind::convert; });
    // Results do not show whether operators run on integers; this line does.
    providers::tell(what.log,
                    text(kName, ": part '", what.name, "': operators on 8-bit integers: ", program.on_integers,
                         ", in float32: ", program.in_float32, ", conversions between them: ", conversions));
    return std::make_unique<CompiledPart>(std::move(program), threads_.get());
  }

 private:
  std::set<std::string> disabled_;
  std::unique_ptr<pthreadpool, void (*)(pthreadpool_t)> threads_{nullptr, pthreadpool_destroy};
};

const providers::Description kDescription = {
    kName, "Retort", "0.1.0", [](const providers::Options& options) -> std::unique_ptr<providers::Provider> {
      return std::make_unique<XnnPack>(options);
    }};

}  // namespace

void CompiledPart::run(OrtKernelContext* context) {
  const auto& api = providers::api();
  std::vector<Dims> shapes(program_.inputs.size());
  std::vector<const void*> in(shapes.size());
  for (size_t i = 0; i < in.size(); ++i) {
    if (program_.inputs[i] < 0) continue;
    const OrtValue* value = nullptr;
    providers::check(api.KernelContext_GetInput(context, i, &value));
    if (!value) throw Error(text(program_.name, ": input ", i, " is missing; give it a value"));
    const providers::TensorView view = providers::view_of(value);
    const ONNXTensorElementDataType wanted = type_of(program_.values[size_t(program_.inputs[i])]);
    if (view.type != wanted)
      throw Error(text(program_.name, ": input ", i, " has type ", providers::name_of(view.type),
                       ", but the model has ", providers::name_of(wanted)),
                  ORT_INVALID_ARGUMENT);
    if (view.count() == 0)
      throw Error(text(program_.name, ": input ", i, " has shape ", providers::shape_text(view.dims),
                       " without elements, which XNNPACK does not support; exclude such nodes by the option 'disable'"),
                  ORT_INVALID_ARGUMENT);
    shapes[i] = view.dims;
    in[i] = view.data;
  }
  std::unique_ptr<Instance> instance =
      instances_.take(shapes, [&] { return std::make_unique<Instance>(program_, shapes, threads_); });
  instance->run(in, providers::output_memory(context, instance->outputs));
  instances_.give_back(std::move(instance));
}

}  // namespace xnn

RETORT_PROVIDER(xnn::kDescription)
