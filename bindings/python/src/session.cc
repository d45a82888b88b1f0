#include "session.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "gil_lock.h"
#include "interrupt.h"
#include "numpy.h"
#include "provider_choice.h"
#include "value.h"

namespace nb = nanobind;

namespace retort::python {
namespace {

constexpr const char* kDisabled = "optimization.disable_specified_optimizers";

// Options that converters store in the metadata of models: {"session_options": {"intra_op_num_threads": 2, ...}}.
void apply_model_config(const std::string& json, SessionOptions& options) {
  nb::dict config = nb::cast<nb::dict>(nb::module_::import_("json").attr("loads")(json));
  if (!config.contains("session_options")) {
    return;
  }
  for (auto [key, value] : nb::cast<nb::dict>(config["session_options"])) {
    const std::string name = nb::cast<std::string>(key);
    const int number = nb::cast<int>(nb::int_(value));
    SessionSettings& s = options.settings;
    if (name == "intra_op_num_threads") {
      s.intra_threads = number;
    } else if (name == "inter_op_num_threads") {
      s.inter_threads = number;
    } else if (name == "execution_mode") {
      s.mode = static_cast<ExecutionMode>(number);
    } else if (name == "graph_optimization_level") {
      s.level = static_cast<GraphOptimizationLevel>(number);
    } else if (name == "enable_profiling") {
      s.profiling = number != 0;
    } else {
      throw Error(ORT_INVALID_ARGUMENT, "ort_config of the model: session option '" + name + "' does not exist");
    }
  }
}

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    names.push_back(name);
  }
}

std::vector<std::string> told_providers(const OrtSession* session) {
  const auto ask =
      reinterpret_cast<RetortSessionProviders>(get_retort_function("RetortSessionProviders", "get_providers()"));
  OrtAllocator* allocator = default_allocator();
  char* json = nullptr;
  check(ask(session, allocator, &json));
  return nb::cast<std::vector<std::string>>(nb::module_::import_("json").attr("loads")(take_text(allocator, json)));
}

std::vector<std::string> owners_of(const OrtSession* session, size_t inputs) {
  std::vector<const OrtEpDevice*> devices(inputs);
  if (!devices.empty()) {
    check(api().SessionGetEpDeviceForInputs(session, devices.data(), devices.size()));
  }
  std::vector<std::string> names;
  for (const OrtEpDevice* device : devices) {
    if (device) {
      names.emplace_back(api().EpDevice_EpName(device));
    }
  }
  return names;
}

}  // namespace

Session::Session(const SessionOptions& options, nb::object model, bool is_path, bool config_from_model)
    : options_(options), model_(std::move(model)), is_path_(is_path), config_from_model_(config_from_model) {
  if (is_path_ ? !PyUnicode_Check(model_.ptr()) : !PyBytes_Check(model_.ptr())) {
    throw nb::type_error(is_path_ ? "InferenceSession: the path must be a str"
                                  : "InferenceSession: the model must be bytes");
  }
}

Session::Session(Owned<OrtSession> handle, const SessionOptions& options)
    : options_(options), handle_(std::move(handle)) {
  describe();
  list_providers(options_.providers());
}

Session::~Session() {
  // Threads of the session may need the GIL to end.
  const WithoutGil release;
  allocators_.clear();
  handle_.reset();
}

void Session::not_initialized() { throw Error(ORT_FAIL, "InferenceSession: call initialize_session() first"); }

Owned<OrtSession> Session::create(OrtSessionOptions* handle) const {
  OrtEnv& environment = env();
  OrtSession* session = nullptr;
  OrtStatus* status = nullptr;
  Py_ssize_t length = 0;
  const char* path = is_path_ ? PyUnicode_AsUTF8AndSize(model_.ptr(), &length) : nullptr;
  if (is_path_ && !path) {
    nb::raise_python_error();
  }
  const char* bytes = is_path_ ? nullptr : PyBytes_AsString(model_.ptr());
  const auto size = static_cast<size_t>(is_path_ ? 0 : PyBytes_Size(model_.ptr()));
  Interruptible call(handle);
  do {
    const WithoutGil release;
    status = path ? api().CreateSession(&environment, path, handle, &session)
                  : api().CreateSessionFromArray(&environment, bytes, size, handle, &session);
  } while (call.repeat(status));
  check(status);
  return Owned<OrtSession>(session);
}

