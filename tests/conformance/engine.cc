#include "engine.h"

#include <dlfcn.h>

#include <array>
#include <cstring>
#include <protozero/pbf_writer.hpp>

namespace retort::conformance {
namespace {

using protozero::pbf_writer;

// The ABI numbers the narrow types in another order than onnx.
constexpr std::array kAbiToOnnx = {Elem::u2, Elem::i2, Elem::f8e8m0};
constexpr int kFirstDifferent = 24;

Elem elem_of(ONNXTensorElementDataType type) {
  return type < kFirstDifferent ? static_cast<Elem>(type) : kAbiToOnnx.at(static_cast<size_t>(type - kFirstDifferent));
}

ONNXTensorElementDataType abi_of(Elem elem) {
  for (size_t k = 0; k < kAbiToOnnx.size(); ++k)
    if (kAbiToOnnx[k] == elem) return static_cast<ONNXTensorElementDataType>(kFirstDifferent + k);
  return static_cast<ONNXTensorElementDataType>(elem);
}

std::string wrap(uint32_t tag, const std::string& contained) {  // TypeProto { tag: { elem_type: contained } }
  std::string inner, outer;
  pbf_writer(inner).add_message(1, contained);
  pbf_writer(outer).add_message(tag, inner);
  return outer;
}

std::string tensor_proto(int elem) {  // TypeProto { tensor_type: { elem_type } }
  std::string inner, outer;
  pbf_writer(inner).add_int32(1, elem);
  pbf_writer(outer).add_message(1, inner);
  return outer;
}

std::string one_node_model(const PortType& type) {
  std::string attribute, node, port, graph, opset, model;
  const bool optional = type.kind == FileKind::optional;
  pbf_writer a(attribute);
  a.add_string(1, optional ? "type" : "dtype");
  if (optional) {
    a.add_message(14, type.contained);
    a.add_int32(20, 13);  // AttributeProto.TYPE_PROTO
  } else {
    a.add_int64(3, type.elem);
    a.add_int32(20, 2);  // AttributeProto.INT
  }
  pbf_writer n(node);
  n.add_string(2, "value");
  n.add_string(4, optional ? "Optional" : "SequenceEmpty");
  n.add_message(5, attribute);
  pbf_writer p(port);
  p.add_string(1, "value");
  p.add_message(2, type.proto);
  pbf_writer g(graph);
  g.add_message(1, node);
  g.add_string(2, "one_node");
  g.add_message(12, port);
  pbf_writer(opset).add_int64(2, 15);
  pbf_writer m(model);
  m.add_int64(1, 8);
  m.add_message(7, graph);
  m.add_message(8, opset);
  return model;
}

const OrtApi* open_api(const std::string& library) {
  void* file = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!file) throw std::runtime_error(dlerror());
  const auto get = reinterpret_cast<const OrtApiBase* (*)()>(dlsym(file, "OrtGetApiBase"));
  if (!get) throw std::runtime_error(library + " has no OrtGetApiBase");
  const OrtApi* api = get()->GetApi(ORT_API_VERSION);
  if (!api) throw std::runtime_error(library + " does not support API version " + std::to_string(ORT_API_VERSION));
  return api;
}

template <typename T>
Handle<T> none(void (*release)(T*)) {
  return {nullptr, release};
}

}  // namespace

const char* code_name(OrtErrorCode code) {
  static constexpr std::array kNames = {
      "OK",        "FAIL",          "INVALID_ARGUMENT", "NO_SUCHFILE",     "NO_MODEL",      "ENGINE_ERROR",
      "EXCEPTION", "BAD_PROTOBUF",  "MODEL_LOADED",     "NOT_IMPLEMENTED", "INVALID_GRAPH", "EP_FAIL",
      "CANCELED",  "NEEDS_COMPILE", "NOT_FOUND",        "DEVICE_RESET"};
  return static_cast<size_t>(code) < kNames.size() ? kNames[static_cast<size_t>(code)] : "UNKNOWN";
}

