// Custom operators: a caller's kernels in both libraries, the information that they receive and their results.
#include <algorithm>
#include <cctype>

#include "custom.h"

using namespace scenes;

namespace {

template <typename F>
void note_text(const char* key, F&& get) {
  size_t size = 0;
  scene->call("size", get(nullptr, &size));
  std::string text(size, ' ');
  scene->call("text", get(text.data(), &size));
  scene->note(key, text.c_str());
  size = 1;
  scene->call("short buffer", get(text.data(), &size));
}

void note_type(const char* key, OrtTypeInfo* type) {
  if (!type) return;
  const OrtTensorTypeAndShapeInfo* info = nullptr;
  ONNXTensorElementDataType element{};
  size_t rank = 0;
  NOTED(CastTypeInfoToTensorInfo, type, &info);
  NOTED(GetTensorElementType, info, &element);
  NOTED(GetDimensionsCount, info, &rank);
  scene->note(key, element);
  scene->note("rank", rank);
  api->ReleaseTypeInfo(type);
}

void note_attributes(const OrtKernelInfo* info) {
  float factor = 0;
  int64_t steps = 0;
  NOTED(KernelInfoGetAttribute_float, info, "factor", &factor);
  NOTED(KernelInfoGetAttribute_int64, info, "steps", &steps);
  scene->note("factor", factor);
  scene->note("steps", steps);
  NOTED(KernelInfoGetAttribute_float, info, "nothing", &factor);
  NOTED(KernelInfoGetAttribute_float, info, "mode", &factor);
  note_text("mode",
            [&](char* out, size_t* size) { return api->KernelInfoGetAttribute_string(info, "mode", out, size); });
  size_t count = 0;
  NOTED(KernelInfoGetAttributeArray_int64, info, "sizes", nullptr, &count);
  std::vector<int64_t> sizes(count);
  NOTED(KernelInfoGetAttributeArray_int64, info, "sizes", sizes.data(), &count);
  for (int64_t v : sizes) scene->note("sizes", v);
  NOTED(KernelInfoGetAttributeArray_float, info, "weights", nullptr, &count);
  std::vector<float> weights(count);
  NOTED(KernelInfoGetAttributeArray_float, info, "weights", weights.data(), &count);
  for (float v : weights) scene->note("weights", v);
  char** labels = nullptr;
  NOTED(KernelInfoGetAttributeArray_string, info, "labels", scene->allocator(), &labels, &count);
  for (size_t i = 0; i < count; ++i) scene->note("labels", static_cast<const char*>(labels[i]));
  OrtValue* table = nullptr;
  NOTED(KernelInfoGetAttribute_tensor, info, "table", scene->allocator(), &table);
  note_tensor(*scene, "table", table);
}

void note_ports(const OrtKernelInfo* info) {
  size_t inputs = 0, outputs = 0;
  NOTED(KernelInfo_GetInputCount, info, &inputs);
  NOTED(KernelInfo_GetOutputCount, info, &outputs);
  scene->note("inputs", inputs);
  scene->note("outputs", outputs);
  note_text("node", [&](char* out, size_t* size) { return api->KernelInfo_GetNodeName(info, out, size); });
  note_text("type", [&](char* out, size_t* size) { return api->KernelInfo_GetOperatorType(info, out, size); });
  note_text("domain", [&](char* out, size_t* size) { return api->KernelInfo_GetOperatorDomain(info, out, size); });
  int since = 0;
  NOTED(KernelInfo_GetOperatorSinceVersion, info, &since);
  scene->note("since", since);
  for (size_t i = 0; i < inputs; ++i) {
    if (i == 1) continue;  // omitted
    note_text("input", [&](char* out, size_t* size) { return api->KernelInfo_GetInputName(info, i, out, size); });
    OrtTypeInfo* type = nullptr;
    NOTED(KernelInfo_GetInputTypeInfo, info, i, &type);
    note_type("input type", type);
    int is_constant = -1;
    const OrtValue* constant = nullptr;
    NOTED(KernelInfoGetConstantInput_tensor, info, i, &is_constant, &constant);
    scene->note("constant", is_constant);
    if (constant) note_tensor(*scene, "constant", constant);
  }
  OrtTypeInfo* type = nullptr;
  NOTED(KernelInfo_GetOutputTypeInfo, info, 0, &type);
  note_type("output type", type);
  type = nullptr;
  NOTED(KernelInfo_GetOutputTypeInfo, info, outputs, &type);
  NOTED(KernelInfo_GetInputTypeInfo, info, inputs, &type);
  size_t size = 0;
  NOTED(KernelInfo_GetInputName, info, inputs, nullptr, &size);
}

struct Counts {
  size_t inputs = 0, outputs = 0;
};
Counts note_counts(OrtKernelContext* context) {
  Counts c;
  NOTED(KernelContext_GetInputCount, context, &c.inputs);
  NOTED(KernelContext_GetOutputCount, context, &c.outputs);
  scene->note("inputs", c.inputs);
  scene->note("outputs", c.outputs);
  return c;
}

OrtStatus* scale(OrtKernelContext* context) {
  note_counts(context);
  const OrtValue *none = nullptr, *k = nullptr;
  NOTED(KernelContext_GetInput, context, 1, &none);
  NOTED(KernelContext_GetInput, context, 2, &k);
  scene->note("omitted", static_cast<const void*>(none));
  const auto [x, shape, y] = LikeInput(context);
  void* to = nullptr;
  NOTED(GetTensorMutableData, y, &to);
  struct Work {
    const float *x, *k;
    float* y;
  } work{floats_of(x), floats_of(k), static_cast<float*>(to)};
  const auto one = [](void* data, size_t i) {
    const auto& w = *static_cast<Work*>(data);
    w.y[i] = w.x[i] * w.k[0];
  };
  NOTED(KernelContext_ParallelFor, context, one, count_of(shape), 2, &work);
  void* stream = nullptr;
  NOTED(KernelContext_GetGPUComputeStream, context, &stream);
  scene->note("stream", stream);
  OrtMemoryInfo* memory = nullptr;
  NOTED(CreateCpuMemoryInfo, OrtArenaAllocator, OrtMemTypeDefault, &memory);
  OrtAllocator* allocator = nullptr;
  NOTED(KernelContext_GetAllocator, context, memory, &allocator);
  if (allocator) {
    void* some = allocator->Alloc(allocator, 100);
    scene->note("some", some);
    allocator->Free(allocator, some);
    api->ReleaseAllocator(allocator);
  }
  void* scratch = nullptr;
  NOTED(KernelContext_GetScratchBuffer, context, memory, 64, &scratch);
  scene->note("scratch", scratch);
  api->ReleaseMemoryInfo(memory);
  const OrtLogger* logger = nullptr;
  NOTED(KernelContext_GetLogger, context, &logger);
  scene->note("logger", static_cast<const void*>(logger));
  void* resource = nullptr;
  NOTED(KernelContext_GetResource, context, 1, 2, &resource);
  scene->note("resource", static_cast<const void*>(resource));
  return nullptr;
}

OrtStatus* parts(OrtKernelContext* context) {
  const auto [inputs, outputs] = note_counts(context);
  for (size_t i = 0; i < outputs; ++i) {
    const OrtValue* x = nullptr;
    NOTED(KernelContext_GetInput, context, i % inputs, &x);
    const int64_t shape[] = {int64_t(i) + 1};
    OrtValue* y = nullptr;
    NOTED(KernelContext_GetOutput, context, i, shape, 1, &y);
    scene->note("output", static_cast<const void*>(y));
    if (!y) continue;
    void* to = nullptr;
    NOTED(GetTensorMutableData, y, &to);
    std::copy_n(floats_of(x), i + 1, static_cast<float*>(to));
  }
  return nullptr;
}

OrtStatus* upper(OrtKernelContext* context) {
  const auto [t, shape, u] = LikeInput(context);
  for (size_t i = 0; i < count_of(shape); ++i) {
    size_t length = 0;
    NOTED(GetStringTensorElementLength, t, i, &length);
    std::string text(length, ' ');
    NOTED(GetStringTensorElement, t, length, i, text.data());
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return char(std::toupper(c)); });
    NOTED(FillStringTensorElement, u, text.c_str(), i);
  }
  return nullptr;
}

