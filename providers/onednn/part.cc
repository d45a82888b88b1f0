#include "part.h"

#include <algorithm>

#include "builder.h"

namespace onednn {

using providers::TensorView;
using providers::text;

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

void CompiledPart::run(OrtKernelContext* context) {
  const auto& api = providers::api();
  std::vector<Dims> shapes(program_.inputs.size());
  std::vector<void*> in(shapes.size());
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
  std::unique_ptr<Instance> instance = instances_.take(shapes, [&] { return Builder(program_, shapes).build(); });
  instance->run(in, providers::output_memory(context, instance->outputs));
  instances_.give_back(std::move(instance));
}

}  // namespace onednn