Engine::Engine(const std::string& library, int threads, int level, const Entries& config, bool listens)
    : api_(open_api(library)),
      env_(none(api_->ReleaseEnv)),
      options_(none(api_->ReleaseSessionOptions)),
      memory_(none(api_->ReleaseMemoryInfo)) {
  env_.reset(make_env(config));
  OrtSessionOptions* options = nullptr;
  check(api_->CreateSessionOptions(&options));
  options_.reset(options);
  check(api_->SetIntraOpNumThreads(options, threads));
  check(api_->SetSessionGraphOptimizationLevel(options, static_cast<GraphOptimizationLevel>(level)));
  check(api_->SetInterOpNumThreads(options, 1));
  check(api_->SetSessionLogSeverityLevel(options, listens ? ORT_LOGGING_LEVEL_INFO : ORT_LOGGING_LEVEL_FATAL));
  const OrtLoggingFunction keep = [](void* log, OrtLoggingLevel, const char*, const char*, const char*,
                                     const char* line) {
    static_cast<std::vector<std::string>*>(log)->emplace_back(line);
  };
  if (listens) check(api_->SetUserLoggingFunction(options, keep, &log_));
  OrtMemoryInfo* memory = nullptr;
  check(api_->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &memory));
  memory_.reset(memory);
}

OrtEnv* Engine::make_env(const Entries& config) const {
  OrtEnv* env = nullptr;
  if (config.empty()) {
    check(api_->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "conformance", &env));
    return env;
  }
  OrtKeyValuePairs* entries = nullptr;
  api_->CreateKeyValuePairs(&entries);
  const Handle<OrtKeyValuePairs> owned{entries, api_->ReleaseKeyValuePairs};
  for (const auto& [key, value] : config) api_->AddKeyValuePair(entries, key.c_str(), value.c_str());
  OrtEnvCreationOptions options{};
  options.version = ORT_API_VERSION;
  options.logging_severity_level = ORT_LOGGING_LEVEL_FATAL;
  options.log_id = "conformance";
  options.config_entries = entries;
  check(api_->CreateEnvWithOptions(&options, &env));
  return env;
}

void Engine::check(OrtStatus* status) const {
  if (!status) return;
  const EngineError error(api_->GetErrorCode(status), api_->GetErrorMessage(status));
  api_->ReleaseStatus(status);
  throw error;
}

void Engine::configure(const Entries& session) {
  for (const auto& [key, value] : session)
    check(api_->AddSessionConfigEntry(options_.get(), key.c_str(), value.c_str()));
}

Handle<OrtSession> Engine::load(const std::string& path) {
  OrtSession* session = nullptr;
  check(api_->CreateSession(env_.get(), path.c_str(), options_.get(), &session));
  return {session, api_->ReleaseSession};
}

void Engine::save_optimized(const std::string& path, const std::string& to, const std::string& format) const {
  OrtSessionOptions* options = nullptr;
  check(api_->CloneSessionOptions(options_.get(), &options));
  const Handle<OrtSessionOptions> owned{options, api_->ReleaseSessionOptions};
  check(api_->SetOptimizedModelFilePath(options, to.c_str()));
  if (!format.empty()) check(api_->AddSessionConfigEntry(options, "session.save_model_format", format.c_str()));
  OrtSession* session = nullptr;
  check(api_->CreateSession(env_.get(), path.c_str(), options, &session));
  api_->ReleaseSession(session);
}

Handle<OrtSession> Engine::load_bytes(const std::string& model) {
  OrtSession* session = nullptr;
  check(api_->CreateSessionFromArray(env_.get(), model.data(), model.size(), options_.get(), &session));
  return {session, api_->ReleaseSession};
}

