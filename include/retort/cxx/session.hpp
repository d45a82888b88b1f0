// Sessions; part of retort.hpp.
#pragma once
#include <cstddef>
#include <future>
#include <initializer_list>
#include <map>
#include <optional>

#include "options.hpp"

namespace retort::api {

/// An input or output of a model. `tensor` is empty for values that are not tensors.
struct Port {
  std::string name;
  ONNXType kind = ONNX_TYPE_UNKNOWN;
  TensorType tensor;
};

/// A value and its name in the model.
struct NamedValue {
  const char* name;
  const OrtValue* value;
};

/// A model's metadata; texts may be empty.
struct ModelMetadata {
  std::string producer, graph, domain, description, graph_description;
  int64_t version = 0;
  std::map<std::string, std::string> custom;

  static ModelMetadata read(const OrtModelMetadata* handle) {
    ModelMetadata m;
    const auto text = [handle](auto ask) {
      char* found = nullptr;
      check(ask(handle, default_allocator(), &found));
      const Allocated<char> held(found);
      return std::string(found ? found : "");
    };
    m.producer = text(api().ModelMetadataGetProducerName);
    m.graph = text(api().ModelMetadataGetGraphName);
    m.domain = text(api().ModelMetadataGetDomain);
    m.description = text(api().ModelMetadataGetDescription);
    m.graph_description = text(api().ModelMetadataGetGraphDescription);
    check(api().ModelMetadataGetVersion(handle, &m.version));
    char** keys = nullptr;
    int64_t n = 0;
    check(api().ModelMetadataGetCustomMetadataMapKeys(handle, default_allocator(), &keys, &n));
    const Allocated<char*> held(keys);
    std::vector<Allocated<char>> names;
    for (int64_t i = 0; i < n; ++i) names.emplace_back(keys[i]);
    for (const auto& name : names) {
      char* value = nullptr;
      check(api().ModelMetadataLookupCustomMetadataMap(handle, default_allocator(), name.get(), &value));
      const Allocated<char> held_value(value);
      m.custom.emplace(name.get(), value ? value : "");
    }
    return m;
  }
};

/// A model that is ready to run. Several threads may run it at once. The environment must outlive it.
class Session : public Owner<OrtSession, &OrtApi::ReleaseSession> {
 public:
  Session(const Env& env, const std::filesystem::path& model, const SessionOptions& options = {}) {
    check(api().CreateSession(env, model.c_str(), options, out()));
  }
  /// Reads the model from bytes, which may be freed afterwards.
  Session(const Env& env, std::span<const std::byte> model, const SessionOptions& options = {}) {
    check(api().CreateSessionFromArray(env, model.data(), model.size(), options, out()));
  }

  /// Takes a model of the model editor, which may be released afterwards; since 1.22.
  Session(const Env& env, const OrtModel* model, const SessionOptions& options = {}) {
    Library::need(22, "a session of an edited model");
    check(api().GetModelEditorApi()->CreateSessionFromModel(env, model, options, out()));
  }
  /// Takes ownership of a session that the C interface created.
  explicit Session(OrtSession* handle) noexcept : Owner(handle) {}

  std::vector<Port> inputs() const {
    return ports(api().SessionGetInputCount, api().SessionGetInputName, api().SessionGetInputTypeInfo);
  }
  std::vector<Port> outputs() const {
    return ports(api().SessionGetOutputCount, api().SessionGetOutputName, api().SessionGetOutputTypeInfo);
  }

  /// Computes the outputs with these names, each in memory of the library.
  std::vector<Value> run(std::span<const NamedValue> inputs, std::span<const char* const> outputs,
                         const OrtRunOptions* options = nullptr) {
    std::vector<OrtValue*> results(outputs.size());
    run_into(inputs, outputs, results, options);
    std::vector<Value> values;
    for (OrtValue* result : results) values.emplace_back(result);
    return values;
  }
  std::vector<Value> run(std::initializer_list<NamedValue> inputs, std::initializer_list<const char*> outputs,
                         const OrtRunOptions* options = nullptr) {
    return run(std::span(inputs.begin(), inputs.size()), std::span(outputs.begin(), outputs.size()), options);
  }
  /// Writes into the results that are not null. Creates the others, which the caller releases.
  void run_into(std::span<const NamedValue> inputs, std::span<const char* const> outputs, std::span<OrtValue*> results,
                const OrtRunOptions* options = nullptr) {
    if (results.size() != outputs.size()) throw Error(ORT_INVALID_ARGUMENT, "each output needs one result");
    std::vector<const char*> names;
    std::vector<const OrtValue*> values;
    for (const NamedValue& input : inputs) {
      names.push_back(input.name);
      values.push_back(input.value);
    }
    check(api().Run(get(), options, names.data(), values.data(), values.size(), outputs.data(), outputs.size(),
                    results.data()));
  }

  /// A text from the model's metadata; empty if it has none under that key.
  std::string metadata(const char* key) const {
    const ModelMetadata all = metadata();
    const auto found = all.custom.find(key);
    return found == all.custom.end() ? "" : found->second;
  }
  /// All metadata.
  ModelMetadata metadata() const {
    OrtModelMetadata* handle = nullptr;
    check(api().SessionGetModelMetadata(get(), &handle));
    const Owner<OrtModelMetadata, &OrtApi::ReleaseModelMetadata> owner(handle);
    return ModelMetadata::read(handle);
  }

