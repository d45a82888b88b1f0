#include "cli/commands.h"

#include <dlfcn.h>
#include <retort/retort_tools.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/usage.h"

namespace retort::cli {
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
  const char* from = std::getenv("RETORT_LIBRARY");
  return from && *from ? from : installed_library();
}

std::string chosen_level() {
  const char* level = std::getenv("RETORT_ISA");
  return level ? level : "";
}

std::string installed_library() {
  char self[PATH_MAX];
  const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  const std::string folder =
      n > 0 ? std::string(self, size_t(n)).substr(0, std::string(self, size_t(n)).rfind('/')) : ".";
  for (const char* place : {"/../lib/libretort.so.1", "/libretort.so.1"}) {
    if (access((folder + place).c_str(), R_OK) == 0) return folder + place;
  }
  return "libretort.so.1";
}

std::map<std::string, std::string>& environment_config() {
  static std::map<std::string, std::string> config;
  return config;
}

EngineLibrary::EngineLibrary(const std::string& path, bool devices) {
  // The loader looks for a name without a slash in its own folders alone.
  std::error_code error;
  const bool is_here = path.find('/') == std::string::npos && std::filesystem::is_regular_file(path, error);
  const std::string file = (is_here ? "./" : "") + path;
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);  // never closed: engines keep threads
  if (!library)
    throw Failure("cannot open the engine '" + path + "': " + dlerror() +
                  "; name another with --library or RETORT_LIBRARY, or the second engine with --against");
  const auto get = reinterpret_cast<const OrtApiBase* (*)()>(dlsym(library, "OrtGetApiBase"));
  if (!get) throw Failure(path + " has no OrtGetApiBase: it is not compatible with ONNX Runtime");
  version_ = get()->GetVersionString();
  for (api_version_ = ORT_API_VERSION; api_version_ > 16; --api_version_) {
    if ((api_ = get()->GetApi(api_version_))) break;
  }
  if (!api_) throw Failure(path + " is too old: it offers no API of version 17 or newer");
  OrtEnv* env = nullptr;
  if (environment_config().empty() || !devices) {
    check(api_->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "retort", &env));
  } else {
    if (!is_retort())
      throw Failure(name() + " supports neither --vulkan nor --virtual: only Retort does; leave them out");
    OrtKeyValuePairs* entries = nullptr;
    api_->CreateKeyValuePairs(&entries);
    for (const auto& [key, value] : environment_config()) api_->AddKeyValuePair(entries, key.c_str(), value.c_str());
    OrtEnvCreationOptions options = {};
    options.version = api_version_;
    options.logging_severity_level = ORT_LOGGING_LEVEL_ERROR;
    options.log_id = "retort";
    options.config_entries = entries;
    OrtStatus* status = api_->CreateEnvWithOptions(&options, &env);
    api_->ReleaseKeyValuePairs(entries);
    check(status);
  }
  env_ = own(env, api_->ReleaseEnv);
}

void EngineLibrary::check(OrtStatus* status) const {
  if (!status) return;
  const std::string message = api_->GetErrorMessage(status);
  api_->ReleaseStatus(status);
  throw Failure(message);
}

std::string EngineLibrary::name() const {
  const std::string build = api_->GetBuildInfoString();
  return build.starts_with("Retort ") ? build.substr(0, build.find(',')) : "ONNX Runtime " + version_;
}

OrtExperimentalFnPtr EngineLibrary::experimental(const char* name) const {
  return api_version_ >= 28 ? api_->GetExperimentalFunction(name) : nullptr;
}

std::string EngineLibrary::text(const std::function<OrtStatus*(OrtAllocator*, char**)>& fill) const {
  OrtAllocator* allocator = nullptr;
  check(api_->GetAllocatorWithDefaultOptions(&allocator));
  char* made = nullptr;
  check(fill(allocator, &made));
  std::string result = made ? made : "";
  if (made) allocator->Free(allocator, made);
  return result;
}

std::vector<std::string> EngineLibrary::providers() const {
  char** names = nullptr;
  int count = 0;
  check(api_->GetAvailableProviders(&names, &count));
  std::vector<std::string> all(names, names + count);
  check(api_->ReleaseAvailableProviders(names, count));
  return all;
}