struct Dense {
  OrtOp *matmul = nullptr, *add = nullptr;
} dense;

void create_dense(const OrtKernelInfo* info) {
  OrtKernelInfo* copy = nullptr;
  NOTED(CopyKernelInfo, info, &copy);
  const char* constraint = "T";
  const auto type = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  NOTED(CreateOp, copy, "MatMul", "", 13, &constraint, &type, 1, nullptr, 0, 2, 1, &dense.matmul);
  NOTED(CreateOp, copy, "Add", "", 14, &constraint, &type, 1, nullptr, 0, 2, 1, &dense.add);
  OrtOp* none = nullptr;
  NOTED(CreateOp, copy, "Nothing", "", 14, &constraint, &type, 1, nullptr, 0, 2, 1, &none);
  api->ReleaseKernelInfo(copy);
}

OrtStatus* run_dense(OrtKernelContext* context) {
  const OrtValue *x = nullptr, *w = nullptr, *b = nullptr;
  NOTED(KernelContext_GetInput, context, 0, &x);
  NOTED(KernelContext_GetInput, context, 1, &w);
  NOTED(KernelContext_GetInput, context, 2, &b);
  const int64_t shape[] = {shape_of(x)[0], 2};
  OrtValue *y = nullptr, *product = nullptr;
  NOTED(KernelContext_GetOutput, context, 0, shape, 2, &y);
  NOTED(CreateTensorAsOrtValue, scene->allocator(), shape, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &product);
  const OrtValue* factors[] = {x, w};
  NOTED(InvokeOp, context, dense.matmul, factors, 2, &product, 1);
  const OrtValue* terms[] = {product, b};
  NOTED(InvokeOp, context, dense.add, terms, 2, &y, 1);
  api->ReleaseValue(product);
  return nullptr;
}

