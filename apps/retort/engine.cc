#include "engine.h"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <numeric>

namespace retort::cli {
namespace {

struct TypeRow {
  const char* name;
  size_t bytes;
};
constexpr std::array<TypeRow, 17> kTypes{{{"undefined", 0},
                                          {"float32", 4},
                                          {"uint8", 1},
                                          {"int8", 1},
                                          {"uint16", 2},
                                          {"int16", 2},
                                          {"int32", 4},
                                          {"int64", 8},
                                          {"string", 0},
                                          {"bool", 1},
                                          {"float16", 2},
                                          {"float64", 8},
                                          {"uint32", 4},
                                          {"uint64", 8},
                                          {"complex64", 8},
                                          {"complex128", 16},
                                          {"bfloat16", 2}}};

}  // namespace

const char* type_name(ONNXTensorElementDataType type) {
  return size_t(type) < kTypes.size() ? kTypes[size_t(type)].name : "other";
}
size_t type_bytes(ONNXTensorElementDataType type) {
  return size_t(type) < kTypes.size() ? kTypes[size_t(type)].bytes : 0;
}

size_t HostTensor::count() const {
  return std::accumulate(shape.begin(), shape.end(), size_t(1), [](size_t n, int64_t d) { return n * size_t(d); });
}

std::string shape_text(const PortInfo& port) {
  if (!port.ranked) return "[...]";
  std::string text = "[";
  for (size_t i = 0; i < port.shape.size(); ++i) {
    const std::string symbol = i < port.symbols.size() && !port.symbols[i].empty() ? port.symbols[i] : "?";
    text += (i ? "," : "") + (port.shape[i] < 0 ? symbol : std::to_string(port.shape[i]));
  }
  return text + "]";
}

std::string default_library(const std::string& given) {
  if (!given.empty()) return given;
  if (const char* from = std::getenv("RETORT_LIBRARY")) return from;
  char self[PATH_MAX];
  const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  const std::string folder =
      n > 0 ? std::string(self, size_t(n)).substr(0, std::string(self, size_t(n)).rfind('/')) : ".";
  for (const char* place : {"/../lib/libretort.so.1", "/libretort.so.1"}) {
    if (access((folder + place).c_str(), R_OK) == 0) return folder + place;
  }
  return "libretort.so.1";
}

EngineLibrary::EngineLibrary(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // never closed: engines keep threads
  if (!library) throw Failure(std::string("cannot open the engine: ") + dlerror());
  const auto get = reinterpret_cast<const OrtApiBase* (*)()>(dlsym(library, "OrtGetApiBase"));
  if (!get) throw Failure(path + " has no OrtGetApiBase: it is no ONNX Runtime compatible library");
  version_ = get()->GetVersionString();
  for (uint32_t v = ORT_API_VERSION; v > 16 && !api_; --v) api_ = get()->GetApi(v);
  if (!api_) throw Failure(path + " is too old: it offers no API of version 17 or newer");
  OrtEnv* env = nullptr;
  check(api_->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "retort", &env));
  env_ = own(env, api_->ReleaseEnv);
}

void EngineLibrary::check(OrtStatus* status) const {
  if (!status) return;
  const std::string message = api_->GetErrorMessage(status);
  api_->ReleaseStatus(status);
  throw Failure(message);
}

std::string EngineLibrary::build_info() const { return api_->GetBuildInfoString(); }

EngineSession::EngineSession(const EngineLibrary& engine, const std::string& model, const SessionSettings& settings)
    : engine_(&engine) {
  const OrtApi& api = engine.api();
  OrtSessionOptions* options = nullptr;
  engine.check(api.CreateSessionOptions(&options));
  const auto owned = engine.own(options, api.ReleaseSessionOptions);
  engine.check(api.SetIntraOpNumThreads(options, settings.threads));
  engine.check(api.SetInterOpNumThreads(options, 1));
  engine.check(api.SetSessionGraphOptimizationLevel(options, GraphOptimizationLevel(settings.optimization)));
  if (!settings.profile.empty()) engine.check(api.EnableProfiling(options, settings.profile.c_str()));
  for (const auto& [key, value] : settings.config)
    engine.check(api.AddSessionConfigEntry(options, key.c_str(), value.c_str()));
  OrtSession* session = nullptr;
  engine.check(api.CreateSession(engine.env(), model.c_str(), options, &session));
  session_ = engine.own(session, api.ReleaseSession);
  inputs_ = ports(false);
  outputs_ = ports(true);
}

std::vector<PortInfo> EngineSession::ports(bool outputs) const {
  const OrtApi& api = engine_->api();
  OrtAllocator* allocator = nullptr;
  engine_->check(api.GetAllocatorWithDefaultOptions(&allocator));
  size_t count = 0;
  engine_->check(outputs ? api.SessionGetOutputCount(handle(), &count) : api.SessionGetInputCount(handle(), &count));
  std::vector<PortInfo> all(count);
  for (size_t i = 0; i < count; ++i) {
    char* name = nullptr;
    engine_->check(outputs ? api.SessionGetOutputName(handle(), i, allocator, &name)
                           : api.SessionGetInputName(handle(), i, allocator, &name));
    all[i].name = name;
    allocator->Free(allocator, name);
    OrtTypeInfo* type = nullptr;
    engine_->check(outputs ? api.SessionGetOutputTypeInfo(handle(), i, &type)
                           : api.SessionGetInputTypeInfo(handle(), i, &type));
    const auto owned = engine_->own(type, api.ReleaseTypeInfo);
    const OrtTensorTypeAndShapeInfo* info = nullptr;
    engine_->check(api.CastTypeInfoToTensorInfo(type, &info));
    if (!info) continue;
    size_t rank = 0;
    engine_->check(api.GetTensorElementType(info, &all[i].type));
    engine_->check(api.GetDimensionsCount(info, &rank));
    all[i].shape.resize(rank);
    std::vector<const char*> symbols(rank);
    engine_->check(api.GetDimensions(info, all[i].shape.data(), rank));
    engine_->check(api.GetSymbolicDimensions(info, symbols.data(), rank));
    for (const char* s : symbols) all[i].symbols.emplace_back(s ? s : "");
  }
  return all;
}

