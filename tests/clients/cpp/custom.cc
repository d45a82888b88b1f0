// Custom operators by onnxruntime_lite_custom_op.h and with statuses, in models of one node.
#include "client.h"

#include <onnxruntime_lite_custom_op.h>

namespace {

using namespace Ort::Custom;

constexpr const char* kCpu = "CPUExecutionProvider";

/// y = factor * x + sum of more, + bias if there is one.
void scale(const Tensor<float>& x, float factor, const Span<int64_t>& more, std::optional<const Tensor<float>*> bias,
           Tensor<float>& y) {
  float* out = y.Allocate(x.Shape());
  int64_t sum = 0;
  for (size_t i = 0; i < more.size(); ++i) sum += more[i];
  for (int64_t i = 0; i < x.NumberOfElement(); ++i) {
    out[i] = factor * x.Data()[i] + static_cast<float>(sum) + (bias ? (*bias)->Data()[0] : 0.0f);
  }
}

/// Each text of x, followed by `end`.
Ort::Status append(const Tensor<std::string_view>* x, std::string end, Tensor<std::string>* y) {
  if (end == "fail") return Ort::Status("this text is not appended", ORT_INVALID_ARGUMENT);
  std::vector<std::string> texts;
  for (const std::string_view text : x->Data()) texts.push_back(std::string(text) + end);
  y->SetStringOutput(texts, x->Shape());
  return Ort::Status();
}

/// Output i is the negative of input i.
void negate_all(const Variadic& inputs, Variadic& outputs) {
  for (size_t i = 0; i < inputs.Size(); ++i) {
    const auto* x = static_cast<const float*>(inputs[i]->DataRaw());
    float* y = outputs.AllocateOutput<float>(i, inputs[i]->Shape());
    for (int64_t k = 0; k < inputs[i]->NumberOfElement(); ++k) y[k] = -x[k];
  }
}

/// x, as many times as the attribute `times` says; its shape is known before it runs.
struct Repeat {
  Repeat(const OrtApi*, const OrtKernelInfo* info) : times(Ort::ConstKernelInfo(info).GetAttribute<int64_t>("times")) {}
  void Compute(OrtKernelContext& context, const Tensor<float>& x, Tensor<float>& y) {
    expect(Ort::KernelContext(&context).GetInputCount() == 1, "the context of a run");
    const int64_t n = x.NumberOfElement();
    float* out = y.Allocate({times, n});
    for (int64_t i = 0; i < times * n; ++i) out[i] = x.Data()[i % n];
  }
  static Ort::Status InferOutputShape(Ort::ShapeInferContext& context) {
    Ort::ShapeInferContext::Shape shape{context.GetAttrInt("times")};
    for (const auto& extent : context.GetInputShape(0)) shape.push_back(extent);
    return context.SetOutputShape(0, shape);
  }
  int64_t times;
};

struct HalfKernel {
  OrtStatusPtr ComputeV2(OrtKernelContext* context) {
    const Ort::KernelContext c(context);
    const Ort::ConstValue x = c.GetInput(0);
    const auto shape = x.GetTensorTypeAndShapeInfo().GetShape();
    if (shape.empty()) return Ort::Status("a scalar", ORT_INVALID_ARGUMENT).release();
    float* y = c.GetOutput(0, shape).GetTensorMutableData<float>();
    for (int64_t i = 0; i < shape[0]; ++i) y[i] = x.GetTensorData<float>()[i] / 2;
    return nullptr;
  }
};

/// Its functions return statuses.
struct Half : Ort::CustomOpBase<Half, HalfKernel, true> {
  OrtStatusPtr CreateKernelV2(const OrtApi&, const OrtKernelInfo*, void** kernel) const {
    *kernel = new HalfKernel();
    return nullptr;
  }
  const char* GetName() const { return "Half"; }
  size_t GetInputTypeCount() const { return 1; }
  ONNXTensorElementDataType GetInputType(size_t) const { return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT; }
  size_t GetOutputTypeCount() const { return 1; }
  ONNXTensorElementDataType GetOutputType(size_t) const { return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT; }
};

/// A session with a model of one node of the domain.
Ort::Session session_of(const OrtCustomOp* op, const char* file) {
  static std::vector<Ort::CustomOpDomain> domains;  // a domain must outlive its sessions
  domains.emplace_back("client.lite");
  domains.back().Add(op);
  Ort::SessionOptions options;
  options.Add(domains.back());
  return Ort::Session(env(), model(file).c_str(), options);
}

template <size_t kInputs>
std::vector<Ort::Value> run(Ort::Session& session, const Ort::Value (&inputs)[kInputs]) {
  const std::vector<std::string> in = session.GetInputNames(), out = session.GetOutputNames();
  std::vector<const char*> in_names, out_names;
  for (const std::string& name : in) in_names.push_back(name.c_str());
  for (const std::string& name : out) out_names.push_back(name.c_str());
  return session.Run(Ort::RunOptions(), in_names.data(), inputs, kInputs, out_names.data(), out_names.size());
}

Ort::Value texts(const std::vector<const char*>& all, const std::vector<int64_t>& shape) {
  Ort::AllocatorWithDefaultOptions allocator;
  Ort::Value value =
      Ort::Value::CreateTensor(allocator, shape.data(), shape.size(), ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING);
  value.FillStringTensor(all.data(), all.size());
  return value;
}

}  // namespace

