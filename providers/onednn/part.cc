#include "part.h"

#include <algorithm>

#include "builder.h"

namespace onednn {

using providers::TensorView;
using providers::text;

// Number of shape sets whose primitives are kept.
constexpr size_t kInstances = 8;

void Program::count_uses() {
  for (Slot& slot : values) slot.uses = 0;
  for (const auto& op : operations) {
    for (const int id : op->in)
      if (id >= 0) ++values[size_t(id)].uses;
  }
}

Operation* Program::maker(int value) const {
  for (const auto& op : operations)
    if (op->out == value) return op.get();
  return nullptr;
}

Operation* Program::only_reader(int value) const {
  Operation* found = nullptr;
  if (values[size_t(value)].output >= 0) return nullptr;
  for (const auto& op : operations) {
    const auto reads = std::count(op->in.begin(), op->in.end(), value);
    if (reads > 1 || (reads && found)) return nullptr;
    if (reads) found = op.get();
  }
  return found;
}

CompiledPart::CompiledPart(Program program) : program_(std::move(program)) {}
CompiledPart::~CompiledPart() = default;

std::unique_ptr<Instance> CompiledPart::take(const std::vector<Dims>& shapes) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto at = std::find_if(idle_.begin(), idle_.end(), [&](const auto& i) { return i->shapes == shapes; });
    if (at != idle_.end()) {
      std::unique_ptr<Instance> found = std::move(*at);
      idle_.erase(at);
      return found;
    }
  }
  return Builder(program_, shapes).build();
}

void CompiledPart::give_back(std::unique_ptr<Instance> instance) {
  const std::lock_guard<std::mutex> lock(mutex_);
  idle_.push_front(std::move(instance));
  if (idle_.size() > kInstances) idle_.pop_back();
}

void CompiledPart::run(OrtKernelContext* context) {
  const auto& api = providers::api();
  std::vector<Dims> shapes(program_.inputs.size());
  std::vector<void*> in(shapes.size()), out(program_.outputs.size());
  for (size_t i = 0; i < in.size(); ++i) {
    if (program_.inputs[i] < 0) continue;
    const OrtValue* value = nullptr;
    providers::check(api.KernelContext_GetInput(context, i, &value));
    const Slot& slot = program_.values[size_t(program_.inputs[i])];
    if (!value) throw providers::Error(text(program_.name, ": input '", slot.name, "' is missing; give it a value"));
    TensorView view = providers::view_of(value);
    if (view.type != slot.type)
      throw providers::Error(text(program_.name, ": input '", slot.name, "' has type ", providers::name_of(view.type),
                                  ", but the model has ", providers::name_of(slot.type)),
                             ORT_INVALID_ARGUMENT);
    shapes[i] = view.dims;
    in[i] = view.mutable_data;
  }
  const Threads threads(program_.settings.threads);
  std::unique_ptr<Instance> instance = take(shapes);
  for (size_t i = 0; i < out.size(); ++i) {
    OrtValue* value = nullptr;
    const Dims& dims = instance->outputs[i];
    providers::check(api.KernelContext_GetOutput(context, i, dims.data(), dims.size(), &value));
    providers::check(api.GetTensorMutableData(value, &out[i]));
  }
  instance->run(in, out);
  give_back(std::move(instance));
}

}  // namespace onednn
