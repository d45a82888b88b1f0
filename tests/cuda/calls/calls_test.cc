#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "calls.h"

namespace cuda_calls {
namespace {

constexpr const char* kName = "CUDAExecutionProvider";

void contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << text << "' lacks '" << part << "'";
}

/// With the plug-in beside the library, and a device.
class Present : public Calls {
 protected:
  /// A session that was given the provider with these options.
  Owned<OrtSession> with(const std::vector<std::pair<const char*, std::string>>& pairs = {}) {
    const Owned<OrtSessionOptions> o = options();
    // [older]
    OrtCUDAProviderOptionsV2* cuda = nullptr;
    ok(api().CreateCUDAProviderOptions(&cuda));
    for (const auto& [key, value] : pairs) {
      const char* text = value.c_str();
      ok(api().UpdateCUDAProviderOptions(cuda, &key, &text, 1));
    }
    ok(api().SessionOptionsAppendExecutionProvider_CUDA_V2(o.get(), cuda));
    api().ReleaseCUDAProviderOptions(cuda);
    return session(o.get());
    // [end]
  }
  Owned<OrtAllocator> allocator(const OrtSession* session, const OrtMemoryInfo* where) {
    OrtAllocator* made = nullptr;
    ok(api().CreateAllocator(session, where, &made));
    return {made, api().ReleaseAllocator};
  }
  Owned<OrtIoBinding> binding(OrtSession* session) {
    OrtIoBinding* made = nullptr;
    ok(api().CreateIoBinding(session, &made));
    return {made, api().ReleaseIoBinding};
  }
  /// The only output of a binding, copied to memory of the program.
  std::vector<float> result(const OrtIoBinding* binding) {
    OrtAllocator* host = nullptr;
    OrtValue** values = nullptr;
    size_t count = 0;
    ok(api().GetAllocatorWithDefaultOptions(&host));
    ok(api().GetBoundOutputValues(binding, host, &values, &count));
    EXPECT_EQ(count, 1u);
    const Owned<OrtValue> value(values[0], api().ReleaseValue);
    ok(api().AllocatorFree(host, values));
    std::vector<float> found(kClasses);
    copy(value.get(), tensor(found.data(), out_).get());
    return found;
  }
};

TEST_F(Present, IsTheFirstOfTheProviders) {
  EXPECT_EQ(providers(), (std::vector<std::string>{kName, "CPUExecutionProvider"}));
}

TEST_F(Present, EveryCallAddsIt) {
  const OrtCUDAProviderOptions first = {};
  for (int way = 0; way < 5; ++way) {
    SCOPED_TRACE("way " + std::to_string(way));
    const Owned<OrtSessionOptions> o = options();
    switch (way) {
      case 0:
        ok(library.append(o.get(), 0));
        break;
      case 1:
        ok(api().SessionOptionsAppendExecutionProvider_CUDA(o.get(), &first));
        break;
      case 2:
        ok(api().SessionOptionsAppendExecutionProvider_CUDA(o.get(), nullptr));
        break;
      case 3:
        ok(api().SessionOptionsAppendExecutionProvider(o.get(), "CUDA", nullptr, nullptr, 0));
        break;
      default:
        ok(api().SessionOptionsAppendExecutionProvider(o.get(), kName, nullptr, nullptr, 0));
        break;
    }
    const Owned<OrtSession> s = session(o.get());
    ASSERT_NE(s, nullptr);
    EXPECT_EQ(runs_on(s.get()), kName);
    same(run(s.get()));
  }
}

TEST_F(Present, EachEnvironmentRegistersItForItself) {
  for (int i = 0; i < 8; ++i) {  // the next one may have the address of the one before
    ok(library.append(options().get(), 0));
    EXPECT_EQ(told(library.append(options().get(), 0)), "");
    api().ReleaseEnv(env_);
    ok(api().CreateEnv(ORT_LOGGING_LEVEL_ERROR, "again", &env_));
  }
}

TEST_F(Present, ADeviceThatDoesNotExist) {
  const Owned<OrtSessionOptions> o = options();
  OrtSession* s = nullptr;
  ok(library.append(o.get(), 99));
  contains(told(api().CreateSession(env_, model.c_str(), o.get(), &s)), "99");
  EXPECT_EQ(s, nullptr);
}

TEST_F(Present, OptionsReachTheProvider) {
  const Owned<OrtSession> s = with({{"use_tf32", "0"}, {"arena_extend_strategy", "kSameAsRequested"}});
  ASSERT_NE(s, nullptr);
  same(run(s.get()));
  OrtCUDAProviderOptions wrong = {};
  wrong.cudnn_conv_algo_search = OrtCudnnConvAlgoSearch(7);
  contains(told(api().SessionOptionsAppendExecutionProvider_CUDA(options().get(), &wrong)), "cudnn_conv_algo_search");
}

TEST_F(Present, TensorsInMemoryNamedCuda) {
  const Owned<OrtSession> s = with();
  ASSERT_NE(s, nullptr);
  const Owned<OrtMemoryInfo> cuda = memory("Cuda");
  const Owned<OrtAllocator> device = allocator(s.get(), cuda.get());
  ASSERT_NE(device, nullptr);
  const Owned<OrtValue> x = made(device.get(), in_);
  copy(tensor(image_.data(), in_).get(), x.get());
  const Owned<OrtIoBinding> bound = binding(s.get());
  ok(api().BindInput(bound.get(), "image", x.get()));
  ok(api().BindOutputToDevice(bound.get(), "probabilities", cuda.get()));
  for (int i = 0; i < 3; ++i) ok(api().RunWithBinding(s.get(), nullptr, bound.get()));
  same(result(bound.get()));
  // The same memory by its address, as a program has it that calls CUDA itself.
  void* address = nullptr;
  ok(api().GetTensorMutableData(x.get(), &address));
  const Owned<OrtValue> view = tensor(address, in_, cuda.get());
  const Owned<OrtIoBinding> again = binding(s.get());
  ok(api().BindInput(again.get(), "image", view.get()));
  ok(api().BindOutputToDevice(again.get(), "probabilities", cuda.get()));
  ok(api().RunWithBinding(s.get(), nullptr, again.get()));
  same(result(again.get()));
}

TEST_F(Present, PinnedMemoryIsWrittenByTheHost) {
  const Owned<OrtSession> s = with();
  ASSERT_NE(s, nullptr);
  const Owned<OrtMemoryInfo> where = memory("CudaPinned", 0, OrtMemTypeCPUOutput);
  const Owned<OrtAllocator> pinned = allocator(s.get(), where.get());
  ASSERT_NE(pinned, nullptr);
  const Owned<OrtValue> x = made(pinned.get(), in_), y = made(pinned.get(), out_);
  const OrtMemoryInfo* place = nullptr;
  ok(api().AllocatorGetInfo(pinned.get(), &place));
  ASSERT_EQ(api().MemoryInfoGetDeviceMemType(place), OrtDeviceMemoryType_HOST_ACCESSIBLE);
  void *to = nullptr, *from = nullptr;
  ok(api().GetTensorMutableData(x.get(), &to));
  ok(api().GetTensorMutableData(y.get(), &from));
  std::copy(image_.begin(), image_.end(), static_cast<float*>(to));
  const Owned<OrtIoBinding> bound = binding(s.get());
  ok(api().BindInput(bound.get(), "image", x.get()));
  ok(api().BindOutput(bound.get(), "probabilities", y.get()));
  ok(api().RunWithBinding(s.get(), nullptr, bound.get()));
  ok(api().SynchronizeBoundOutputs(bound.get()));
  same(std::vector<float>(static_cast<float*>(from), static_cast<float*>(from) + kClasses));
}

TEST_F(Present, RunsOnAStreamOfTheProgram) {
  const OrtEpDevice* device = nullptr;
  ok(api().SessionGetEpDeviceForInputs(with().get(), &device, 1));
  OrtSyncStream* stream = nullptr;
  ok(api().CreateSyncStreamForEpDevice(device, nullptr, &stream));
  void* const handle = api().SyncStream_GetHandle(stream);
  ASSERT_NE(handle, nullptr);
  Owned<OrtSession> s = with({{"user_compute_stream", std::to_string(reinterpret_cast<uintptr_t>(handle))}});
  ASSERT_NE(s, nullptr);
  same(run(s.get()));
  s.reset();  // the stream lives longer
  api().ReleaseSyncStream(stream);
}

TEST_F(Present, EachThreadHasItsCurrentDevice) {
  int number = -1;
  ok(api().SetCurrentGpuDeviceId(0));
  ok(api().GetCurrentGpuDeviceId(&number));
  EXPECT_EQ(number, 0);
  contains(told(api().SetCurrentGpuDeviceId(99)), "device_id is 99; the CUDA provider has the devices 0 to ");
  contains(told(api().SetCurrentGpuDeviceId(-1)), "device_id is -1");
  std::thread([&] {
    number = -1;
    ok(api().GetCurrentGpuDeviceId(&number));
  }).join();
  EXPECT_EQ(number, 0);
}

/// What needs neither a plug-in nor a device.
class Options : public Calls {};

TEST_F(Options, TellWhatTheyAre) {
  OrtCUDAProviderOptionsV2* cuda = nullptr;
  OrtAllocator* host = nullptr;
  ok(api().GetAllocatorWithDefaultOptions(&host));
  ok(api().CreateCUDAProviderOptions(&cuda));
  const auto text = [&] {
    char* all = nullptr;
    ok(api().GetCUDAProviderOptionsAsString(cuda, host, &all));
    const std::string result = all;
    ok(api().AllocatorFree(host, all));
    return result;
  };
  contains(text(), "device_id=0;");
  const std::array keys{"device_id", "gpu_mem_limit"}, values{"2", "1000"};
  ok(api().UpdateCUDAProviderOptions(cuda, keys.data(), values.data(), 2));
  contains(text(), "device_id=2;");
  contains(text(), "gpu_mem_limit=1000");
  const std::array wrong{"use_tf32", "colour"};
  contains(told(api().UpdateCUDAProviderOptions(cuda, wrong.data(), values.data(), 2)), "no option 'colour'");
  contains(text(), "use_tf32=1");  // a failed call changes nothing
  int place = 0;
  void* found = nullptr;
  ok(api().UpdateCUDAProviderOptionsWithValue(cuda, "user_compute_stream", &place));
  ok(api().GetCUDAProviderOptionsByName(cuda, "user_compute_stream", &found));
  EXPECT_EQ(found, &place);
  contains(text(), "has_user_compute_stream=1;");
  contains(told(api().UpdateCUDAProviderOptionsWithValue(cuda, "device_id", &place)), "is no pointer");
  contains(told(api().GetCUDAProviderOptionsByName(cuda, "device_id", &found)), "is no pointer");
  api().ReleaseCUDAProviderOptions(cuda);
}

/// Without a device or without the plug-in: `reason` is in each error.
void refused(const std::vector<std::string>& texts, const std::string& reason) {
  for (const std::string& text : texts) contains(text, reason);
}

class NoDriver : public Calls {};

TEST_F(NoDriver, IsWhatErrorsSay) {
  if (!dlopen("libcuda.so.1", RTLD_LAZY)) {  // otherwise CUDA_VISIBLE_DEVICES hides the devices of a driver
    EXPECT_EQ(providers(), (std::vector<std::string>{"CPUExecutionProvider"}));
  }
  refused(refusals(), "finds no device: the system needs an NVIDIA GPU and its driver (libcuda.so.1)");
  int number = 0;
  contains(told(api().GetCurrentGpuDeviceId(&number)), "finds no device");
  contains(told(api().SetCurrentGpuDeviceId(0)), "finds no device");
  same(run(session(options().get()).get()));
}

TEST_F(NoDriver, MemoryOfNoDeviceIsRefused) {
  const Owned<OrtMemoryInfo> cuda = memory("Cuda");  // only a name yet
  OrtAllocator* none = nullptr;
  EXPECT_NE(told(api().CreateAllocator(session(options().get()).get(), cuda.get(), &none)), "");
}

class NoPlugin : public Calls {};

TEST_F(NoPlugin, IsWhatErrorsSay) {
  EXPECT_EQ(providers(), (std::vector<std::string>{"CPUExecutionProvider"}));
  refused(refusals(), "there is no providers/libretort_cuda.so beside this library");
  contains(told(api().SetCurrentGpuDeviceId(0)), "is not installed");
}

bool open(const char* path) {
  void* opened = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!opened) return std::fprintf(stderr, "%s\n", dlerror()), false;
  const auto base = reinterpret_cast<const OrtApiBase* (*)()>(dlsym(opened, "OrtGetApiBase"));
  library.api = base ? base()->GetApi(ORT_API_VERSION) : nullptr;
  library.append =
      reinterpret_cast<decltype(library.append)>(dlsym(opened, "OrtSessionOptionsAppendExecutionProvider_CUDA"));
  return library.api && library.append;
}

}  // namespace
}  // namespace cuda_calls

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 3) return std::fprintf(stderr, "usage: cuda_calls_test LIBRARY MODEL --gtest_filter=Present.*:...\n"), 2;
  cuda_calls::model = argv[2];
  return cuda_calls::open(argv[1]) ? RUN_ALL_TESTS() : 1;
}
