// Uses a plug-in library as programs do, through the C interface of any engine: registration, runs, tensors in the
// plug-in's memory, streams, unregistration.
//
//   plugin_uses LIBRARY PLUGIN PROVIDER MODEL [--env KEY=VALUE]... [--option KEY=VALUE]... [--keeps]
//
// MODEL has one input and one output of floats with fixed shapes. --env sets configuration entries of the environment,
// --option options of the provider. --keeps: the engine keeps a library that a session uses, which is tested; the
// official library unloads it, and its sessions crash. Prints a line for each use: "ok USE", "FAIL USE: why", or "none
// USE" if the plug-in does not support it.
#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "retort/onnxruntime_c_api.h"

namespace {

using Floats = std::vector<float>;

struct Arguments {
  std::string library, plugin, provider, model;
  std::vector<std::pair<std::string, std::string>> environment, options;
  bool keeps = false;
};

const OrtApi* api = nullptr;

void check(OrtStatus* status) {
  if (!status) return;
  const std::string message = api->GetErrorMessage(status);
  api->ReleaseStatus(status);
  throw std::runtime_error(message);
}

/// The message of a call that must fail.
std::string refused(OrtStatus* status, const char* what) {
  if (!status) throw std::runtime_error(std::string(what) + " is not rejected");
  const std::string message = api->GetErrorMessage(status);
  api->ReleaseStatus(status);
  return message;
}

void require(bool condition, const std::string& otherwise) {
  if (!condition) throw std::runtime_error(otherwise);
}

template <typename T>
using Held = std::unique_ptr<T, void(ORT_API_CALL*)(T*)>;

/// The only port of a side of the model.
struct Port {
  std::string name;
  std::vector<int64_t> shape;
  size_t elements() const {
    size_t n = 1;
    for (const int64_t d : shape) n *= size_t(d);
    return n;
  }
};

template <typename NameOf, typename TypeOf>
Port port_of(const OrtSession* session, NameOf name_of, TypeOf type_of) {
  OrtAllocator* allocator = nullptr;
  check(api->GetAllocatorWithDefaultOptions(&allocator));
  char* name = nullptr;
  check(name_of(session, 0, allocator, &name));
  Port port{name, {}};
  check(api->AllocatorFree(allocator, name));
  OrtTypeInfo* type = nullptr;
  check(type_of(session, 0, &type));
  const Held<OrtTypeInfo> owned(type, api->ReleaseTypeInfo);
  const OrtTensorTypeAndShapeInfo* tensor = nullptr;
  size_t rank = 0;
  check(api->CastTypeInfoToTensorInfo(type, &tensor));
  check(api->GetDimensionsCount(tensor, &rank));
  port.shape.resize(rank);
  check(api->GetDimensions(tensor, port.shape.data(), rank));
  require(std::all_of(port.shape.begin(), port.shape.end(), [](int64_t d) { return d > 0; }),
          "'" + port.name + "' has no fixed shape; give another model");
  return port;
}

class Uses {
 public:
  explicit Uses(const Arguments& a) : a_(a), env_(make_env(a), api->ReleaseEnv) {}

  bool all() {
    bool good = use("registration", [&] { registration(); });
    if (!good) return false;
    good &= use("runs", [&] { runs(); });
    const OrtMemoryInfo* own = memory();
    if (!own) std::puts("none memory of its own");
    if (own) good &= use("device tensors", [&] { bound(*own, nullptr); });
    if (own) good &= use("copies on the device", [&] { copies(*own); });
    good &= streams(own);
    good &= use("unregistration", [&] { unregistration(); });
    return use("another registration", [&] { again(); }) && good;
  }

 private:
  static OrtEnv* make_env(const Arguments& a) {
    OrtKeyValuePairs* entries = nullptr;
    api->CreateKeyValuePairs(&entries);
    const Held<OrtKeyValuePairs> owned(entries, api->ReleaseKeyValuePairs);
    for (const auto& [key, value] : a.environment) api->AddKeyValuePair(entries, key.c_str(), value.c_str());
    OrtEnvCreationOptions options{};
    options.version = ORT_API_VERSION;
    options.logging_severity_level = ORT_LOGGING_LEVEL_FATAL;
    options.log_id = "plugin_uses";
    options.config_entries = entries;
    OrtEnv* env = nullptr;
    check(api->CreateEnvWithOptions(&options, &env));
    return env;
  }

