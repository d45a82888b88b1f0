// Measures what a call costs besides computing: bound runs of a model with almost nothing to compute, with several
// libraries in turn in one process. Uses the engines only through the C interface.
//
//   call_overhead MODEL LIBRARY [LIBRARY ...]
//
// MODEL has inputs of float tensors of fixed shape. There are three ways: outputs in the caller's memory, outputs that
// the binding keeps, and that of a decoder, which binds an input and an output before each run. A figure is the median
// of blocks of runs, in which the libraries alternate. Ends with one line of JSON: nanoseconds per call, by way and
// library.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "retort/onnxruntime_c_api.h"

namespace {

constexpr int kBlocks = 41, kCalls = 2000;
const char* const kWays[] = {"given", "kept", "bound_again"};

/// One library with a session and a binding for each way.
class Side {
 public:
  Side(const char* library, const char* model) : name(library) {
    void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    void* get = handle ? dlsym(handle, "OrtGetApiBase") : nullptr;
    if (!get) throw std::runtime_error(dlerror());
    const OrtApiBase* base = reinterpret_cast<const OrtApiBase*(ORT_API_CALL*)()>(get)();
    api_ = base->GetApi(ORT_API_VERSION);
    if (!api_) throw std::runtime_error(name + " is too old");
    OrtEnv* env = nullptr;
    OrtSessionOptions* options = nullptr;
    check(api_->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "overhead", &env));
    check(api_->CreateSessionOptions(&options));
    check(api_->SetIntraOpNumThreads(options, 1));
    check(api_->CreateSession(env, model, options, &session_));
    check(api_->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &cpu_));
    check(api_->GetAllocatorWithDefaultOptions(&allocator_));
    size_t inputs = 0;
    check(api_->SessionGetInputCount(session_, &inputs));
    for (size_t i = 0; i < inputs; ++i) inputs_.push_back(port(i, true));
    output_ = port(0, false);
    for (OrtIoBinding*& b : bindings_) {
      check(api_->CreateIoBinding(session_, &b));
      for (const Port& in : inputs_) check(api_->BindInput(b, in.name, in.value));
      check(&b == bindings_ + 1 ? api_->BindOutputToDevice(b, output_.name, cpu_)
                                : api_->BindOutput(b, output_.name, output_.value));
    }
  }

  /// Nanoseconds per call.
  double block(int way) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) {
      if (way == 2) {
        check(api_->BindInput(bindings_[way], inputs_[0].name, inputs_[0].value));
        check(api_->BindOutput(bindings_[way], output_.name, output_.value));
      }
      check(api_->RunWithBinding(session_, nullptr, bindings_[way]));
    }
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() / kCalls;
  }

  std::string name;

 private:
  struct Port {
    char* name = nullptr;
    OrtValue* value = nullptr;
  };

  void check(OrtStatus* status) {
    if (status) throw std::runtime_error(name + ": " + api_->GetErrorMessage(status));
  }

  Port port(size_t index, bool input) {
    Port p;
    OrtTypeInfo* type = nullptr;
    const OrtTensorTypeAndShapeInfo* tensor = nullptr;
    size_t rank = 0;
    check(input ? api_->SessionGetInputName(session_, index, allocator_, &p.name)
                : api_->SessionGetOutputName(session_, index, allocator_, &p.name));
    check(input ? api_->SessionGetInputTypeInfo(session_, index, &type)
                : api_->SessionGetOutputTypeInfo(session_, index, &type));
    check(api_->CastTypeInfoToTensorInfo(type, &tensor));
    check(api_->GetDimensionsCount(tensor, &rank));
    std::vector<int64_t> shape(rank);
    check(api_->GetDimensions(tensor, shape.data(), rank));
    check(api_->CreateTensorAsOrtValue(allocator_, shape.data(), rank, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &p.value));
    return p;
  }

  const OrtApi* api_ = nullptr;
  OrtSession* session_ = nullptr;
  OrtMemoryInfo* cpu_ = nullptr;
  OrtAllocator* allocator_ = nullptr;
  std::vector<Port> inputs_;
  Port output_;
  OrtIoBinding* bindings_[3] = {};
};

double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + long(v.size() / 2), v.end());
  return v[v.size() / 2];
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 3) {
    std::fprintf(stderr, "usage: call_overhead MODEL LIBRARY [LIBRARY ...]\n");
    return 2;
  }
  std::vector<std::unique_ptr<Side>> sides;
  for (int i = 2; i < argc; ++i) sides.push_back(std::make_unique<Side>(argv[i], argv[1]));
  std::string json = "{";
  for (int way = 0; way < 3; ++way) {
    std::vector<std::vector<double>> times(sides.size());
    for (int block = 0; block <= kBlocks; ++block) {
      for (size_t k = 0; k < sides.size(); ++k) {
        const double t = sides[k]->block(way);
        if (block) times[k].push_back(t);  // the first one is a warm-up
      }
    }
    json += std::string(way ? ", " : "") + "\"" + kWays[way] + "\": [";
    for (size_t k = 0; k < sides.size(); ++k) json += (k ? ", " : "") + std::to_string(median(times[k]));
    json += "]";
  }
  std::printf("%s}\n", json.c_str());
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "FAIL %s\n", e.what());
  return 1;
}
