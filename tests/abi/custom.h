// Custom operators that are written in C++, and sessions with them.
#pragma once
#include <string>
#include <vector>

#include "models.h"

namespace scenes {

inline Scene* scene = nullptr;  // the scene that runs: kernels write their notes to it
inline const OrtApi* api = nullptr;

#define NOTED(SLOT, ...) scene->call(#SLOT, api->SLOT(__VA_ARGS__))

struct Formal {
  ONNXTensorElementDataType type;
  OrtCustomOpInputOutputCharacteristic kind = INPUT_OUTPUT_REQUIRED;
};

/// The tables of C functions for an operator that is written in C++.
struct Op : OrtCustomOp {
  std::string name;
  std::vector<Formal> inputs, outputs;
  void (*create)(const OrtKernelInfo*) = nullptr;
  OrtStatus* (*compute)(OrtKernelContext*) = nullptr;
  int first = 1, last = 1 << 20, arity = 1;

  Op(std::string n, std::vector<Formal> in, std::vector<Formal> out)
      : OrtCustomOp{}, name(std::move(n)), inputs(in), outputs(out) {
    version = ORT_API_VERSION;
    GetName = [](const OrtCustomOp* o) { return of(o).name.c_str(); };
    GetExecutionProviderType = [](const OrtCustomOp*) -> const char* { return nullptr; };
    GetInputTypeCount = [](const OrtCustomOp* o) { return of(o).inputs.size(); };
    GetOutputTypeCount = [](const OrtCustomOp* o) { return of(o).outputs.size(); };
    GetInputType = [](const OrtCustomOp* o, size_t i) { return of(o).inputs[i].type; };
    GetOutputType = [](const OrtCustomOp* o, size_t i) { return of(o).outputs[i].type; };
    GetInputCharacteristic = [](const OrtCustomOp* o, size_t i) { return of(o).inputs[i].kind; };
    GetOutputCharacteristic = [](const OrtCustomOp* o, size_t i) { return of(o).outputs[i].kind; };
    GetInputMemoryType = [](const OrtCustomOp*, size_t) { return OrtMemTypeDefault; };
    GetVariadicInputMinArity = [](const OrtCustomOp* o) { return of(o).arity; };
    GetVariadicOutputMinArity = [](const OrtCustomOp* o) { return of(o).arity; };
    GetVariadicInputHomogeneity = GetVariadicOutputHomogeneity = [](const OrtCustomOp*) { return 1; };
    GetStartVersion = [](const OrtCustomOp* o) { return of(o).first; };
    GetEndVersion = [](const OrtCustomOp* o) { return of(o).last; };
    CreateKernelV2 = [](const OrtCustomOp* o, const OrtApi*, const OrtKernelInfo* info, void** kernel) -> OrtStatusPtr {
      if (of(o).create) of(o).create(info);
      *kernel = const_cast<OrtCustomOp*>(o);
      return nullptr;
    };
    KernelComputeV2 = [](void* kernel, OrtKernelContext* context) -> OrtStatusPtr {
      return static_cast<Op*>(static_cast<OrtCustomOp*>(kernel))->compute(context);
    };
    KernelDestroy = [](void*) { scene->note("kernel", "destroyed"); };
  }
  static const Op& of(const OrtCustomOp* o) { return *static_cast<const Op*>(o); }
};

/// Makes a session of `model` with these operators in the domain 'test'.
inline OrtSession* open_with(Scene& s, const char* model, std::vector<const OrtCustomOp*> ops) {
  scene = &s;
  api = &s.api;
  OrtCustomOpDomain* domain = nullptr;
  CALL(CreateCustomOpDomain, "test", &domain);
  for (const OrtCustomOp* op : ops) CALL(CustomOpDomain_Add, domain, op);
  OrtSessionOptions* options = s.options();
  CALL(AddCustomOpDomain, options, domain);
  CALL(AddSessionConfigEntry, options, "test.key", "test value");
  return open(s, model, options);
}

inline const float* floats_of(const OrtValue* value) {
  const void* data = nullptr;
  NOTED(GetTensorData, value, &data);
  return static_cast<const float*>(data);
}

inline std::vector<int64_t> shape_of(const OrtValue* value) {
  OrtTensorTypeAndShapeInfo* info = nullptr;
  NOTED(GetTensorTypeAndShape, value, &info);
  size_t rank = 0;
  NOTED(GetDimensionsCount, info, &rank);
  std::vector<int64_t> dims(rank);
  NOTED(GetDimensions, info, dims.data(), rank);
  api->ReleaseTensorTypeAndShapeInfo(info);
  return dims;
}

inline size_t count_of(const std::vector<int64_t>& dims) {
  size_t n = 1;
  for (int64_t d : dims) n *= size_t(d);
  return n;
}

/// Input 0, and an output 0 of the same shape.
struct LikeInput {
  const OrtValue* x = nullptr;
  std::vector<int64_t> shape;
  OrtValue* y = nullptr;

  explicit LikeInput(OrtKernelContext* context) {
    NOTED(KernelContext_GetInput, context, 0, &x);
    shape = shape_of(x);
    NOTED(KernelContext_GetOutput, context, 0, shape.data(), shape.size(), &y);
  }
};

inline void run(Scene& s, OrtSession* session, std::vector<const char*> inputs, std::vector<const OrtValue*> values,
                std::vector<const char*> outputs) {
  if (!session) return;
  std::vector<OrtValue*> results(outputs.size());
  CALL(Run, session, nullptr, inputs.data(), values.data(), values.size(), outputs.data(), outputs.size(),
       results.data());
  for (OrtValue* v : results) {
    note_tensor(s, "result", v);
    s.api.ReleaseValue(v);
  }
}

inline constexpr auto kFloat = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;

}  // namespace scenes