  /// The memory in which the model reads its inputs and writes its outputs if nothing is to be copied, in the order of
  /// inputs() and outputs(). Views that live as long as the session. Since 1.23.
  std::vector<MemoryView> input_memory() const {
    Library::need(23, "the memory of inputs");
    return views<MemoryView, const OrtMemoryInfo*>(api().SessionGetInputCount, api().SessionGetMemoryInfoForInputs);
  }
  std::vector<MemoryView> output_memory() const {
    Library::need(23, "the memory of outputs");
    return views<MemoryView, const OrtMemoryInfo*>(api().SessionGetOutputCount, api().SessionGetMemoryInfoForOutputs);
  }
  /// The devices of these memories; empty for a provider without devices. Since 1.23 (inputs) and 1.24 (outputs).
  std::vector<EpDevice> input_devices() const {
    Library::need(23, "the devices of inputs");
    return views<EpDevice, const OrtEpDevice*>(api().SessionGetInputCount, api().SessionGetEpDeviceForInputs);
  }
  std::vector<EpDevice> output_devices() const {
    Library::need(24, "the devices of outputs");
    return views<EpDevice, const OrtEpDevice*>(api().SessionGetOutputCount, api().SessionGetEpDeviceForOutputs);
  }

  /// Bytes that the engine has copied by itself since the session was created: 0 as long as it works in the bound
  /// memory. Empty if the engine does not count them; Retort does.
  std::optional<uint64_t> copied_bytes() const {
    if (Library::version() < 28) return std::nullopt;
    using CopiedBytes = uint64_t(ORT_API_CALL*)(const OrtSession*);
    const auto ask = reinterpret_cast<CopiedBytes>(api().GetExperimentalFunction("RetortSessionCopiedBytes"));
    return ask ? std::optional(ask(get())) : std::nullopt;
  }

  /// Runs on a thread of the library, which must have more than one; the future receives the outputs or the error. The
  /// values of the inputs, the options and the session must live until then. Since 1.16.
  std::future<std::vector<Value>> run_async(std::span<const NamedValue> inputs, std::span<const char* const> outputs,
                                            const OrtRunOptions* options = nullptr) {
    Library::need(16, "a run on a thread of the library");
    auto run = std::make_unique<AsyncRun>(inputs, outputs);
    std::future<std::vector<Value>> results = run->promise.get_future();
    AsyncRun& r = *run;
    check(api().RunAsync(get(), options, r.inputs.data(), r.values.data(), r.values.size(), r.outputs.data(),
                         r.outputs.size(), r.results.data(), AsyncRun::done, &r));
    run.release();  // done() owns it now
    return results;
  }

  /// Ends profiling and returns the path of the written file.
  std::string end_profiling() {
    char* file = nullptr;
    check(api().SessionEndProfiling(get(), default_allocator(), &file));
    return Allocated<char>(file).get();
  }

 private:
  /// What a run on another thread needs until it ends.
  struct AsyncRun {
    AsyncRun(std::span<const NamedValue> in, std::span<const char* const> out) : results(out.size()) {
      names.reserve(in.size() + out.size());  // the array must not move: pointers to its elements are taken
      for (const NamedValue& input : in) {
        inputs.push_back(names.emplace_back(input.name).c_str());
        values.push_back(input.value);
      }
      for (const char* name : out) outputs.push_back(names.emplace_back(name).c_str());
    }
    static void ORT_API_CALL done(void* user, OrtValue** results, size_t n, OrtStatus* status) noexcept {
      const std::unique_ptr<AsyncRun> run(static_cast<AsyncRun*>(user));
      try {
        check(status);
        std::vector<Value> values;
        for (size_t i = 0; i < n; ++i) values.emplace_back(results[i]);
        run->promise.set_value(std::move(values));
      } catch (...) {
        run->promise.set_exception(std::current_exception());
      }
    }

    std::vector<std::string> names;
    std::vector<const char*> inputs, outputs;
    std::vector<const OrtValue*> values;
    std::vector<OrtValue*> results;
    std::promise<std::vector<Value>> promise;
  };

  template <typename View, typename Handle, typename Count, typename Fill>
  std::vector<View> views(Count count, Fill fill) const {
    size_t n = 0;
    check(count(get(), &n));
    std::vector<Handle> all(n);
    if (n) check(fill(get(), all.data(), n));
    std::vector<View> found;
    for (Handle handle : all) found.emplace_back(handle);
    return found;
  }

  template <typename Count, typename Name, typename Type>
  std::vector<Port> ports(Count count, Name name, Type type) const {
    size_t n = 0;
    check(count(get(), &n));
    std::vector<Port> all(n);
    for (size_t i = 0; i < n; ++i) {
      char* text = nullptr;
      check(name(get(), i, default_allocator(), &text));
      all[i].name = Allocated<char>(text).get();
      OrtTypeInfo* info = nullptr;
      check(type(get(), i, &info));
      const Owner<OrtTypeInfo, &OrtApi::ReleaseTypeInfo> owner(info);
      check(api().GetOnnxTypeFromTypeInfo(info, &all[i].kind));
      const OrtTensorTypeAndShapeInfo* tensor = nullptr;
      check(api().CastTypeInfoToTensorInfo(info, &tensor));
      if (tensor) all[i].tensor = TensorType::read(tensor);
    }
    return all;
  }
};

/// An allocator of a session for the memory `where`, for example a device's. What it allocates may be used as long as
/// it lives. Fails if the session does not use that memory. Thread-safe; the session must outlive it.
class SessionAllocator : public Owner<OrtAllocator, &OrtApi::ReleaseAllocator> {
 public:
  SessionAllocator(const Session& session, const OrtMemoryInfo* where) {
    check(api().CreateAllocator(session, where, out()));
  }
};

}  // namespace retort::api
