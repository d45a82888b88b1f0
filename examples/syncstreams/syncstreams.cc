// Explicit synchronisation: copies to and from a device and the runs between them are ordered on one stream, and the
// program waits once, at the end of the stream. (To wait earlier, give GetHandle() to the device's own interface, such as
// cudaStreamSynchronize.) The device is that of a provider library:
//
//   syncstreams ../providers/loopback/build/libloopback.so
//
// Written for ONNX Runtime's C++ header: it also builds and runs with the official library.
#include <onnxruntime_cxx_api.h>
#include <onnxruntime_run_options_config_keys.h>

#include <array>
#include <cstdio>
#include <string_view>
#include <vector>

namespace {

constexpr size_t kBatches = 4;
using Batch = std::array<float, 3>;
const std::vector<int64_t> kShape{3};

/// y = x * x - x
Ort::Model square_less() {
  const Ort::TensorTypeAndShapeInfo shape(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, kShape);
  const Ort::TypeInfo type = Ort::TypeInfo::CreateTensorInfo(shape.GetConst());
  std::vector<Ort::ValueInfo> inputs, outputs;
  inputs.emplace_back("x", type.GetConst());
  outputs.emplace_back("y", type.GetConst());
  Ort::Graph graph;
  graph.SetInputs(inputs);
  graph.SetOutputs(outputs);
  Ort::Node square("Mul", "", "square", {"x", "x"}, {"xx"}), less("Sub", "", "less", {"xx", "x"}, {"y"});
  graph.AddNode(square);
  graph.AddNode(less);
  Ort::Model model({{"", 17}});
  model.AddGraph(graph);
  return model;
}

/// The first device that is not the processor.
Ort::ConstEpDevice device_of(const Ort::Env& env) {
  for (const Ort::ConstEpDevice& device : env.GetEpDevices()) {
    if (std::string_view(device.EpName()) != "CPUExecutionProvider") return device;
  }
  throw Ort::Exception("the library has no device", ORT_FAIL);
}

Ort::Value on_host(Batch& batch) {
  static const Ort::MemoryInfo host = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault);
  return Ort::Value::CreateTensor<float>(host, batch.data(), batch.size(), kShape.data(), kShape.size());
}

/// A list of one tensor.
std::vector<Ort::Value> list(Ort::Value value) {
  std::vector<Ort::Value> values;
  values.push_back(std::move(value));
  return values;
}

void run(const char* library) {
  Ort::Env env;
  env.RegisterExecutionProviderLibrary("provider", library);
  const Ort::ConstEpDevice device = device_of(env);
  Ort::SessionOptions options;
  options.AppendExecutionProvider_V2(env, {device}, Ort::KeyValuePairs());
  Ort::Session session(env, square_less(), options);

  OrtAllocator* const memory = env.GetSharedAllocator(device.GetMemoryInfo(OrtDeviceMemoryType_DEFAULT));
  const std::vector<Ort::Value> x = list(Ort::Value::CreateTensor<float>(memory, kShape.data(), kShape.size()));
  const std::vector<Ort::Value> y = list(Ort::Value::CreateTensor<float>(memory, kShape.data(), kShape.size()));
  Ort::IoBinding binding(session);
  binding.BindInput("x", x[0]);
  binding.BindOutput("y", y[0]);

  // [streams]
  Ort::SyncStream stream = device.CreateSyncStream();
  Ort::RunOptions on_stream;
  on_stream.SetSyncStream(stream);
  on_stream.AddConfigEntry(kOrtRunOptionsConfigDisableSynchronizeExecutionProviders, "1");  // a run does not wait
  std::array<Batch, kBatches> results{};
  for (size_t i = 0; i < kBatches; ++i) {
    Batch batch{float(i), float(i + 1), float(i + 2)};
    Ort::ThrowOnError(env.CopyTensors(list(on_host(batch)), x, stream));       // the upload,
    session.Run(on_stream, binding);                                           // the run after it,
    Ort::ThrowOnError(env.CopyTensors(y, list(on_host(results[i])), stream));  // and the download after that
  }
  stream = Ort::SyncStream(nullptr);  // the only wait: a stream ends after all its work
  // [end]
  for (const Batch& y_of : results) std::printf("%g %g %g\n", y_of[0], y_of[1], y_of[2]);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: syncstreams PROVIDER_LIBRARY\n"), 2;
  try {
    run(argv[1]);
  } catch (const Ort::Exception& e) {
    return std::fprintf(stderr, "%s\n", e.what()), 1;
  }
}
