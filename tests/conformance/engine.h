// An engine's library, opened by path and used through the C ABI, and the conversion of test values. Not thread-safe.
#pragma once
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "retort/onnxruntime_c_api.h"
#include "value.h"

namespace retort::conformance {

/// A status of the engine, as an exception.
class EngineError : public std::runtime_error {
 public:
  EngineError(OrtErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  OrtErrorCode code() const { return code_; }

 private:
  OrtErrorCode code_;
};

/// The name of an error code without its prefix, for example "INVALID_GRAPH".
const char* code_name(OrtErrorCode code);

template <typename T>
using Handle = std::unique_ptr<T, void (*)(T*)>;

/// The type of an input or output: how to read its file, and how to make values that no C call makes.
struct PortType {
  FileKind kind = FileKind::tensor;
  std::string proto;      // TypeProto
  std::string contained;  // TypeProto inside a sequence or an optional
  int elem = 0;           // TensorProto.DataType at the innermost level
};

struct Port {
  std::string name;
  PortType type;
};

using Entries = std::vector<std::pair<std::string, std::string>>;

/// A plug-in provider with priority over the CPU.
struct ProviderChoice {
  std::string library, name;
  Entries options;
};

class Engine;

/// A loaded model. Keeps a pointer to its engine, which must outlive it.
class Session {
 public:
  Session(Engine& engine, const std::string& model_path);
  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }
  /// The number of nodes that the chosen provider runs.
  size_t claimed() const;
  /// Passes the k-th value to input ports[k] and returns all outputs, in model order.
  std::vector<Handle<OrtValue>> run(const std::vector<size_t>& ports, const std::vector<Handle<OrtValue>>& values);

 private:
  Engine* engine_;
  Handle<OrtSession> session_;
  std::vector<Port> inputs_, outputs_;
};

class Engine {
 public:
  /// Opens the library. `threads` is the size of the intra-op pool, `level` a GraphOptimizationLevel, `config` entries
  /// of the environment. If it listens, it keeps log messages of its sessions from INFO up. Throws std::runtime_error.
  Engine(const std::string& library, int threads, int level = ORT_ENABLE_ALL, const Entries& config = {},
         bool listens = false);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Sets configuration entries and a provider for later sessions.
  void configure(const Entries& session);
  void use_provider(const ProviderChoice& choice);
  size_t claimed(const OrtSession* session) const;
  /// The log lines since the last call that contain a text, as one line.
  std::string heard(const std::string& text);

  const OrtApi& api() const { return *api_; }
  void check(OrtStatus* status) const;  // throws EngineError

  /// Tensors point into `value`, which must outlive the result.
  Handle<OrtValue> to_engine(Value& value, const PortType& type);
  Value from_engine(const OrtValue* value) const;

  Handle<OrtSession> load(const std::string& path);
  /// Loads a model and saves the engine's optimised model to the file `to`; format "ORT", or "" for ONNX.
  void save_optimized(const std::string& path, const std::string& to, const std::string& format) const;
  Handle<OrtSession> load_bytes(const std::string& model);
  PortType describe(const OrtTypeInfo* info) const;

 private:
  OrtEnv* make_env(const Entries& config) const;
  Handle<OrtValue> make_tensor(Value& value) const;
  Value read_tensor(const OrtValue* value) const;
  /// The single output of a model with one node and no inputs: an empty sequence, or an optional without a value.
  Handle<OrtValue> made_by_model(const PortType& type);

  const OrtApi* api_;
  std::vector<std::string> log_;
  Handle<OrtEnv> env_;
  Handle<OrtSessionOptions> options_;
  Handle<OrtMemoryInfo> memory_;
  std::string provider_;
};

}  // namespace retort::conformance
