// Sessions, their options, and bindings; part of retort.hpp.
#pragma once
#include <cstddef>
#include <initializer_list>
#include <optional>

#include "value.hpp"

namespace retort::api {

class SessionOptions : public Owner<OrtSessionOptions, &OrtApi::ReleaseSessionOptions> {
 public:
  SessionOptions() { check(api().CreateSessionOptions(out())); }
  /// Threads inside an operator, the caller's included; 0: one per core.
  SessionOptions& threads(int n) { return done(api().SetIntraOpNumThreads(get(), n)); }
  /// Independent branches of the model run at the same time where that is sooner, on so many threads; 0: as many as
  /// inside an operator.
  SessionOptions& parallel(int n = 0) {
    check(api().SetSessionExecutionMode(get(), ORT_PARALLEL));
    return done(api().SetInterOpNumThreads(get(), n));
  }
  SessionOptions& optimization(GraphOptimizationLevel level) {
    return done(api().SetSessionGraphOptimizationLevel(get(), level));
  }
  SessionOptions& config(const char* key, const char* value) {
    return done(api().AddSessionConfigEntry(get(), key, value));
  }
  /// A free dimension of the model that always has this extent.
  SessionOptions& dimension(const char* name, int64_t extent) {
    return done(api().AddFreeDimensionOverrideByName(get(), name, extent));
  }
  SessionOptions& profile(const char* file_prefix) { return done(api().EnableProfiling(get(), file_prefix)); }
  SessionOptions& log_level(OrtLoggingLevel level) { return done(api().SetSessionLogSeverityLevel(get(), level)); }
  SessionOptions& save_optimized(const char* file) { return done(api().SetOptimizedModelFilePath(get(), file)); }
  /// Providers are asked in the order of the calls, the CPU last.
  SessionOptions& provider(const char* name, const std::vector<std::pair<std::string, std::string>>& options = {}) {
    std::vector<const char*> keys, values;
    for (const auto& [key, value] : options) {
      keys.push_back(key.c_str());
      values.push_back(value.c_str());
    }
    return done(api().SessionOptionsAppendExecutionProvider(get(), name, keys.data(), values.data(), keys.size()));
  }

 private:
  SessionOptions& done(OrtStatus* status) {
    check(status);
    return *this;
  }
};

class RunOptions : public Owner<OrtRunOptions, &OrtApi::ReleaseRunOptions> {
 public:
  RunOptions() { check(api().CreateRunOptions(out())); }
  RunOptions& tag(const char* text) {
    check(api().RunOptionsSetRunTag(get(), text));
    return *this;
  }
  RunOptions& config(const char* key, const char* value) {
    check(api().AddRunConfigEntry(get(), key, value));
    return *this;
  }
  /// Ends the runs that use these options, from any thread; they fail.
  void terminate() { check(api().RunOptionsSetTerminate(get())); }
  void reset() { check(api().RunOptionsUnsetTerminate(get())); }
};

/// An input or output of a model. `tensor` is empty for values that are not tensors.
struct Port {
  std::string name;
  ONNXType kind = ONNX_TYPE_UNKNOWN;
  TensorType tensor;
};

/// A value by its name in the model.
struct NamedValue {
  const char* name;
  const OrtValue* value;
};

/// A model made ready to run. May run from several threads at once. The environment must outlive it.
class Session : public Owner<OrtSession, &OrtApi::ReleaseSession> {
 public:
  Session(const Env& env, const std::filesystem::path& model, const SessionOptions& options = {}) {
    check(api().CreateSession(env, model.c_str(), options, out()));
  }
  /// From the bytes of a model; they may be freed afterwards.
  Session(const Env& env, std::span<const std::byte> model, const SessionOptions& options = {}) {
    check(api().CreateSessionFromArray(env, model.data(), model.size(), options, out()));
  }

  std::vector<Port> inputs() const {
    return ports(api().SessionGetInputCount, api().SessionGetInputName, api().SessionGetInputTypeInfo);
  }
  std::vector<Port> outputs() const {
    return ports(api().SessionGetOutputCount, api().SessionGetOutputName, api().SessionGetOutputTypeInfo);
  }

  /// The outputs of those names, each in memory of the library.
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
  /// Writes into the results that are not null, and makes the others: the caller releases those.
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

  /// A text from the metadata of the model; empty when there is none.
  std::string metadata(const char* key) const {
    OrtModelMetadata* metadata = nullptr;
    check(api().SessionGetModelMetadata(get(), &metadata));
    const Owner<OrtModelMetadata, &OrtApi::ReleaseModelMetadata> owner(metadata);
    char* text = nullptr;
    check(api().ModelMetadataLookupCustomMetadataMap(metadata, default_allocator(), key, &text));
    const Allocated<char> held(text);
    return text ? text : "";
  }

  /// Bytes that the engine has copied on its own account since the session was created: 0 as long as it works in the
  /// memory that is bound. Nothing where the engine does not tell; Retort does.
  std::optional<uint64_t> copied_bytes() const {
    if (Library::version() < 28) return std::nullopt;
    using CopiedBytes = uint64_t(ORT_API_CALL*)(const OrtSession*);
    const auto ask = reinterpret_cast<CopiedBytes>(api().GetExperimentalFunction("RetortSessionCopiedBytes"));
    return ask ? std::optional(ask(get())) : std::nullopt;
  }

  /// Ends profiling and names the file that was written.
  std::string end_profiling() {
    char* file = nullptr;
    check(api().SessionEndProfiling(get(), default_allocator(), &file));
    return Allocated<char>(file).get();
  }

 private:
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

/// Inputs and outputs bound to a session once, for many runs: inputs are read where they lie, outputs are written where
/// they are bound. Values need not outlive their binding, the memory behind them must. For one thread at a time; the
/// session must outlive it.
class IoBinding : public Owner<OrtIoBinding, &OrtApi::ReleaseIoBinding> {
 public:
  explicit IoBinding(const Session& session) : session_(session) { check(api().CreateIoBinding(session_, out())); }

  void input(const char* name, const OrtValue* value) { check(api().BindInput(get(), name, value)); }
  /// The result is written into this value; its shape must fit.
  void output(const char* name, const OrtValue* value) { check(api().BindOutput(get(), name, value)); }
  /// The library makes the result there, for outputs whose shape is not known before.
  void output(const char* name, const MemoryInfo& where) { check(api().BindOutputToDevice(get(), name, where)); }
  void clear_inputs() { api().ClearBoundInputs(get()); }
  void clear_outputs() { api().ClearBoundOutputs(get()); }

  void run(const OrtRunOptions* options = nullptr) { check(api().RunWithBinding(session_, options, get())); }

  /// The outputs in the order they were bound in; the values stay valid when others are bound.
  std::vector<Value> outputs() const {
    OrtValue** array = nullptr;
    size_t n = 0;
    check(api().GetBoundOutputValues(get(), default_allocator(), &array, &n));
    const Allocated<OrtValue*> held(array);
    std::vector<Value> values;
    for (size_t i = 0; i < n; ++i) values.emplace_back(array[i]);
    return values;
  }
  /// Waits for copies of bound values between devices.
  void synchronize_inputs() { check(api().SynchronizeBoundInputs(get())); }
  void synchronize_outputs() { check(api().SynchronizeBoundOutputs(get())); }

 private:
  OrtSession* session_;
};

}  // namespace retort::api
