// Bindings, asynchronous runs, allocators and devices.
#include <atomic>
#include <cstdlib>
#include <future>
#include <numeric>

#include "client.h"

namespace {

/// An allocator as a program writes it to see each allocation.
struct Counting : OrtAllocator {
  Counting() : OrtAllocator{} {
    version = ORT_API_VERSION;
    OrtAllocator::Alloc = [](OrtAllocator* self, size_t bytes) -> void* {
      ++static_cast<Counting*>(self)->allocated;
      return std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    };
    OrtAllocator::Free = [](OrtAllocator* self, void* p) {
      ++static_cast<Counting*>(self)->freed;
      std::free(p);
    };
    OrtAllocator::Info = [](const OrtAllocator* self) -> const OrtMemoryInfo* {
      return static_cast<const Counting*>(self)->info;
    };
  }
  Ort::MemoryInfo info = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault);
  std::atomic<int> allocated{0}, freed{0};
};

Ort::Session step() { return Ort::Session(env(), model("step.onnx").c_str(), Ort::SessionOptions()); }

}  // namespace

void bound_run() {
  Ort::Session session = step();
  Floats x{1, 2, 3, 4}, state{10, 20, 30, 40}, out(4);
  Ort::IoBinding binding(session);
  binding.BindInput("x", tensor(x, {4}));
  binding.BindInput("state", tensor(state, {4}));
  binding.BindOutput("state_out", tensor(out, {4}));
  for (int i = 0; i < 3; ++i) {
    x[0] = float(i);
    session.Run(Ort::RunOptions(), binding);
    expect(out == Floats({10.0f + float(i), 22, 33, 44}), "a bound run reads and writes the program's memory");
  }
  binding.SynchronizeInputs();
  binding.SynchronizeOutputs();
}

void unknown_shape() {
  Ort::Session session(env(), model("nonzero.onnx").c_str(), Ort::SessionOptions());
  Floats x{0, 5, 0, 6, 7};
  const Ort::MemoryInfo host("Cpu", OrtDeviceAllocator, 0, OrtMemTypeDefault);
  Ort::IoBinding binding(session);
  binding.BindInput("x", tensor(x, {5}));
  binding.BindOutput("idx", host);
  session.Run(Ort::RunOptions(), binding);
  const std::vector<Ort::Value> results = binding.GetOutputValues();
  expect(results.size() == 1 && elements<int64_t>(results[0]) == std::vector<int64_t>({1, 3, 4}), "places");
  expect(results[0].GetTensorTypeAndShapeInfo().GetShape() == std::vector<int64_t>({1, 3}), "their shape");
}

void binding_results() {
  Ort::Session session(env(), model("dense.onnx").c_str(), Ort::SessionOptions());
  Floats x{1, 2, 3};
  const Ort::MemoryInfo host = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
  Ort::IoBinding binding(session);
  binding.BindInput("x", tensor(x, {1, 3}));
  binding.BindOutput("s", host);
  binding.BindOutput("y", host);
  expect(binding.GetOutputNames() == std::vector<std::string>({"s", "y"}), "names in the order of binding");
  session.Run(Ort::RunOptions(), binding);
  Ort::AllocatorWithDefaultOptions allocator;
  std::vector<Ort::Value> results = binding.GetOutputValues(allocator);
  binding.ClearBoundOutputs();
  binding.ClearBoundInputs();
  expect(binding.GetOutputNames().empty(), "nothing after clearing");
  expect(elements<float>(results[0]) == Floats({13.5f}) && elements<float>(results[1]) == Floats({5.5f, 8}),
         "results outlive it");
}

void binding_errors() {
  Ort::Session session = step();
  Floats x(4), five(5);
  Ort::IoBinding binding(session);
  expect_error(ORT_FAIL, "an unknown input", [&] { binding.BindInput("nothing", tensor(x, {4})); });
  Ort::IoBinding other(session);
  expect_error(ORT_INVALID_ARGUMENT, "no outputs", [&] { session.Run(Ort::RunOptions(), other); });
  other.BindInput("x", tensor(five, {5}));
  other.BindInput("state", tensor(x, {4}));
  other.BindOutput("state_out", tensor(x, {4}));
  expect_error(ORT_INVALID_ARGUMENT, "a wrong shape", [&] { session.Run(Ort::RunOptions(), other); });
}