std::map<std::string, std::string> EngineSession::metadata() const {
  const OrtApi& api = engine_->api();
  OrtAllocator* allocator = nullptr;
  engine_->check(api.GetAllocatorWithDefaultOptions(&allocator));
  OrtModelMetadata* metadata = nullptr;
  engine_->check(api.SessionGetModelMetadata(handle(), &metadata));
  const auto owned = engine_->own(metadata, api.ReleaseModelMetadata);
  std::map<std::string, std::string> all;
  const auto text = [&](const char* key, auto getter) {
    char* value = nullptr;
    engine_->check(getter(metadata, allocator, &value));
    if (value && *value) all[key] = value;
    allocator->Free(allocator, value);
  };
  text("producer", api.ModelMetadataGetProducerName);
  text("graph", api.ModelMetadataGetGraphName);
  text("domain", api.ModelMetadataGetDomain);
  text("description", api.ModelMetadataGetDescription);
  return all;
}

std::string EngineSession::end_profiling() {
  const OrtApi& api = engine_->api();
  OrtAllocator* allocator = nullptr;
  engine_->check(api.GetAllocatorWithDefaultOptions(&allocator));
  char* path = nullptr;
  engine_->check(api.SessionEndProfiling(handle(), allocator, &path));
  std::string result = path;
  allocator->Free(allocator, path);
  return result;
}

BoundRun::BoundRun(EngineSession& session, std::map<std::string, HostTensor>& inputs) : session_(session) {
  const EngineLibrary& engine = session.engine();
  const OrtApi& api = engine.api();
  OrtIoBinding* binding = nullptr;
  engine.check(api.CreateIoBinding(session.handle(), &binding));
  binding_ = engine.own(binding, api.ReleaseIoBinding);
  OrtMemoryInfo* memory = nullptr;
  engine.check(api.CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &memory));
  const auto owned = engine.own(memory, api.ReleaseMemoryInfo);
  for (auto& [name, tensor] : inputs) {
    OrtValue* value = nullptr;
    engine.check(api.CreateTensorWithDataAsOrtValue(memory, tensor.bytes.data(), tensor.bytes.size(),
                                                    tensor.shape.data(), tensor.shape.size(), tensor.type, &value));
    values_.push_back(engine.own(value, api.ReleaseValue));
    engine.check(api.BindInput(binding, name.c_str(), value));
  }
  for (const PortInfo& out : session.outputs()) engine.check(api.BindOutputToDevice(binding, out.name.c_str(), memory));
}

void BoundRun::run() {
  session_.engine().check(session_.engine().api().RunWithBinding(session_.handle(), nullptr, binding_.get()));
}

namespace {

// The outputs of a binding with the names of the session's outputs, in the order in which they were bound.
std::vector<Handle<OrtValue>> bound_values(const EngineLibrary& engine, OrtIoBinding* binding) {
  const OrtApi& api = engine.api();
  OrtAllocator* allocator = nullptr;
  engine.check(api.GetAllocatorWithDefaultOptions(&allocator));
  OrtValue** values = nullptr;
  size_t count = 0;
  engine.check(api.GetBoundOutputValues(binding, allocator, &values, &count));
  std::vector<Handle<OrtValue>> all;
  for (size_t i = 0; i < count; ++i) all.push_back(engine.own(values[i], api.ReleaseValue));
  allocator->Free(allocator, values);
  return all;
}

bool read_tensor(const EngineLibrary& engine, OrtValue* value, HostTensor& out) {
  const OrtApi& api = engine.api();
  int is_tensor = 0;
  engine.check(api.IsTensor(value, &is_tensor));
  if (!is_tensor) return false;
  OrtTensorTypeAndShapeInfo* info = nullptr;
  engine.check(api.GetTensorTypeAndShape(value, &info));
  const auto owned = engine.own(info, api.ReleaseTensorTypeAndShapeInfo);
  size_t rank = 0;
  engine.check(api.GetTensorElementType(info, &out.type));
  engine.check(api.GetDimensionsCount(info, &rank));
  out.shape.resize(rank);
  engine.check(api.GetDimensions(info, out.shape.data(), rank));
  if (type_bytes(out.type) == 0) return false;
  void* data = nullptr;
  engine.check(api.GetTensorMutableData(value, &data));
  out.bytes.resize(out.count() * type_bytes(out.type));
  if (!out.bytes.empty()) std::memcpy(out.bytes.data(), data, out.bytes.size());
  return true;
}

}  // namespace

std::map<std::string, HostTensor> BoundRun::outputs() const {
  const auto values = bound_values(session_.engine(), binding_.get());
  std::map<std::string, HostTensor> all;
  for (size_t i = 0; i < values.size(); ++i) {
    HostTensor t;
    if (read_tensor(session_.engine(), values[i].get(), t)) all[session_.outputs()[i].name] = std::move(t);
  }
  return all;
}

void BoundRun::keep_outputs() {
  const EngineLibrary& engine = session_.engine();
  auto values = bound_values(engine, binding_.get());
  for (size_t i = 0; i < values.size(); ++i) {
    engine.check(engine.api().BindOutput(binding_.get(), session_.outputs()[i].name.c_str(), values[i].get()));
    values_.push_back(std::move(values[i]));
  }
}

}  // namespace retort::cli