  bool use(const char* what, const std::function<void()>& story) {
    try {
      story();
      std::printf("ok %s\n", what);
    } catch (const std::exception& e) {
      std::printf("FAIL %s: %s\n", what, e.what());
      return false;
    }
    return true;
  }

  const OrtEpDevice* find() const {
    const OrtEpDevice* const* all = nullptr;
    size_t count = 0;
    check(api->GetEpDevices(env_.get(), &all, &count));
    for (size_t i = 0; i < count; ++i) {
      if (a_.provider == api->EpDevice_EpName(all[i])) return all[i];
    }
    return nullptr;
  }

  void enter() {
    check(api->RegisterExecutionProviderLibrary(env_.get(), a_.provider.c_str(), a_.plugin.c_str()));
    device_ = find();
    require(device_ != nullptr, a_.plugin + " offers no device of " + a_.provider);
  }

  void registration() {
    enter();
    session_ = open(device_);
    x_ = port_of(session_.get(), api->SessionGetInputName, api->SessionGetInputTypeInfo);
    y_ = port_of(session_.get(), api->SessionGetOutputName, api->SessionGetOutputTypeInfo);
    for (size_t i = 0; i < x_.elements(); ++i) in_.push_back(float(i * 37 % 101) / 50 - 1);
    expected_ = run(open(nullptr).get());
  }

  Held<OrtSession> open(const OrtEpDevice* device) const {
    OrtSessionOptions* options = nullptr;
    check(api->CreateSessionOptions(&options));
    const Held<OrtSessionOptions> owned(options, api->ReleaseSessionOptions);
    check(api->SetIntraOpNumThreads(options, 1));
    check(api->AddSessionConfigEntry(options, "session.record_ep_graph_assignment_info", "1"));
    std::vector<const char*> keys, values;
    for (const auto& [key, value] : a_.options) keys.push_back(key.c_str()), values.push_back(value.c_str());
    if (device)
      check(api->SessionOptionsAppendExecutionProvider_V2(options, env_.get(), &device, 1, keys.data(), values.data(),
                                                          keys.size()));
    OrtSession* session = nullptr;
    check(api->CreateSession(env_.get(), a_.model.c_str(), options, &session));
    return {session, api->ReleaseSession};
  }

