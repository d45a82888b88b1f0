// Sessions: creation, queries about their inputs and outputs, release.
#include "abi/sessions/session.h"

#include <sys/stat.h>

#include <algorithm>

#include "abi/devices/devices.h"
#include "abi/host/plugin.h"
#include "abi/kernels/kernels.h"
#include "abi/sessions/environment.h"
#include "abi/slots.h"
#include "abi/values/allocators.h"

namespace retort::abi {
namespace {

OrtStatusPtr open(const OrtEnv* env, const OrtSessionOptions* options, const OrtPrepackedWeightsContainer* container,
                  OrtSession** out, Load load) {
  return guard([&] {
    SessionOptions settings = opening_options(env, options);
    need(out, "out");
    auto session = new_session(*env);
    finish_session(*session, env->environment, std::move(settings), options, container, load);
    give(out, "out", std::move(session));
  });
}

auto from_file(const char* path) {
  return [path](const std::shared_ptr<Environment>& environment, const SessionOptions& o) {
    return std::make_shared<Session>(environment, model_file(path), o);
  };
}

auto from_bytes(const void* data, size_t size) {
  return [data, size](const std::shared_ptr<Environment>& environment, const SessionOptions& o) {
    const auto* bytes = &need(static_cast<const std::byte*>(data), "model_data");
    return std::make_shared<Session>(environment, std::span(bytes, size), o);
  };
}

/// The port of that index; like the official library, throws `fail` for an index that does not exist.
const Port& port(const std::vector<Port>& ports, size_t index) {
  require(index < ports.size(), ErrorCode::fail, "port {} of {} does not exist", index, ports.size());
  return ports[index];
}

const Session& of(const OrtSession* session) { return *session_of(session); }

const std::vector<Port>& overridable_of(const OrtSession* session) {
  const OrtSession& s = handle(session, "session");
  return s.draft ? s.draft->shown.overridable : s.session->ports().overridable();
}

const DimTable& dims_of(const OrtSession* session) {
  const OrtSession& s = handle(session, "session");
  return s.draft ? *s.draft->model->dims : s.session->ports().dims();
}

void give_name(const Port& port, OrtAllocator* allocator, char** value) {
  OrtAllocator& a = need(allocator, "allocator");
  need(value, "value");
  *value = allocate_text(a, port.name);
}

void give_type(const OrtSession* session, const Port& port, OrtTypeInfo** type_info) {
  give(type_info, "type_info", std::make_unique<OrtTypeInfo>(type_of(port.type, dims_of(session))));
}

OrtTensorTypeAndShapeInfo tensor_info_of(const ValueType& type, const DimTable& dims) {
  OrtTensorTypeAndShapeInfo info;
  info.type = to_onnx(type.dtype);
  info.has_shape = type.ranked;
  for (Dim d : type.shape) {
    info.dims.push_back(is_known(d) ? d : -1);
    info.symbols.push_back(is_known(d) ? "" : dims.symbol_name(d));
  }
  return info;
}

// `what` names the argument `infos`; `space_of` returns the memory that a port lies in.
template <typename F>
void fill_infos(const std::vector<Port>& ports, const OrtMemoryInfo** infos, size_t count, const char* what,
                F space_of) {
  require(count >= ports.size(), ErrorCode::invalid_argument, "there is room for {} of {} ports", count, ports.size());
  if (count) need(infos, what);
  for (size_t i = 0; i < count; ++i) infos[i] = i < ports.size() ? &info_of(space_of(i)) : nullptr;
}

}  // namespace

std::string model_file(const char* model_path) {
  const std::string path = need_text(model_path, "model_path");
  struct stat file;
  require(stat(path.c_str(), &file) != 0 || !S_ISDIR(file.st_mode), ErrorCode::invalid_argument,
          "'{}' is a folder, not a model; give the path of a file", path);
  return path;
}

const std::shared_ptr<Session>& session_of(const OrtSession* session) {
  const OrtSession& s = handle(session, "session");
  require(!s.draft, ErrorCode::fail, "the session is not finished; call FinalizeModelEditorSession first");
  return s.session;
}

const std::vector<Port>& inputs_of(const OrtSession* session) {
  const OrtSession& s = handle(session, "session");
  return s.draft ? s.draft->shown.inputs : s.session->inputs();
}

const std::vector<Port>& outputs_of(const OrtSession* session) {
  const OrtSession& s = handle(session, "session");
  return s.draft ? s.draft->shown.outputs : s.session->outputs();
}

const ModelInfo& info_of(const OrtSession* session) {
  const OrtSession& s = handle(session, "session");
  return s.draft ? s.draft->shown.info : s.session->ports().info();
}

MemorySpace input_space_of(const OrtSession& session, size_t index) {
  return session.draft ? MemorySpace() : session.session->input_spaces(index).front();
}

MemorySpace output_space_of(const OrtSession& session, size_t index) {
  return session.draft ? MemorySpace() : session.session->ports().output_space(index);
}

std::unique_ptr<OrtSession> new_session(const OrtEnv& env) {
  auto session = std::make_unique<OrtSession>();
  session->ep_devices = env.devices;
  return session;
}

SessionOptions opening_options(const OrtEnv* env, const OrtSessionOptions* options) {
  const OrtEnv& e = handle(env, "env");
  SessionOptions settings = session_options(options);
  require(settings.own_threads || e.environment->shared_pool(), ErrorCode::fail,
          "the session must use the environment's threads, but the environment has none; create the environment "
          "with threads of its own");
  {
    const std::lock_guard lock(e.hooks_mutex);
    settings.threads.hooks = e.hooks;
  }
  if (options) settings.external_ops = custom_ops_of(*options, settings.logger(e.environment->logger()));
  return settings;
}

namespace {

/// A provider that left weights in the model that it compiled needs that model.
void warn_of_missing_source(const Model& model, const OrtSessionOptions& options, const Logger& logger) {
  const auto note =
      std::ranges::find(model.metadata, "external_dependencies", [](const auto& entry) { return entry.first; });
  if (note == model.metadata.end() || note->second.find("source_model") == std::string::npos) return;
  if (options.weightless_source || !options.options.config_entry("ep.context_source_model_path").empty()) return;
  logger.warn(
      "the model was compiled without its weights, and neither ep.context_source_model_path nor a buffer "
      "(SessionOptionsSetWeightlessSourceModelBuffer) gives the model that has them");
}

}  // namespace

void finish_session(OrtSession& session, const std::shared_ptr<Environment>& environment, SessionOptions settings,
                    const OrtSessionOptions* options, const OrtPrepackedWeightsContainer* container, Load load) {
  SharedWeights shared{container ? handle(container, "prepacked_weights_container").weights : nullptr, {}};
  for (const auto& [name, tensor] : settings.initializers) shared.names.insert(name);
  const Logger logger = settings.logger(environment->logger());
  settings.choose_providers = [&session, options, shared, logger](const Model& model) {
    session.opsets = model.opsets;
    if (!options) return std::vector<std::shared_ptr<Provider>>();
    warn_of_missing_source(model, *options, logger);
    auto providers = choose_devices(*session.ep_devices, *options, model, session.devices);
    for (const auto& provider : providers) share_weights(*provider, shared);
    return providers;
  };
  std::shared_ptr<Session> made = load(environment, settings);
  const int threads =
      settings.own_threads ? pool_options(settings.threads).threads : environment->shared_pool()->threads();
  if (threads > 1) session.async = std::make_unique<AsyncRuns>(size_t(threads));
  record_assignment(session, *made);
  session.session = std::move(made);
}

SessionOptions session_options(const OrtSessionOptions* options) {
  if (!options) return {};
  const OrtSessionOptions& o = handle(options, "options");
  SessionOptions copy = o.options;
  copy.threads.create_thread = o.custom_threads.hook();
  return copy;
}

OrtTypeInfo type_of(const ValueType& type, const DimTable& dims) {
  switch (type.kind) {
    case ValueType::Kind::tensor:
      return tensor_type(tensor_info_of(type, dims));
    case ValueType::Kind::sparse:
      return tensor_type(tensor_info_of(type, dims), ONNX_TYPE_SPARSETENSOR);
    case ValueType::Kind::sequence:
      return sequence_type(type.element ? type_of(*type.element, dims) : OrtTypeInfo());
    case ValueType::Kind::optional:
      return optional_type(type.element ? type_of(*type.element, dims) : OrtTypeInfo());
    case ValueType::Kind::map: {
      OrtTensorTypeAndShapeInfo plain;
      plain.type = to_onnx(type.dtype);
      return map_type(to_onnx(type.key), type.element ? type_of(*type.element, dims) : tensor_type(plain));
    }
    default:
      break;
  }
  OrtTypeInfo other;
  other.kind = type.kind == ValueType::Kind::opaque ? ONNX_TYPE_OPAQUE : ONNX_TYPE_UNKNOWN;
  return other;
}

OrtStatusPtr ORT_API_CALL CreateSession(const OrtEnv* env, const char* model_path, const OrtSessionOptions* options,
                                        OrtSession** out) noexcept {
  return open(env, options, nullptr, out, from_file(model_path));
}

OrtStatusPtr ORT_API_CALL CreateSessionFromArray(const OrtEnv* env, const void* model_data, size_t model_data_length,
                                                 const OrtSessionOptions* options, OrtSession** out) noexcept {
  return open(env, options, nullptr, out, from_bytes(model_data, model_data_length));
}

OrtStatusPtr ORT_API_CALL CreatePrepackedWeightsContainer(OrtPrepackedWeightsContainer** out) noexcept {
  return guard([&] { give(out, "out", std::make_unique<OrtPrepackedWeightsContainer>()); });
}

void ORT_API_CALL ReleasePrepackedWeightsContainer(OrtPrepackedWeightsContainer* input) noexcept { release(input); }

OrtStatusPtr ORT_API_CALL CreateSessionWithPrepackedWeightsContainer(const OrtEnv* env, const char* model_path,
                                                                     const OrtSessionOptions* options,
                                                                     OrtPrepackedWeightsContainer* container,
                                                                     OrtSession** out) noexcept {
  return open(env, options, container, out, from_file(model_path));
}

OrtStatusPtr ORT_API_CALL CreateSessionFromArrayWithPrepackedWeightsContainer(const OrtEnv* env, const void* model_data,
                                                                              size_t model_data_length,
                                                                              const OrtSessionOptions* options,
                                                                              OrtPrepackedWeightsContainer* container,
                                                                              OrtSession** out) noexcept {
  return open(env, options, container, out, from_bytes(model_data, model_data_length));
}

void ORT_API_CALL ReleaseSession(OrtSession* input) noexcept { release(input); }

OrtStatusPtr ORT_API_CALL SessionGetInputCount(const OrtSession* session, size_t* out) noexcept {
  return guard([&] { need(out, "out") = inputs_of(session).size(); });
}

OrtStatusPtr ORT_API_CALL SessionGetOutputCount(const OrtSession* session, size_t* out) noexcept {
  return guard([&] { need(out, "out") = outputs_of(session).size(); });
}

OrtStatusPtr ORT_API_CALL SessionGetOverridableInitializerCount(const OrtSession* session, size_t* out) noexcept {
  return guard([&] { need(out, "out") = overridable_of(session).size(); });
}

OrtStatusPtr ORT_API_CALL SessionGetInputName(const OrtSession* session, size_t index, OrtAllocator* allocator,
                                              char** value) noexcept {
  return guard([&] { give_name(port(inputs_of(session), index), allocator, value); });
}

OrtStatusPtr ORT_API_CALL SessionGetOutputName(const OrtSession* session, size_t index, OrtAllocator* allocator,
                                               char** value) noexcept {
  return guard([&] { give_name(port(outputs_of(session), index), allocator, value); });
}

OrtStatusPtr ORT_API_CALL SessionGetOverridableInitializerName(const OrtSession* session, size_t index,
                                                               OrtAllocator* allocator, char** value) noexcept {
  return guard([&] { give_name(port(overridable_of(session), index), allocator, value); });
}

OrtStatusPtr ORT_API_CALL SessionGetInputTypeInfo(const OrtSession* session, size_t index,
                                                  OrtTypeInfo** type_info) noexcept {
  return guard([&] { give_type(session, port(inputs_of(session), index), type_info); });
}

OrtStatusPtr ORT_API_CALL SessionGetOutputTypeInfo(const OrtSession* session, size_t index,
                                                   OrtTypeInfo** type_info) noexcept {
  return guard([&] { give_type(session, port(outputs_of(session), index), type_info); });
}

OrtStatusPtr ORT_API_CALL SessionGetOverridableInitializerTypeInfo(const OrtSession* session, size_t index,
                                                                   OrtTypeInfo** type_info) noexcept {
  return guard([&] { give_type(session, port(overridable_of(session), index), type_info); });
}

OrtStatusPtr ORT_API_CALL SessionGetMemoryInfoForInputs(const OrtSession* session,
                                                        const OrtMemoryInfo** inputs_memory_info,
                                                        size_t num_inputs) noexcept {
  return guard([&] {
    fill_infos(inputs_of(session), inputs_memory_info, num_inputs, "inputs_memory_info",
               [&](size_t i) { return input_space_of(*session, i); });
  });
}

OrtStatusPtr ORT_API_CALL SessionGetMemoryInfoForOutputs(const OrtSession* session,
                                                         const OrtMemoryInfo** outputs_memory_info,
                                                         size_t num_outputs) noexcept {
  return guard([&] {
    fill_infos(outputs_of(session), outputs_memory_info, num_outputs, "outputs_memory_info",
               [&](size_t i) { return output_space_of(*session, i); });
  });
}

OrtStatusPtr ORT_API_CALL CreateAllocator(const OrtSession* session, const OrtMemoryInfo* mem_info,
                                          OrtAllocator** out) noexcept {
  return guard([&] {
    const Session& s = of(session);
    const OrtMemoryInfo& info = handle(mem_info, "mem_info");
    const auto device = s.devices().devices->find_allocator(info.space);
    require(device || info.space.device == DeviceType::cpu, ErrorCode::invalid_argument,
            "no provider of the session has memory '{}'", info.name);
    OrtAllocator*& to = need(out, "out");
    if (!device) s.memory()->count_results();  // the caller may ask for statistics
    to = new DeviceAllocator(device ? device : s.memory());
  });
}

OrtStatusPtr ORT_API_CALL SetEpDynamicOptions(OrtSession* sess, const char* const* keys, const char* const* values,
                                              size_t kv_len) noexcept {
  return guard([&] {
    Session& session = *session_of(sess);
    require(kv_len > 0, ErrorCode::invalid_argument, "no options were given");
    need(keys, "keys");
    need(values, "values");
    for (size_t i = 0; i < kv_len; ++i) {
      need_text(keys[i], "keys");
      need_text(values[i], "values");
    }
    session.set_dynamic_options({keys, kv_len}, {values, kv_len});
  });
}

OrtStatusPtr ORT_API_CALL SessionReleaseCapturedGraph(OrtSession* session, int graph_annotation_id) noexcept {
  return guard([&] { session_of(session)->release_capture(graph_annotation_id); });
}

}  // namespace retort::abi
