// Kernels of custom operators, and models that a program builds.
#include "client.h"

namespace {

constexpr ONNXTensorElementDataType kFloat = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;

struct Seen {
  std::string name, domain, type, first_output;
  size_t inputs = 0, outputs = 0;
  int since = 0, constant = -1;
  std::vector<int64_t> list = {};
  float weight = 0;
};
Seen g_seen;

/// y = weight * (a + b + …) + the table of an attribute, by an operator of the library; count = the number of inputs.
struct SumKernel {
  SumKernel(const OrtApi&, const OrtKernelInfo* handle) : info(Ort::ConstKernelInfo(handle).Copy()) {
    Ort::AllocatorWithDefaultOptions allocator;
    const Ort::ConstKernelInfo i(handle);
    table = i.GetTensorAttribute("table", allocator);
    g_seen = {i.GetNodeName(),   i.GetOperatorDomain(), i.GetOperatorType(),        i.GetOutputName(0),
              i.GetInputCount(), i.GetOutputCount(),    i.GetOperatorSinceVersion()};
    g_seen.list = i.GetAttributes<int64_t>("list");
    g_seen.weight = i.GetAttribute<float>("weight");
    i.GetTensorConstantInput(0, &g_seen.constant);
    expect(i.GetInputTypeInfo(0).GetONNXType() == ONNX_TYPE_TENSOR, "the type of an input");
    expect_error(ORT_FAIL, "an attribute that does not exist", [&] { i.GetAttribute<int64_t>("absent"); });
    const char* constraint = "T";
    add = Ort::Op::Create(info, "Add", "", 14, &constraint, &kFloat, 1, nullptr, 0, 2, 1);
  }

  void Compute(OrtKernelContext* context) {
    const Ort::KernelContext c(context);
    const auto shape = c.GetInput(0).GetTensorTypeAndShapeInfo().GetShape();
    const size_t count = c.GetInput(0).GetTensorTypeAndShapeInfo().GetElementCount();
    const Ort::MemoryInfo host = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault);
    Ort::Allocator scratch = c.GetAllocator(*static_cast<const OrtMemoryInfo*>(host));
    Ort::Value sum = Ort::Value::CreateTensor<float>(scratch, shape.data(), shape.size());
    struct Work {
      const Ort::KernelContext* context;
      float* to;
    } work{&c, sum.GetTensorMutableData<float>()};
    const auto one = [](void* data, size_t i) {
      auto* w = static_cast<Work*>(data);
      w->to[i] = 0;
      for (size_t k = 0; k < w->context->GetInputCount(); ++k)
        w->to[i] += g_seen.weight * w->context->GetInput(k).GetTensorData<float>()[i];
    };
    c.ParallelFor(one, count, 0, &work);
    Ort::UnownedValue y = c.GetOutput(0, shape);
    const OrtValue* in[] = {sum, table};
    OrtValue* out[] = {y};
    add.Invoke(c.GetOrtKernelContext(), in, 2, out, 1);
    if (c.GetOutputCount() > 1) *c.GetOutput(1, {}).GetTensorMutableData<int64_t>() = int64_t(c.GetInputCount());
    ORT_CXX_LOG(c.GetLogger(), ORT_LOGGING_LEVEL_VERBOSE, "summed");
    ORT_CXX_LOGF_NOEXCEPT(c.GetLogger(), ORT_LOGGING_LEVEL_VERBOSE, "summed %zu", count);
  }

  Ort::KernelInfo info;
  Ort::Value table{nullptr};
  Ort::Op add{nullptr};
};

struct SumOp : Ort::CustomOpBase<SumOp, SumKernel> {
  void* CreateKernel(const OrtApi& api, const OrtKernelInfo* info) const { return new SumKernel(api, info); }
  const char* GetName() const { return "WeightedSum"; }
  size_t GetInputTypeCount() const { return 1; }
  ONNXTensorElementDataType GetInputType(size_t) const { return kFloat; }
  OrtCustomOpInputOutputCharacteristic GetInputCharacteristic(size_t) const { return INPUT_OUTPUT_VARIADIC; }
  int GetVariadicInputMinArity() const { return 2; }
  size_t GetOutputTypeCount() const { return 2; }
  ONNXTensorElementDataType GetOutputType(size_t i) const {
    return i == 0 ? kFloat : ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64;
  }
  OrtCustomOpInputOutputCharacteristic GetOutputCharacteristic(size_t i) const {
    return i == 0 ? INPUT_OUTPUT_REQUIRED : INPUT_OUTPUT_OPTIONAL;
  }
};

