// An operator that the provider in telling.cc adds to sessions: tests.telling::Twice, which the CPU runs.
#pragma once
#include "telling_device.h"

namespace telling {

inline OrtStatus* twice(OrtKernelContext* context) {
  Floats x;
  float* y = nullptr;
  TRY(read_first(context, x));
  TRY(make_output(context, 0, x.shape, y));
  for (size_t i = 0; i < x.count; ++i) y[i] = 2 * x.data[i];
  return nullptr;
}

struct Twice : OrtCustomOp {
  Twice() : OrtCustomOp{} {
    version = 23;
    GetName = [](const OrtCustomOp*) { return "Twice"; };
    GetExecutionProviderType = [](const OrtCustomOp*) -> const char* { return nullptr; };
    GetInputTypeCount = GetOutputTypeCount = [](const OrtCustomOp*) -> size_t { return 1; };
    GetInputType = GetOutputType = [](const OrtCustomOp*, size_t) { return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT; };
    GetInputCharacteristic = GetOutputCharacteristic = [](const OrtCustomOp*, size_t) { return INPUT_OUTPUT_REQUIRED; };
    GetInputMemoryType = [](const OrtCustomOp*, size_t) { return OrtMemTypeDefault; };
    GetStartVersion = [](const OrtCustomOp*) { return 1; };
    GetEndVersion = [](const OrtCustomOp*) { return 9; };
    CreateKernelV2 = [](const OrtCustomOp* op, const OrtApi*, const OrtKernelInfo*, void** kernel) -> OrtStatusPtr {
      *kernel = const_cast<OrtCustomOp*>(op);
      return nullptr;
    };
    KernelComputeV2 = [](void*, OrtKernelContext* context) -> OrtStatusPtr { return twice(context); };
    KernelDestroy = [](void*) {};
  }
};

}  // namespace telling