constexpr auto kString = ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING;

Op scale_op() {
  Op op("Scale", {{kFloat}, {kFloat, INPUT_OUTPUT_OPTIONAL}, {kFloat}}, {{kFloat}});
  op.create = [](const OrtKernelInfo* info) {
    note_ports(info);
    note_attributes(info);
  };
  op.compute = scale;
  return op;
}

float data[6] = {1, 2, 3, -1, -2, -3};

}  // namespace

SCENE(custom, scale) {
  const Op op = scale_op();
  OrtSession* session = open_with(s, "custom_scale", {&op});
  run(s, session, {"x"}, {floats(s, data, {2, 3})}, {"y"});
  run(s, session, {"x"}, {floats(s, data, {1, 3})}, {"y"});
  s.api.ReleaseSession(session);
}

SCENE(custom, variadic_and_left_out) {
  Op op("Parts", {{kFloat, INPUT_OUTPUT_VARIADIC}}, {{kFloat, INPUT_OUTPUT_VARIADIC}});
  op.compute = parts;
  float other[6] = {7, 8, 9, 10, 11, 12};
  OrtSession* session = open_with(s, "custom_parts", {&op});
  run(s, session, {"x", "x2"}, {floats(s, data, {2, 3}), floats(s, other, {2, 3})}, {"a", "b"});
  s.api.ReleaseSession(session);
}