void run_async() {
  Ort::SessionOptions options;
  options.SetIntraOpNumThreads(2);
  Ort::Session session(env(), model("step.onnx").c_str(), options);
  Floats x{1, 1, 1, 1}, state{1, 2, 3, 4};
  const char *in[] = {"x", "state"}, *out[] = {"state_out"};
  const Ort::Value inputs[] = {tensor(x, {4}), tensor(state, {4})};
  Ort::Value outputs[] = {Ort::Value(nullptr)};
  std::promise<std::string> done;
  const auto callback = [](void* user, OrtValue** values, size_t n, OrtStatusPtr status) {
    const Ort::Status owner(status);
    static_cast<std::promise<std::string>*>(user)->set_value(!owner.IsOK()         ? owner.GetErrorMessage()
                                                             : n == 1 && values[0] ? ""
                                                                                   : "no value");
  };
  const Ort::RunOptions lasting;  // until the run has ended
  session.RunAsync(lasting, in, inputs, 2, out, outputs, 1, callback, &done);
  const std::string error = done.get_future().get();
  expect(error.empty(), error);
  expect(elements<float>(outputs[0]) == Floats({2, 3, 4, 5}), "the output of an asynchronous run");
}

void custom_allocator() {
  Counting counting;
  {
    const std::vector<int64_t> shape{2, 2};
    Ort::Value value = Ort::Value::CreateTensor<float>(&counting, shape.data(), shape.size());
    std::iota(value.GetTensorMutableData<float>(), value.GetTensorMutableData<float>() + 4, 1.0f);
    expect(counting.allocated == 1 && elements<float>(value) == Floats({1, 2, 3, 4}), "a tensor in its memory");
  }
  expect(counting.freed == 1, "and freed");
  env().RegisterAllocator(&counting);
  {
    Ort::SessionOptions options;
    options.AddConfigEntry("session.use_env_allocators", "1");
    Ort::Session session(env(), model("dense.onnx").c_str(), options);
    Floats x{1, 2, 3};
    const char *in = "x", *out = "y";
    const Ort::Value input = tensor(x, {1, 3});
    const auto results = session.Run(Ort::RunOptions(), &in, &input, 1, &out, 1);
    expect(elements<float>(results[0]) == Floats({5.5f, 8}), "a run with an allocator of the environment");
  }
  env().UnregisterAllocator(counting.info);
  expect(counting.allocated == counting.freed,
         "everything was freed: " + std::to_string(counting.allocated) + ", " + std::to_string(counting.freed));
}

void memory() {
  const Ort::MemoryInfo gpu("mine", OrtMemoryInfoDeviceType_GPU, 0x10de, 1, OrtDeviceMemoryType_HOST_ACCESSIBLE, 64,
                            OrtDeviceAllocator);
  expect(gpu.GetAllocatorName() == "mine" && gpu.GetDeviceType() == OrtMemoryInfoDeviceType_GPU, "name and type");
  expect(gpu.GetVendorId() == 0x10de && gpu.GetDeviceId() == 1 &&
             gpu.GetDeviceMemoryType() == OrtDeviceMemoryType_HOST_ACCESSIBLE,
         "vendor, number, kind");
  Ort::Session session = step();
  Ort::Allocator allocator(session, Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault));
  Ort::MemoryAllocation block = allocator.GetAllocation(100);
  expect(block.get() && block.size() == 100, "memory of a session");
  expect(allocator.GetInfo().GetDeviceType() == OrtMemoryInfoDeviceType_CPU, "where it is");
}

void devices() {
  const std::vector<Ort::ConstEpDevice> all = env().GetEpDevices();
  expect(!all.empty(), "there is the processor");
  const Ort::ConstEpDevice cpu = all.back();
  expect(std::string(cpu.EpName()) == "CPUExecutionProvider" && cpu.Device().Type() == OrtHardwareDeviceType_CPU,
         "its names");
  Ort::SessionOptions preferred, chosen;
  preferred.SetEpSelectionPolicy(OrtExecutionProviderDevicePolicy_PREFER_GPU);
  Ort::Session session(env(), model("step.onnx").c_str(), preferred);
  expect(session.GetEpDeviceForInputs().size() == 2 && session.GetMemoryInfoForInputs().size() == 2,
         "what reads the inputs");
  chosen.AppendExecutionProvider_V2(env(), {cpu}, Ort::KeyValuePairs());
  Ort::Session(env(), model("step.onnx").c_str(), chosen);
  const auto host = session.GetMemoryInfoForInputs()[0];
  expect(env().GetSharedAllocator(host) != nullptr, "the environment's allocator for it");
  expect_error(ORT_INVALID_ARGUMENT, "the processor has no stream", [&] { cpu.CreateSyncStream(); });
  Floats a(1), b(1);
  std::vector<Ort::Value> from, to;
  from.push_back(tensor(a, {1}));
  to.push_back(tensor(b, {1}));
  expect(env().CopyTensors(from, to, nullptr).GetErrorCode() == ORT_NOT_IMPLEMENTED, "nothing copies within the host");
}