Ort::ValueInfo port(const char* name, const std::vector<int64_t>& shape, ONNXTensorElementDataType type = kFloat) {
  const Ort::TensorTypeAndShapeInfo info(type, shape);
  return Ort::ValueInfo(name, Ort::TypeInfo::CreateTensorInfo(info.GetConst()).GetConst());
}

std::vector<Ort::ValueInfo> ports(const std::vector<const char*>& names, const std::vector<int64_t>& shape) {
  std::vector<Ort::ValueInfo> list;
  for (const char* name : names) list.push_back(port(name, shape));
  return list;
}

}  // namespace

void kernel_of_many_inputs() {
  SumOp op;
  Ort::CustomOpDomain domain("test");
  domain.Add(&op);
  Ort::SessionOptions options;
  options.Add(domain).SetIntraOpNumThreads(2);
  Ort::Session session(env(), model("custom_weighted_sum.onnx").c_str(), options);
  Floats a = {1, 2}, b = {10, 20}, c = {100, 200};
  const Ort::Value inputs[] = {tensor(a, {2}), tensor(b, {2}), tensor(c, {2})};
  const char *in[] = {"a", "b", "c"}, *out[] = {"y", "count"};
  const auto results = session.Run(Ort::RunOptions{}, in, inputs, 3, out, 2);
  expect(elements<float>(results[0]) == Floats({222.5f, 444.25f}), "the sum");
  expect(*results[1].GetTensorData<int64_t>() == 3, "the number of inputs");
  expect(g_seen.name == "the_sum" && g_seen.domain == "test" && g_seen.type == "WeightedSum", "names of the node");
  expect(g_seen.inputs == 3 && g_seen.outputs == 2 && g_seen.first_output == "y" && g_seen.since == 1, "its values");
  expect(g_seen.list == std::vector<int64_t>({7, 8}) && g_seen.constant == 0, "attributes and constants");
}

void model_in_parts() {
  Floats weights = {3, 4};
  Ort::Graph graph;
  auto inputs = ports({"x"}, {2}), outputs = ports({"y"}, {2});
  graph.SetInputs(inputs);
  graph.SetOutputs(outputs);
  Ort::Value w = tensor(weights, {2});
  graph.AddInitializer("w", w, false);
  expect(static_cast<OrtValue*>(w) == nullptr && static_cast<OrtValueInfo*>(inputs[0]) == nullptr, "taken over");
  Ort::Node node("Mul", "", "times", {"x", "w"}, {"y"});
  graph.AddNode(node);
  Ort::Model made({{"", 21}});
  made.AddGraph(graph);
  Ort::Session session(env(), made, Ort::SessionOptions{});
  Floats x = {2, 10};
  const Ort::Value input = tensor(x, {2});
  const char *in[] = {"x"}, *out[] = {"y"};
  expect(elements<float>(session.Run(Ort::RunOptions{}, in, &input, 1, out, 1)[0]) == Floats({6, 40}), "its result");
}

void model_on_top() {
  Ort::SessionOptions options;
  Ort::Session session = Ort::Session::CreateModelEditorSession(env(), model("dense.onnx").c_str(), options);
  Ort::Graph graph;
  Ort::Node node("Neg", "", "negated", {"y"}, {"minus"});
  auto outputs = ports({"minus"}, {-1, 2});
  graph.SetOutputs(outputs);
  graph.AddNode(node);
  Ort::Model more({{"", session.GetOpset("")}});
  more.AddGraph(graph);
  session.FinalizeModelEditorSession(more, options);
  Floats data = {1, 2, 3};
  const Ort::Value x = tensor(data, {1, 3});
  const char *in[] = {"x"}, *out[] = {"minus"};
  const auto y = elements<float>(session.Run(Ort::RunOptions{}, in, &x, 1, out, 1)[0]);
  expect(y.size() == 2 && y[0] <= 0 && session.GetOutputs()[0].GetName() == "minus", "a node on top of a model");
}

void model_that_is_written() {
  Ort::SessionOptions options;
  Ort::ModelCompilationOptions compilation(env(), options);
  std::string written;
  const auto write = [](void* state, const void* bytes, size_t count) -> OrtStatus* {
    static_cast<std::string*>(state)->append(static_cast<const char*>(bytes), count);
    return nullptr;
  };
  compilation.SetInputModelPath(model("dense.onnx").c_str()).SetOutputModelWriteFunc(write, &written);
  compilation.SetGraphOptimizationLevel(ORT_ENABLE_BASIC).SetEpContextEmbedMode(true);
  expect(Ort::CompileModel(env(), compilation).IsOK() && !written.empty(), "a model in pieces");
  const Ort::Session session(env(), written.data(), written.size(), options);
  expect(session.GetOutputCount() == 2, "which can be loaded");
}
