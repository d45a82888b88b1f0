// Runs any model without knowing it: queries its inputs, binds zeros to them, and lets the library allocate the
// outputs, whose shapes are known only after the run.
//
//   any_model MODEL
#include <cstdio>
#include <cstring>
#include <exception>
#include <retort/retort.hpp>

namespace api = retort::api;

namespace {

std::string text(std::span<const int64_t> shape) {
  std::string all;
  for (const int64_t extent : shape) all += (all.empty() ? "" : " x ") + std::to_string(extent);
  return all.empty() ? "scalar" : all;
}

/// Zeros of the declared type; free dimensions get the extent 1.
api::Value zeros(const api::Port& port) {
  if (port.kind != ONNX_TYPE_TENSOR) throw std::runtime_error("input " + port.name + " is not a tensor");
  std::vector<int64_t> shape = port.tensor.shape;
  for (int64_t& extent : shape) extent = extent < 0 ? 1 : extent;
  api::Value value = api::Value::tensor(port.tensor.type, shape);
  if (port.tensor.type != ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) std::memset(value.raw(), 0, value.bytes());
  return value;
}

void run(const char* model) {
  api::Env env;
  api::Session session(env, model);
  api::IoBinding binding(session);
  for (const api::Port& port : session.inputs()) {
    const api::Value value = zeros(port);  // the binding keeps the memory alive
    binding.input(port.name.c_str(), value);
    std::printf("input  %-16s %s\n", port.name.c_str(), text(value.shape()).c_str());
  }
  const std::vector<api::Port> outputs = session.outputs();
  for (const api::Port& port : outputs) binding.output(port.name.c_str(), api::MemoryInfo::cpu());
  binding.run();
  const std::vector<api::Value> results = binding.outputs();
  for (size_t i = 0; i < results.size(); ++i)
    std::printf("output %-16s %s\n", outputs[i].name.c_str(),
                results[i].is_tensor() ? text(results[i].shape()).c_str() : "no tensor");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: any_model MODEL\n", stderr);
    return 2;
  }
  try {
    run(argv[1]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "any_model: %s\n", e.what());
    return 1;
  }
}
