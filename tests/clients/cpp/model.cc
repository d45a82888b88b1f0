// Models, values, options, and models made in memory with operators of the program.

#include "client.h"

namespace {

/// y = x . w + b, for the node of custom_invoke.onnx.
struct DenseKernel {
  void Compute(OrtKernelContext* context) {
    Ort::KernelContext c(context);
    const Ort::ConstValue x = c.GetInput(0), w = c.GetInput(1), b = c.GetInput(2);
    const int64_t rows = x.GetTensorTypeAndShapeInfo().GetShape()[0];
    const auto sizes = w.GetTensorTypeAndShapeInfo().GetShape();
    const auto [inner, columns] = std::pair(sizes[0], sizes[1]);
    float* y = c.GetOutput(0, std::vector<int64_t>{rows, columns}).GetTensorMutableData<float>();
    for (int64_t i = 0; i < rows * columns; ++i) {
      y[i] = b.GetTensorData<float>()[i % columns];
      for (int64_t k = 0; k < inner; ++k) {
        y[i] += x.GetTensorData<float>()[i / columns * inner + k] * w.GetTensorData<float>()[k * columns + i % columns];
      }
    }
  }
};

struct Dense : Ort::CustomOpBase<Dense, DenseKernel> {
  void* CreateKernel(const OrtApi&, const OrtKernelInfo*) const { return new DenseKernel(); }
  const char* GetName() const { return "Dense"; }
  size_t GetInputTypeCount() const { return 3; }
  ONNXTensorElementDataType GetInputType(size_t) const { return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT; }
  size_t GetOutputTypeCount() const { return 1; }
  ONNXTensorElementDataType GetOutputType(size_t) const { return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT; }
};

/// y = operator(x) for two elements.
Ort::Model made(const char* type, ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) {
  const Ort::TensorTypeAndShapeInfo shape(element, {2});
  const Ort::TypeInfo two = Ort::TypeInfo::CreateTensorInfo(shape.GetConst());
  Ort::Graph graph;
  std::vector<Ort::ValueInfo> inputs, outputs;
  inputs.emplace_back("x", two.GetConst());
  outputs.emplace_back("y", two.GetConst());
  graph.SetInputs(inputs);
  graph.SetOutputs(outputs);
  Ort::Node node(type, "", "node", {"x"}, {"y"});
  graph.AddNode(node);
  Ort::Model model({{"", 18}});
  model.AddGraph(graph);
  return model;
}

Floats run(Ort::Session& session, const char* in, Floats x, const std::vector<int64_t>& shape,
           const Ort::RunOptions& options = Ort::RunOptions(), const char* out = "y") {
  const Ort::Value input = tensor(x, shape);
  return elements<float>(session.Run(options, &in, &input, 1, &out, 1)[0]);
}

}  // namespace

void metadata() {
  Ort::Session session(env(), model("dense.onnx").c_str(), Ort::SessionOptions());
  Ort::AllocatorWithDefaultOptions allocator;
  const Ort::ModelMetadata m = session.GetModelMetadata();
  expect(std::string(m.GetProducerNameAllocated(allocator).get()) == "clients" && m.GetVersion() == 3,
         "producer and version");
  expect(std::string(m.GetGraphNameAllocated(allocator).get()) == "dense", "graph");
  const auto keys = m.GetCustomMetadataMapKeysAllocated(allocator);
  expect(keys.size() == 1 && std::string(keys[0].get()) == "made_by", "keys");
  expect(std::string(m.LookupCustomMetadataMapAllocated("made_by", allocator).get()) == "make.py", "entry");
}

void ports() {
  Ort::Session session(env(), model("dense.onnx").c_str(), Ort::SessionOptions());
  Ort::AllocatorWithDefaultOptions allocator;
  expect(session.GetInputCount() == 1 && session.GetOutputCount() == 2, "counts");
  expect(session.GetInputNames() == std::vector<std::string>{"x"}, "names");
  expect(std::string(session.GetOutputNameAllocated(1, allocator).get()) == "s", "one name");
  const Ort::TypeInfo type = session.GetInputTypeInfo(0);
  const auto info = type.GetTensorTypeAndShapeInfo();
  expect(
      info.GetElementType() == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT && info.GetShape() == std::vector<int64_t>({-1, 3}),
      "type");
  expect(std::string(info.GetSymbolicDimensions()[0]) == "n", "symbol");
}