void Session::initialize(const std::vector<std::string>& providers, const std::vector<Pairs>& provider_options,
                         nb::iterable disabled) {
  if (handle_) {
    throw Error(ORT_MODEL_LOADED, "initialize_session(): the session is initialized already");
  }
  std::string names;
  for (nb::handle name : disabled) {
    names.append(names.empty() ? "" : ",").append(nb::cast<std::string>(name));
  }
  if (!names.empty()) {
    options_.add_config_entry(kDisabled, names);
  }
  if (config_from_model_) {
    SessionOptions plain;  // a session only for the metadata
    plain.settings.level = ORT_DISABLE_ALL;
    const ModelMetadata metadata = metadata_of(create(plain.build().get()).get());
    if (const auto found = metadata.custom.find("ort_config"); found != metadata.custom.end()) {
      apply_model_config(found->second, options_);
    }
  }
  std::vector<ProviderRequest> requests;
  for (size_t i = 0; i < providers.size(); ++i) {
    requests.push_back({providers[i], {}, i < provider_options.size() ? provider_options[i] : Pairs{}});
  }
  const bool from_options = requests.empty();
  const Owned<OrtSessionOptions> handle = options_.build(from_options);
  for (const ProviderRequest& request : requests) {
    append_provider(handle.get(), request);
  }
  handle_ = create(handle.get());
  describe();
  list_providers(from_options ? options_.providers() : requests);
  const bool read_later = options_.config_on("session.use_ort_model_bytes_directly") ||
                          options_.config_on("session.use_model_bytes_directly");
  if (!read_later) {
    model_ = nb::object();
  }
}

void Session::describe() {
  inputs_ = Ports(get(), Ports::Of::kInputs);
  outputs_ = Ports(get(), Ports::Of::kOutputs);
  initializers_ = Ports(get(), Ports::Of::kInitializers);
  plain_outputs_ = are_outputs_plain();
}

bool Session::are_outputs_plain() const {
  constexpr uint32_t kTensorReference = 24;  // the version that has GetTensorElementTypeAndShapeDataReference
  if (api_version() < kTensorReference || outputs_.size() == 0) {
    return false;
  }
  std::vector<const OrtMemoryInfo*> places(outputs_.size());
  check(api().SessionGetMemoryInfoForOutputs(get(), places.data(), places.size()));
  return std::all_of(outputs_.begin(), outputs_.end(),
                     [](const Port& port) { return port.type.kind == ONNX_TYPE_TENSOR; }) &&
         std::all_of(places.begin(), places.end(),
                     [](const OrtMemoryInfo* place) { return place && device_of(place).is_host(); });
}

// The C interface does not list the providers of a session. They are what was asked for, as far as the engine has it.
// If the engine chose by itself, Retort tells; of the official library, only the owners of the inputs are known.
void Session::list_providers(const std::vector<ProviderRequest>& requests) {
  const std::vector<std::string> built_in = available_providers();
  for (const ProviderRequest& request : requests) {
    const bool exists = !request.devices.empty() || !devices_of(request.name).empty() ||
                        std::find(built_in.begin(), built_in.end(), request.name) != built_in.end();
    if (exists) {
      add_once(providers_, request.name);
      provider_options_[request.name] = request.name == kCpuProvider ? Pairs{} : request.options;
    }
  }
  if (requests.empty() && options_.chooses_devices()) {
    for (const std::string& name : is_retort() ? told_providers(get()) : owners_of(get(), inputs_.size())) {
      add_once(providers_, name);
    }
  }
  add_once(providers_, kCpuProvider);
  for (const std::string& name : providers_) {
    provider_options_.try_emplace(name);
  }
}

void Session::count_copy(nb::handle array, const Port& port) const {
  ArrayView view;
  read_array(array.ptr(), view);
  if (view.element == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING || view.element == ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED) {
    return;  // strings always are, and others are refused
  }
  if (options_.config_on("session.disallow_implicit_copies")) {
    throw Error(ORT_INVALID_ARGUMENT,
                std::string(port.what) +
                    ": the array is not contiguous, aligned and in native byte order, and would have to be copied, "
                    "which session.disallow_implicit_copies forbids; give numpy.ascontiguousarray(array)");
  }
  const nb::ft_lock_guard lock(copies_mutex_);
  ArrayCopies& copies = copies_[port.name];
  copies.bytes += element_bytes(view.element, view.count);
  ++copies.times;
}

std::map<std::string, Session::ArrayCopies> Session::array_copies() const {
  const nb::ft_lock_guard lock(copies_mutex_);
  return copies_;
}

OrtAllocator* Session::allocator_for(const Device& device) {
  const nb::ft_lock_guard lock(allocators_mutex_);
  for (const auto& [known, allocator] : allocators_) {
    if (known == device) {
      return allocator.get();
    }
  }
  const Owned<OrtMemoryInfo> info = memory_info_of(device);
  allocators_.emplace_back(device, made<OrtAllocator>(api().CreateAllocator, get(), info.get()));
  return allocators_.back().second.get();
}

}  // namespace retort::python