Handle<OrtSessionOptions> EngineSession::options(const SessionSettings& settings) const {
  const EngineLibrary& engine = *engine_;
  const OrtApi& api = engine.api();
  OrtSessionOptions* made = nullptr;
  engine.check(api.CreateSessionOptions(&made));
  auto options = engine.own(made, api.ReleaseSessionOptions);
  engine.check(api.SetIntraOpNumThreads(made, settings.threads));
  engine.check(api.SetInterOpNumThreads(made, settings.parallel ? settings.threads : 1));
  if (settings.parallel) engine.check(api.SetSessionExecutionMode(made, ORT_PARALLEL));
  engine.check(api.SetSessionGraphOptimizationLevel(made, GraphOptimizationLevel(settings.optimization)));
  if (!settings.profile.empty()) engine.check(api.EnableProfiling(made, settings.profile.c_str()));
  if (!settings.optimized.empty()) engine.check(api.SetOptimizedModelFilePath(made, settings.optimized.c_str()));
  if (settings.warns) engine.check(api.SetSessionLogSeverityLevel(made, ORT_LOGGING_LEVEL_WARNING));
  for (const auto& [key, value] : settings.config)
    engine.check(api.AddSessionConfigEntry(made, key.c_str(), value.c_str()));
  disable(made, settings);
  add_providers(made, settings);
  return options;
}

namespace {

std::string unknown_pass(const std::string& name, const std::vector<std::string>& known) {
  const std::string near = likely(name, known);
  return "there is no pass or rule '" + name + "'; " +
         (near.empty() ? "retort inspect --passes lists them" : "did you mean " + near + "?");
}

}  // namespace

void EngineSession::disable(OrtSessionOptions* options, const SessionSettings& settings) const {
  if (settings.disabled.empty()) return;
  constexpr const char* kKey = "optimization.disable_specified_optimizers";
  const auto list = engine_->is_retort() ? engine_->find<RetortListNames>("RetortListNames") : nullptr;
  std::vector<std::string> known;
  const auto ask = [&](OrtAllocator* allocator, char** json) { return list(allocator, json); };
  if (list) known = nlohmann::json::parse(engine_->text(ask)).at("passes").get<std::vector<std::string>>();
  const auto given = settings.config.find(kKey);
  std::string all = given == settings.config.end() ? "" : given->second;
  for (const std::string& name : settings.disabled) {
    if (list && std::find(known.begin(), known.end(), name) == known.end())
      throw Failure("--disable: " + unknown_pass(name, known));
    all += (all.empty() ? "" : ";") + name;
  }
  engine_->check(engine_->api().AddSessionConfigEntry(options, kKey, all.c_str()));
}

EngineSession::EngineSession(const EngineLibrary& engine, const std::string& model, const SessionSettings& settings)
    : engine_(&engine) {
  const auto made = options(settings);
  OrtSession* session = nullptr;
  engine.check(engine.api().CreateSession(engine.env(), model.c_str(), made.get(), &session));
  session_ = engine.own(session, engine.api().ReleaseSession);
  read_ports();
}

EngineSession::EngineSession(const EngineLibrary& engine, const std::string& bytes, const std::string& folder,
                             SessionSettings settings)
    : engine_(&engine) {
  settings.config["session.model_external_initializers_file_folder_path"] = folder;
  const auto made = options(settings);
  OrtSession* session = nullptr;
  engine.check(engine.api().CreateSessionFromArray(engine.env(), bytes.data(), bytes.size(), made.get(), &session));
  session_ = engine.own(session, engine.api().ReleaseSession);
  read_ports();
}

void EngineSession::read_ports() {
  inputs_ = ports(false);
  outputs_ = ports(true);
}

std::optional<uint64_t> EngineSession::copied_bytes() const {
  const auto ask = engine_->find<uint64_t(ORT_API_CALL*)(const OrtSession*)>("RetortSessionCopiedBytes");
  return ask ? std::optional(ask(handle())) : std::nullopt;
}

std::string EngineSession::copies() const {
  const auto ask = engine_->find<RetortSessionCopies>("RetortSessionCopies");
  if (!ask) return {};
  return engine_->text([&](OrtAllocator* allocator, char** json) { return ask(handle(), allocator, json); });
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
    engine_->check(api.GetOnnxTypeFromTypeInfo(type, &all[i].kind));
    const OrtTensorTypeAndShapeInfo* info = nullptr;
    engine_->check(api.CastTypeInfoToTensorInfo(type, &info));
    if (!info) continue;
    size_t rank = 0;
    engine_->check(api.GetTensorElementType(info, &all[i].type));
    engine_->check(api.GetDimensionsCount(info, &rank));
    all[i].shape.resize(rank);
    all[i].ranked = rank > 0 || (engine_->api_version() >= 24 && api.TensorTypeAndShape_HasShape(info));
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
  return engine_->text(
      [&](OrtAllocator* a, char** out) { return engine_->api().SessionEndProfiling(handle(), a, out); });
}

}  // namespace retort::cli