void lite_function() {
  static const std::unique_ptr<OrtLiteCustomOp> op(CreateLiteCustomOp("Scale", kCpu, scale));
  Floats x{1, 2, 3}, factor{10}, bias{0.5f};
  std::vector<int64_t> more{4, 5};
  const int64_t two = 2;
  const Ort::MemoryInfo host = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault);
  const auto numbers = [&] { return Ort::Value::CreateTensor<int64_t>(host, more.data(), 2, &two, 1); };
  Ort::Session without = session_of(op.get(), "lite_scale.onnx");
  expect(elements<float>(run(without, {tensor(x, {3}), tensor(factor, {1}), numbers()})[0]) == Floats({19, 29, 39}),
         "a function without its optional input");
  Ort::Session with = session_of(op.get(), "lite_scale_bias.onnx");
  const auto results = run(with, {tensor(x, {3}), tensor(factor, {1}), numbers(), tensor(bias, {1})});
  expect(elements<float>(results[0]) == Floats({19.5f, 29.5f, 39.5f}), "a function with its optional input");
}

void lite_texts() {
  static const std::unique_ptr<OrtLiteCustomOp> op(CreateLiteCustomOp("Append", kCpu, append));
  Ort::Session session = session_of(op.get(), "lite_append.onnx");
  const auto results = run(session, {texts({"one", ""}, {2}), texts({"!"}, {1})});
  expect(results[0].GetStringTensorElement(0) == "one!" && results[0].GetStringTensorElement(1) == "!", "texts");
  bool failed = false;
  try {
    run(session, {texts({"one", ""}, {2}), texts({"fail"}, {1})});
  } catch (const Ort::Exception& e) {
    failed = std::string(e.what()).find("this text is not appended") != std::string::npos;
  }
  expect(failed, "the status of a function is the error of the run");
}

void lite_variadic() {
  static const std::unique_ptr<OrtLiteCustomOp> op(CreateLiteCustomOp("NegateAll", kCpu, negate_all));
  Ort::Session session = session_of(op.get(), "lite_negate_all.onnx");
  Floats a{1}, b{2, 3};
  const auto results = run(session, {tensor(a, {1}), tensor(b, {2})});
  expect(elements<float>(results[0]) == Floats({-1}) && elements<float>(results[1]) == Floats({-2, -3}), "variadic");
}

void lite_class() {
  static const std::unique_ptr<OrtLiteCustomOp> op(CreateLiteCustomOp<Repeat>("Repeat", kCpu));
  Ort::Session session = session_of(op.get(), "lite_repeat.onnx");
  Floats x{7, 8};
  const auto results = run(session, {tensor(x, {2})});
  expect(elements<float>(results[0]) == Floats({7, 8, 7, 8}), "a class with an attribute");
  expect(results[0].GetTensorTypeAndShapeInfo().GetShape() == std::vector<int64_t>({2, 2}), "its shape");
}

void operator_with_statuses() {
  static const Half op;
  Ort::Session session = session_of(&op, "lite_half.onnx");
  Floats x{7, 8};
  expect(elements<float>(run(session, {tensor(x, {2})})[0]) == Floats({3.5f, 4}), "an operator with statuses");
}