PortType Engine::describe(const OrtTypeInfo* info) const {
  ONNXType type = ONNX_TYPE_UNKNOWN;
  check(api_->GetOnnxTypeFromTypeInfo(info, &type));
  if (type == ONNX_TYPE_TENSOR) {
    const OrtTensorTypeAndShapeInfo* tensor = nullptr;
    check(api_->CastTypeInfoToTensorInfo(info, &tensor));
    ONNXTensorElementDataType elem = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    check(api_->GetTensorElementType(tensor, &elem));
    const int number = static_cast<int>(elem_of(elem));
    return {FileKind::tensor, tensor_proto(number), "", number};
  }
  OrtTypeInfo* contained = nullptr;
  if (type == ONNX_TYPE_SEQUENCE) {
    const OrtSequenceTypeInfo* sequence = nullptr;
    check(api_->CastTypeInfoToSequenceTypeInfo(info, &sequence));
    check(api_->GetSequenceElementType(sequence, &contained));
  } else if (type == ONNX_TYPE_OPTIONAL) {
    const OrtOptionalTypeInfo* optional = nullptr;
    check(api_->CastTypeInfoToOptionalTypeInfo(info, &optional));
    check(api_->GetOptionalContainedTypeInfo(optional, &contained));
  } else {
    throw std::runtime_error("a type that no case has: " + std::to_string(type));
  }
  const Handle<OrtTypeInfo> owner(contained, api_->ReleaseTypeInfo);
  const PortType inner = describe(contained);
  const bool sequence = type == ONNX_TYPE_SEQUENCE;
  return {sequence ? FileKind::sequence : FileKind::optional, wrap(sequence ? 4 : 9, inner.proto), inner.proto,
          inner.elem};
}

Handle<OrtValue> Engine::made_by_model(const PortType& type) {
  const Handle<OrtSession> session = load_bytes(one_node_model(type));
  OrtValue* value = nullptr;
  const char* name = "value";
  check(api_->Run(session.get(), nullptr, nullptr, nullptr, 0, &name, 1, &value));
  return {value, api_->ReleaseValue};
}

Handle<OrtValue> Engine::make_tensor(Value& v) const {
  OrtValue* out = nullptr;
  if (v.elem != Elem::string) {
    check(api_->CreateTensorWithDataAsOrtValue(memory_.get(), v.bytes.data(), v.bytes.size(), v.dims.data(),
                                               v.dims.size(), abi_of(v.elem), &out));
    return {out, api_->ReleaseValue};
  }
  OrtAllocator* allocator = nullptr;
  check(api_->GetAllocatorWithDefaultOptions(&allocator));
  check(api_->CreateTensorAsOrtValue(allocator, v.dims.data(), v.dims.size(), ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING,
                                     &out));
  Handle<OrtValue> owner(out, api_->ReleaseValue);
  std::vector<const char*> texts;
  for (const std::string& s : v.strings) texts.push_back(s.c_str());
  if (!texts.empty()) check(api_->FillStringTensor(out, texts.data(), texts.size()));
  return owner;
}

Handle<OrtValue> Engine::to_engine(Value& v, const PortType& type) {
  if (v.kind == Value::Kind::tensor) return make_tensor(v);
  if (v.kind == Value::Kind::none) return made_by_model(type);
  if (v.items.empty()) {  // CreateValue rejects an empty list
    if (type.kind == FileKind::sequence) return made_by_model(type);
    return made_by_model({FileKind::sequence, type.contained, "", type.elem});  // inside an optional
  }
  std::vector<Handle<OrtValue>> items;
  std::vector<const OrtValue*> views;
  for (Value& item : v.items) {
    items.push_back(to_engine(item, {}));
    views.push_back(items.back().get());
  }
  OrtValue* out = nullptr;
  check(api_->CreateValue(views.data(), views.size(), ONNX_TYPE_SEQUENCE, &out));
  return {out, api_->ReleaseValue};
}