void values() {
  Floats x{1, 2, 3, 4};
  Ort::Value value = tensor(x, {2, 2});
  expect(value.At<float>({1, 0}) == 3 && value.IsTensor() && value.GetTensorSizeInBytes() == 16, "a tensor");
  std::vector<Ort::Value> both;
  both.push_back(tensor(x, {4}));
  both.push_back(tensor(x, {1, 4}));
  const Ort::Value sequence = Ort::Value::CreateSequence(both);
  Ort::AllocatorWithDefaultOptions allocator;
  expect(sequence.GetCount() == 2 && elements<float>(sequence.GetValue(1, allocator)) == x, "a sequence");
  const int64_t four = 4, two = 2, dense[] = {8}, places[] = {1, 3};
  Floats kept{5, 6};
  Ort::Value sparse = Ort::Value::CreateSparseTensor(tensor(x, {4}).GetTensorMemoryInfo(), kept.data(), {dense, 1},
                                                     {&two, 1}, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
  sparse.UseCooIndices(const_cast<int64_t*>(places), 2);
  expect(sparse.IsSparseTensor() && sparse.GetSparseFormat() == ORT_SPARSE_COO &&
             sparse.GetSparseTensorValues<float>()[1] == 6,
         "a sparse tensor");
  expect_error(ORT_INVALID_ARGUMENT, "too little memory", [&] { tensor(x, {four, four}); });
}

void strings() {
  const Ort::Model identity = made("Identity", ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING);
  Ort::Session session(env(), identity, Ort::SessionOptions());
  Ort::AllocatorWithDefaultOptions allocator;
  const int64_t two = 2;
  Ort::Value text = Ort::Value::CreateTensor(allocator, &two, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING);
  const char* texts[] = {"one", "more"};
  text.FillStringTensor(texts, 2);
  const char *in = "x", *out = "y";
  const auto result = session.Run(Ort::RunOptions(), &in, &text, 1, &out, 1);
  expect(result[0].GetStringTensorElement(0) == "one" && result[0].GetStringTensorElement(1) == "more", "strings");
  expect(result[0].GetStringTensorDataLength() == 7, "their length");
}

void options() {
  Ort::SessionOptions o;
  o.SetIntraOpNumThreads(1).SetGraphOptimizationLevel(ORT_DISABLE_ALL).DisableMemPattern().SetLogId("options");
  o.AddConfigEntry("session.disable_prepacking", "1");
  expect(o.HasConfigEntry("session.disable_prepacking") && o.GetConfigEntry("session.disable_prepacking") == "1",
         "an entry");
  expect(o.GetConfigEntryOrDefault("session.nothing", "else") == "else", "a default");
  const Ort::SessionOptions copy = o.Clone();
  Ort::Session session(env(), model("dense.onnx").c_str(), copy);
  expect(run(session, "x", {1, 2, 3}, {1, 3}) == Floats({5.5f, 8}), "a run with a copy of options");
}

void initializers() {
  Ort::SessionOptions o;
  Floats w{1, 0, 0, 1, 0, 0};
  const Ort::Value weights = tensor(w, {3, 2});
  o.AddInitializer("w", weights);
  Ort::Session session(env(), model("dense.onnx").c_str(), o);
  expect(run(session, "x", {1, 2, 3}, {1, 3}) == Floats({1.5f, 1}), "an initializer of the program");
}

void adapters() {
  Ort::Session session(env(), model("step.onnx").c_str(), Ort::SessionOptions());
  const Ort::LoraAdapter adapter = Ort::LoraAdapter::CreateLoraAdapter(model("state.onnx_adapter"), nullptr);
  Ort::RunOptions options;
  options.AddActiveLoraAdapter(adapter);
  expect(run(session, "x", {1, 1, 1, 1}, {4}, options, "state_out") == Floats({11, 21, 31, 41}), "an adapter");
}

void terminated() {
  Ort::Session session(env(), model("dense.onnx").c_str(), Ort::SessionOptions());
  Ort::RunOptions options;
  options.SetRunTag("stopped").SetTerminate();
  expect_error(ORT_FAIL, "a terminated run", [&] { run(session, "x", {1, 2, 3}, {1, 3}, options); });
  options.UnsetTerminate();
  expect(run(session, "x", {1, 2, 3}, {1, 3}, options).size() == 2, "a run that may continue");
}

void model_editor() {
  const Ort::Model model = made("Neg");
  Ort::Session session(env(), model, Ort::SessionOptions());
  expect(run(session, "x", {1, -2}, {2}) == Floats({-1, 2}), "a model made in memory");
}

void custom_operator() {
  static const Dense dense;
  Ort::CustomOpDomain domain("test");
  domain.Add(&dense);
  Ort::SessionOptions options;
  options.Add(domain);
  Ort::Session session(env(), model("custom_invoke.onnx").c_str(), options);
  expect(run(session, "x", {1, 2, 3}, {1, 3}) == Floats({5.5f, 8}), "an operator of the program");
}

void prepacked_weights() {
  Ort::PrepackedWeightsContainer container;
  Ort::Session one(env(), model("dense.onnx").c_str(), Ort::SessionOptions(), container);
  Ort::Session two(env(), model("dense.onnx").c_str(), Ort::SessionOptions(), container);
  expect(run(one, "x", {1, 2, 3}, {1, 3}) == run(two, "x", {1, 2, 3}, {1, 3}), "sessions with one container");
}