  Held<OrtValue> on_host(Floats& values, const Port& port) const {
    OrtMemoryInfo* info = nullptr;
    check(api->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &info));
    const Held<OrtMemoryInfo> owned(info, api->ReleaseMemoryInfo);
    OrtValue* value = nullptr;
    check(api->CreateTensorWithDataAsOrtValue(info, values.data(), values.size() * sizeof(float), port.shape.data(),
                                              port.shape.size(), ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
    return {value, api->ReleaseValue};
  }

  Held<OrtValue> on_device(const OrtMemoryInfo& memory, const Port& port) const {
    OrtAllocator* allocator = nullptr;
    check(api->GetSharedAllocator(env_.get(), &memory, &allocator));
    require(allocator != nullptr, "there is no shared allocator for the plug-in's memory");
    OrtValue* value = nullptr;
    check(api->CreateTensorAsOrtValue(allocator, port.shape.data(), port.shape.size(),
                                      ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
    return {value, api->ReleaseValue};
  }

  void copy(const OrtValue* from, OrtValue* to, OrtSyncStream* stream) const {
    check(api->CopyTensors(env_.get(), &from, &to, stream, 1));
  }

  Floats run(OrtSession* session) {
    const Held<OrtValue> x = on_host(in_, x_);
    const char *in = x_.name.c_str(), *out = y_.name.c_str();
    const OrtValue* value = x.get();
    OrtValue* made = nullptr;
    check(api->Run(session, nullptr, &in, &value, 1, &out, 1, &made));
    const Held<OrtValue> y(made, api->ReleaseValue);
    void* data = nullptr;
    check(api->GetTensorMutableData(made, &data));
    const auto* first = static_cast<const float*>(data);
    return {first, first + y_.elements()};
  }

  void compare(const Floats& found) const {
    float most = 0, worst = 0;
    for (size_t i = 0; i < expected_.size(); ++i) {
      most = std::max(most, std::fabs(expected_[i]));
      const float off = std::fabs(found[i] - expected_[i]);
      worst = off <= worst ? worst : off;  // NaN is the worst
    }
    require(most > 0 && worst <= 1e-2f * most,
            "results differ from the CPU's by " + std::to_string(worst) + ", of " + std::to_string(most));
  }

  void runs() {
    const OrtEpAssignedSubgraph* const* parts = nullptr;
    size_t count = 0, mine = 0;
    check(api->Session_GetEpGraphAssignmentInfo(session_.get(), &parts, &count));
    for (size_t i = 0; i < count; ++i) {
      const char* name = nullptr;
      check(api->EpAssignedSubgraph_GetEpName(parts[i], &name));
      mine += a_.provider == name;
    }
    require(mine > 0, "the plug-in claims no node of " + a_.model);
    for (int i = 0; i < 3; ++i) compare(run(session_.get()));
  }

  /// Null: the inputs and outputs of the plug-in's nodes lie on the host.
  const OrtMemoryInfo* memory() const {
    const OrtMemoryInfo* info = api->EpDevice_MemoryInfo(device_, OrtDeviceMemoryType_DEFAULT);
    OrtMemoryInfoDeviceType type = OrtMemoryInfoDeviceType_CPU;
    if (info) api->MemoryInfoGetDeviceType(info, &type);
    return type == OrtMemoryInfoDeviceType_CPU ? nullptr : info;
  }

  void bound(const OrtMemoryInfo& memory, OrtSyncStream* stream) {
    const Held<OrtValue> x = on_host(in_, x_), device_x = on_device(memory, x_);
    copy(x.get(), device_x.get(), stream);
    OrtIoBinding* made = nullptr;
    check(api->CreateIoBinding(session_.get(), &made));
    const Held<OrtIoBinding> binding(made, api->ReleaseIoBinding);
    check(api->BindInput(made, x_.name.c_str(), device_x.get()));
    check(api->BindOutputToDevice(made, y_.name.c_str(), &memory));
    OrtRunOptions* options = nullptr;
    check(api->CreateRunOptions(&options));
    const Held<OrtRunOptions> owned(options, api->ReleaseRunOptions);
    if (stream) api->RunOptionsSetSyncStream(options, stream);
    for (int i = 0; i < 3; ++i) check(api->RunWithBinding(session_.get(), options, made));
    check(api->SynchronizeBoundOutputs(made));
    compare(back(made, memory, stream));
  }

  /// The result of a binding, which must lie in that memory.
  Floats back(const OrtIoBinding* binding, const OrtMemoryInfo& memory, OrtSyncStream* stream) const {
    OrtAllocator* allocator = nullptr;
    check(api->GetAllocatorWithDefaultOptions(&allocator));
    OrtValue** values = nullptr;
    size_t count = 0;
    check(api->GetBoundOutputValues(binding, allocator, &values, &count));
    require(count == 1, "one output is bound, and there are " + std::to_string(count));
    const Held<OrtValue> y(values[0], api->ReleaseValue);
    check(api->AllocatorFree(allocator, values));
    const OrtMemoryInfo* where = nullptr;
    OrtMemoryInfoDeviceType type = OrtMemoryInfoDeviceType_CPU, wanted = OrtMemoryInfoDeviceType_CPU;
    check(api->GetTensorMemoryInfo(y.get(), &where));
    api->MemoryInfoGetDeviceType(where, &type);
    api->MemoryInfoGetDeviceType(&memory, &wanted);
    require(type == wanted, "the output lies on a device of type " + std::to_string(int(type)));
    Floats found(y_.elements(), NAN);
    const Held<OrtValue> host = on_host(found, y_);
    copy(y.get(), host.get(), stream);
    return found;
  }

  void copies(const OrtMemoryInfo& memory) {
    Floats found(in_.size(), NAN);
    const Held<OrtValue> x = on_host(in_, x_), result = on_host(found, x_);
    const Held<OrtValue> first = on_device(memory, x_), second = on_device(memory, x_);
    copy(x.get(), first.get(), nullptr);
    copy(first.get(), second.get(), nullptr);
    copy(second.get(), result.get(), nullptr);
    require(found == in_, "a tensor that was copied to the device, on it and back has other elements");
  }

  bool streams(const OrtMemoryInfo* own) {
    OrtSyncStream* made = nullptr;
    OrtStatus* none = api->CreateSyncStreamForEpDevice(device_, nullptr, &made);
    if (none || !made || !own) {
      api->ReleaseStatus(none);
      if (made) api->ReleaseSyncStream(made);
      std::puts("none streams");
      return true;
    }
    const Held<OrtSyncStream> stream(made, api->ReleaseSyncStream);
    return use("streams", [&] { bound(*own, made); });
  }

  void unregistration() {
    OrtEnv* env = env_.get();
    if (a_.keeps) {
      refused(api->RegisterExecutionProviderLibrary(env, a_.provider.c_str(), a_.plugin.c_str()),
              "the same name again");
      const std::string message =
          refused(api->UnregisterExecutionProviderLibrary(env, a_.provider.c_str()), "a library in use");
      require(message.find("in use") != std::string::npos, "the message for a library in use is: " + message);
      compare(run(session_.get()));
    }
    session_.reset();
    check(api->UnregisterExecutionProviderLibrary(env, a_.provider.c_str()));
    require(!find(), "its device is still offered");
    refused(api->UnregisterExecutionProviderLibrary(env, a_.provider.c_str()), "a library that is not registered");
  }

  void again() {
    enter();
    session_ = open(device_);
    compare(run(session_.get()));
    session_.reset();
    check(api->UnregisterExecutionProviderLibrary(env_.get(), a_.provider.c_str()));
  }

  const Arguments a_;
  const Held<OrtEnv> env_;
  Held<OrtSession> session_{nullptr, nullptr};
  const OrtEpDevice* device_ = nullptr;
  Port x_, y_;
  Floats in_, expected_;
};

Arguments parse(int argc, char** argv) {
  std::vector<std::string> plain;
  Arguments a;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if ((word == "--env" || word == "--option") && i + 1 < argc) {
      const std::string entry = argv[++i];
      const size_t at = entry.find('=');
      require(at != std::string::npos, word + " takes KEY=VALUE, not '" + entry + "'");
      (word == "--env" ? a.environment : a.options).emplace_back(entry.substr(0, at), entry.substr(at + 1));
    } else if (word == "--keeps") {
      a.keeps = true;
    } else {
      plain.push_back(word);
    }
  }
  require(plain.size() == 4,
          "usage: plugin_uses LIBRARY PLUGIN PROVIDER MODEL [--env KEY=VALUE]... [--option KEY=VALUE]... [--keeps]");
  a.library = plain[0], a.plugin = plain[1], a.provider = plain[2], a.model = plain[3];
  return a;
}

void open_engine(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  require(library != nullptr, library ? "" : dlerror());
  const auto get = reinterpret_cast<const OrtApiBase* (*)()>(dlsym(library, "OrtGetApiBase"));
  require(get != nullptr, path + " has no OrtGetApiBase");
  api = get()->GetApi(ORT_API_VERSION);
  require(api != nullptr, path + " does not support API version " + std::to_string(ORT_API_VERSION));
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // even if the process crashes later
  try {
    const Arguments a = parse(argc, argv);
    open_engine(a.library);
    return Uses(a).all() ? 0 : 1;
  } catch (const std::exception& e) {
    std::printf("FAIL start: %s\n", e.what());
    return 2;
  }
}