SCENE(custom, strings) {
  Op op("Upper", {{kString}}, {{kString}});
  op.compute = upper;
  OrtSession* session = open_with(s, "custom_text", {&op});
  const int64_t shape[] = {2};
  OrtValue *t = nullptr, *u = nullptr;
  CALL(CreateTensorAsOrtValue, s.allocator(), shape, 1, kString, &t);
  const char* texts[] = {"some", "text"};
  CALL(FillStringTensor, t, texts, 2);
  const char *input = "t", *output = "u";
  CALL(Run, session, nullptr, &input, &t, 1, &output, 1, &u);
  char text[5] = {};
  CALL(GetStringTensorElement, u, 4, 1, text);
  s.note("text", static_cast<const char*>(text));
}

SCENE(custom, invokes_operators) {
  Op op("Dense", {{kFloat}, {kFloat}, {kFloat}}, {{kFloat}});
  op.create = create_dense;
  op.compute = run_dense;
  OrtSession* session = open_with(s, "custom_invoke", {&op});
  run(s, session, {"x"}, {floats(s, data, {2, 3})}, {"y"});
  run(s, session, {"x"}, {floats(s, data, {1, 3})}, {"y"});
  s.api.ReleaseOp(dense.matmul);
  s.api.ReleaseOp(dense.add);
  s.api.ReleaseOp(nullptr);
}

SCENE(custom, failing_kernel) {
  Op op("Fails", {{kFloat}}, {{kFloat}});
  op.compute = [](OrtKernelContext*) { return api->CreateStatus(ORT_INVALID_ARGUMENT, "not today"); };
  OrtSession* session = open_with(s, "custom_fails", {&op});
  run(s, session, {"x"}, {floats(s, data, {2, 3})}, {"y"});
  run(s, session, {"x"}, {floats(s, data, {2, 3})}, {"y"});
}

SCENE(custom, wrong_types) {
  Op op("Fails", {{ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64}}, {{kFloat}});
  s.note("session", static_cast<const void*>(open_with(s, "custom_fails", {&op})));
}

SCENE(custom, unknown) { s.note("session", static_cast<const void*>(open_with(s, "custom_fails", {}))); }

SCENE(custom, other_versions) {
  Op op("Fails", {{kFloat}}, {{kFloat}});
  op.first = 3;
  op.last = 4;
  s.note("session", static_cast<const void*>(open_with(s, "custom_fails", {&op})));
}

SCENE(custom, of_another_provider) {
  Op op("Fails", {{kFloat}}, {{kFloat}});
  op.GetExecutionProviderType = [](const OrtCustomOp*) { return "CUDAExecutionProvider"; };
  s.note("session", static_cast<const void*>(open_with(s, "custom_fails", {&op})));
}

SCENE(custom, inferred_shapes) {
  Op op("Fails", {{kFloat}}, {{ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED}});
  op.InferOutputShapeFn = [](const OrtCustomOp*, OrtShapeInferContext* context) -> OrtStatusPtr {
    // Without notes: when and how often a library infers shapes is not compared.
    OrtTensorTypeAndShapeInfo* info = nullptr;
    const OrtOpAttr* attribute = nullptr;
    size_t inputs = 0;
    if (OrtStatus* status = api->ShapeInferContext_GetInputCount(context, &inputs)) return status;
    if (inputs != 1) return api->CreateStatus(ORT_FAIL, "the node has one input");
    OrtStatus* none = api->ShapeInferContext_GetAttribute(context, "no such attribute", &attribute);
    if (!none) return api->CreateStatus(ORT_FAIL, "the node has no attribute of that name");
    api->ReleaseStatus(none);
    if (OrtStatus* status = api->ShapeInferContext_GetInputTypeShape(context, 0, &info)) return status;
    return api->ShapeInferContext_SetOutputTypeShape(context, 0, info);
  };
  op.compute = [](OrtKernelContext* context) -> OrtStatus* {
    const auto [x, shape, y] = LikeInput(context);
    void* to = nullptr;
    NOTED(GetTensorMutableData, y, &to);
    std::copy_n(floats_of(x), count_of(shape), static_cast<float*>(to));
    return nullptr;
  };
  OrtSession* session = open_with(s, "custom_fails", {&op});
  run(s, session, {"x"}, {floats(s, data, {2, 3})}, {"y"});
}