Value Engine::read_tensor(const OrtValue* value) const {
  OrtTensorTypeAndShapeInfo* info = nullptr;
  check(api_->GetTensorTypeAndShape(value, &info));
  const Handle<OrtTensorTypeAndShapeInfo> owner(info, api_->ReleaseTensorTypeAndShapeInfo);
  Value v;
  ONNXTensorElementDataType elem = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  check(api_->GetTensorElementType(info, &elem));
  v.elem = elem_of(elem);
  size_t rank = 0;
  check(api_->GetDimensionsCount(info, &rank));
  v.dims.resize(rank);
  check(api_->GetDimensions(info, v.dims.data(), rank));
  if (v.elem == Elem::string) {
    size_t length = 0;
    check(api_->GetStringTensorDataLength(value, &length));
    std::string text(length, '\0');
    std::vector<size_t> starts(v.count());
    if (!starts.empty()) check(api_->GetStringTensorContent(value, text.data(), length, starts.data(), starts.size()));
    starts.push_back(length);
    for (size_t k = 0; k + 1 < starts.size(); ++k)
      v.strings.push_back(text.substr(starts[k], starts[k + 1] - starts[k]));
    return v;
  }
  void* data = nullptr;
  check(api_->GetTensorMutableData(const_cast<OrtValue*>(value), &data));
  v.bytes.resize(bytes_of(v.elem, v.count()));
  if (!v.bytes.empty()) std::memcpy(v.bytes.data(), data, v.bytes.size());
  return v;
}

Value Engine::from_engine(const OrtValue* value) const {
  Value v;
  int present = 0;
  if (value) check(api_->HasValue(value, &present));
  if (!present) {
    v.kind = Value::Kind::none;
    return v;
  }
  ONNXType type = ONNX_TYPE_UNKNOWN;
  check(api_->GetValueType(value, &type));
  if (type == ONNX_TYPE_TENSOR) return read_tensor(value);
  if (type != ONNX_TYPE_SEQUENCE) throw std::runtime_error("an output of type " + std::to_string(type));
  v.kind = Value::Kind::sequence;
  size_t count = 0;
  check(api_->GetValueCount(value, &count));
  OrtAllocator* allocator = nullptr;
  check(api_->GetAllocatorWithDefaultOptions(&allocator));
  for (size_t k = 0; k < count; ++k) {
    OrtValue* item = nullptr;
    check(api_->GetValue(value, static_cast<int>(k), allocator, &item));
    const Handle<OrtValue> owner(item, api_->ReleaseValue);
    v.items.push_back(from_engine(item));
  }
  return v;
}

Session::Session(Engine& engine, const std::string& model_path) : engine_(&engine), session_(engine.load(model_path)) {
  const OrtApi& api = engine.api();
  OrtAllocator* allocator = nullptr;
  engine.check(api.GetAllocatorWithDefaultOptions(&allocator));
  const auto list = [&](auto count_of, auto name_of, auto type_of, std::vector<Port>& ports) {
    size_t count = 0;
    engine.check(count_of(session_.get(), &count));
    for (size_t k = 0; k < count; ++k) {
      char* name = nullptr;
      engine.check(name_of(session_.get(), k, allocator, &name));
      OrtTypeInfo* info = nullptr;
      engine.check(type_of(session_.get(), k, &info));
      const Handle<OrtTypeInfo> owner(info, api.ReleaseTypeInfo);
      ports.push_back({name, engine.describe(info)});
      engine.check(api.AllocatorFree(allocator, name));
    }
  };
  list(api.SessionGetInputCount, api.SessionGetInputName, api.SessionGetInputTypeInfo, inputs_);
  list(api.SessionGetOutputCount, api.SessionGetOutputName, api.SessionGetOutputTypeInfo, outputs_);
}

std::vector<Handle<OrtValue>> Session::run(const std::vector<size_t>& ports,
                                           const std::vector<Handle<OrtValue>>& values) {
  const OrtApi& api = engine_->api();
  std::vector<const char*> in_names, out_names;
  std::vector<const OrtValue*> feeds;
  for (size_t k = 0; k < ports.size(); ++k) {
    in_names.push_back(inputs_[ports[k]].name.c_str());
    feeds.push_back(values[k].get());
  }
  for (const Port& port : outputs_) out_names.push_back(port.name.c_str());
  std::vector<OrtValue*> raw(outputs_.size());
  engine_->check(api.Run(session_.get(), nullptr, in_names.data(), feeds.data(), feeds.size(), out_names.data(),
                         out_names.size(), raw.data()));
  std::vector<Handle<OrtValue>> results;
  for (OrtValue* value : raw) results.emplace_back(value, api.ReleaseValue);
  return results;
}

}  // namespace retort::conformance
