#include "instances.h"

namespace providers {

std::vector<void*> output_memory(OrtKernelContext* context, const std::vector<Dims>& shapes) {
  std::vector<void*> out(shapes.size());
  for (size_t i = 0; i < out.size(); ++i) {
    OrtValue* value = nullptr;
    check(api().KernelContext_GetOutput(context, i, shapes[i].data(), shapes[i].size(), &value));
    check(api().GetTensorMutableData(value, &out[i]));
  }
  return out;
}

}  // namespace providers
