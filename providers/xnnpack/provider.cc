// The plug-in: claims nodes that XNNPACK runs, compiles groups of them.
#include <pthreadpool.h>

#include <algorithm>

#include "common/options.h"
#include "common/partition.h"
#include "program.h"

namespace xnn {
namespace {

using providers::Error;
using providers::text;

constexpr size_t kInstances = 8;  // sets of shapes whose runtimes are kept
constexpr const char* kName = "XnnPackExecutionProvider";

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
        throw Error(text(kName, " has no option '", name, "'; there are threads and disable"), ORT_INVALID_ARGUMENT);
    }
    if (xnn_initialize(nullptr) != xnn_status_success)
      throw Error(text(kName, ": XNNPACK does not run on this processor"));
    if (threads != 1) threads_.reset(pthreadpool_create(size_t(threads)));
  }

  std::vector<std::vector<const Node*>> claim(const providers::Graph& graph) override {
    return providers::groups_of(graph, [&](const Node& n) { return !disabled_.count(n.type) && claims(n); });
  }
  std::unique_ptr<providers::Part> compile(const providers::Compilation& what) override {
    return std::make_unique<CompiledPart>(lower(what), threads_.get());
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
  std::vector<const float*> in(shapes.size());
  for (size_t i = 0; i < in.size(); ++i) {
    if (program_.inputs[i] < 0) continue;
    const OrtValue* value = nullptr;
    providers::check(api.KernelContext_GetInput(context, i, &value));
    if (!value) throw Error(text(program_.name, ": input ", i, " is not given; it must be"));
    const providers::TensorView view = providers::view_of(value);
    if (view.type != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT)
      throw Error(
          text(program_.name, ": input ", i, " has type ", providers::name_of(view.type), ", the model says float32"),
          ORT_INVALID_ARGUMENT);
    if (view.count() == 0)
      throw Error(
          text(program_.name, ": input ", i, " has shape ", providers::shape_text(view.dims),
               " and no elements, which XNNPACK does not take; leave the nodes to others with the option 'disable'"),
          ORT_INVALID_ARGUMENT);
    shapes[i] = view.dims;
    in[i] = static_cast<const float*>(view.data);
  }
  std::unique_ptr<Instance> instance;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto at = std::find_if(idle_.begin(), idle_.end(), [&](const auto& i) { return i->shapes == shapes; });
    if (at != idle_.end()) {
      instance = std::move(*at);
      idle_.erase(at);
    }
  }
  if (!instance) instance = std::make_unique<Instance>(program_, shapes, threads_);
  std::vector<float*> out(program_.outputs.size());
  for (size_t i = 0; i < out.size(); ++i) {
    OrtValue* value = nullptr;
    const Dims& dims = instance->outputs[i];
    providers::check(api.KernelContext_GetOutput(context, i, dims.data(), dims.size(), &value));
    void* data = nullptr;
    providers::check(api.GetTensorMutableData(value, &data));
    out[i] = static_cast<float*>(data);
  }
  instance->run(in, out);
  const std::lock_guard<std::mutex> lock(mutex_);
  idle_.push_front(std::move(instance));
  if (idle_.size() > kInstances) idle_.pop_back();
}

}  // namespace xnn

RETORT_PROVIDER(xnn::kDescription)
