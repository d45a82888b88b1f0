// An engine's library, used through its C ABI. The tool opens libraries by path, so that two engines run side by side
// in one process.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "retort/onnxruntime_c_api.h"

namespace retort::cli {

/// A message for the user; the program's exit code is 1.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <typename T>
using Handle = std::unique_ptr<T, std::function<void(T*)>>;

struct PortInfo {
  std::string name;
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;  ///< undefined: not a tensor
  std::vector<int64_t> shape;                                                ///< -1: symbolic
  std::vector<std::string> symbols;                                          ///< per extent; "" if known or unnamed
  bool ranked = false;                                                       ///< whether the rank is known
  ONNXType kind = ONNX_TYPE_TENSOR;
};

/// Data in host memory, independent of an engine.
struct HostTensor {
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes = {};
  std::vector<std::string> strings = {};  ///< for tensors of strings, in place of bytes
  /// Both throw Failure if the extents are negative or overflow.
  size_t count() const;
  /// Bytes of the elements, 0 for strings. Elements of 4 and 2 bits are packed, the first in the low bits.
  size_t size() const;
};

/// An input or output of any kind.
struct HostValue {
  enum class Kind { tensor, sequence, map, none, other };
  Kind kind = Kind::none;             ///< none: an optional value that is absent
  HostTensor tensor = {};             ///< of a tensor
  std::vector<HostValue> items = {};  ///< of a sequence; the keys and the values of a map
  bool guessed = false;               ///< random, with assumed extents
};

/// Values by name.
using HostValues = std::map<std::string, HostValue>;

struct SessionSettings {
  int threads = 1;
  bool parallel = false;  ///< independent branches run at the same time, on this many threads
  int optimization = ORT_ENABLE_ALL;
  std::string profile;    ///< prefix of the profile; "": no profile
  std::string optimized;  ///< file for the optimised model; "": not saved
  /// In the order in which they choose nodes; the CPU follows.
  std::vector<std::pair<std::string, std::map<std::string, std::string>>> providers;
  std::vector<std::pair<std::string, std::string>>
      plugins;  ///< name and file; if no providers are given, all of theirs are used
  std::map<std::string, std::string> config;
  std::vector<std::string> disabled;  ///< passes and rules to leave out; Retort has to know their names
  bool warns = false;                 ///< whether warnings of the engine go to standard error
};

class EngineLibrary;

/// A model that one engine has loaded. Not thread-safe.
class EngineSession {
 public:
  EngineSession(const EngineLibrary& engine, const std::string& model, const SessionSettings& settings);
  /// Loads a model from bytes; its external data lies in `folder`.
  EngineSession(const EngineLibrary& engine, const std::string& bytes, const std::string& folder,
                SessionSettings settings);
  const std::vector<PortInfo>& inputs() const { return inputs_; }
  const std::vector<PortInfo>& outputs() const { return outputs_; }
  OrtSession* handle() const { return session_.get(); }
  const EngineLibrary& engine() const { return *engine_; }
  std::map<std::string, std::string> metadata() const;
  std::string end_profiling();
  /// Bytes that the engine has copied by itself so far; empty if it does not count them.
  std::optional<uint64_t> copied_bytes() const;
  /// The copies so far, as RetortSessionCopies lists them; "" if the engine does not.
  std::string copies() const;

 private:
  Handle<OrtSessionOptions> options(const SessionSettings& settings) const;
  /// Throws Failure for the name of a pass that Retort does not have.
  void disable(OrtSessionOptions* options, const SessionSettings& settings) const;
  void add_provider(OrtSessionOptions* options, const std::string& name,
                    const std::map<std::string, std::string>& entries) const;
  void add_providers(OrtSessionOptions* options, const SessionSettings& settings) const;
  void read_ports();
  std::vector<PortInfo> ports(bool outputs) const;
  const EngineLibrary* engine_;
  Handle<OrtSession> session_;
  std::vector<PortInfo> inputs_, outputs_;
};

/// Runs with bound inputs, used in place, and outputs that the engine allocates once and reuses.
class BoundRun {
 public:
  /// `inputs` must outlive the object.
  BoundRun(EngineSession& session, HostValues& inputs);
  void run();
  /// The outputs of the last run.
  HostValues values() const;
  /// Binds the tensors of the last run as the outputs of the next runs, so that nothing is allocated any more for them.
  void keep_outputs();
  /// Makes the engine allocate all outputs again in the next run, since their shapes may change.
  void forget_outputs();
  /// The outputs of the last run, in the engine's memory and the session's order.
  std::vector<Handle<OrtValue>> outputs() const;
  /// Binds `value` to the input `name`; its memory must outlive the run.
  void give(const std::string& name, OrtValue* value);
  void give(const std::string& name, HostValue& value);

 private:
  EngineSession& session_;
  std::string advice_;  ///< added to the message of a run that fails
  Handle<OrtMemoryInfo> memory_;
  std::vector<Handle<OrtValue>> values_;
  Handle<OrtIoBinding> binding_;
  /// Outputs whose rank is not the one that the model declares: engines allow that, but refuse such a value as an output,
  /// even their own of the run before.
  std::vector<const char*> unkept_;
};

/// Configuration entries for the environments of all engines (one per engine in a process); set them before the first
/// engine is opened.
std::map<std::string, std::string>& environment_config();

class EngineLibrary {
 public:
  /// Opens the library and makes its environment, with environment_config() if `devices`. Throws Failure, also for an
  /// engine that does not know those entries.
  explicit EngineLibrary(const std::string& path, bool devices = true);
  const OrtApi& api() const { return *api_; }
  OrtEnv* env() const { return env_.get(); }
  void check(OrtStatus* status) const;
  /// For example "Retort 0.1.0" or "ONNX Runtime 1.32.0".
  std::string name() const;
  bool is_retort() const { return name().starts_with("Retort "); }
  /// The version of the interface, at most ORT_API_VERSION; do not call newer functions.
  uint32_t api_version() const { return api_version_; }
  std::vector<std::string> providers() const;
  /// Registers a plug-in; a relative path means the folder of the caller.
  void register_plugin(const std::string& name, const std::string& file) const;
  /// Loads a plug-in, once, and returns the names of its providers.
  std::vector<std::string> load_plugin(const std::string& name, const std::string& file) const;
  /// The names of all plug-ins' providers, for messages.
  std::string plugin_providers() const;
  /// The devices of a provider; empty if it is not a plug-in's.
  std::vector<const OrtEpDevice*> plugin_devices(const std::string& provider) const;
  /// A function of retort_tools.h or session.hpp; null if the library does not have it.
  template <typename Function>
  Function find(const char* name) const {
    return reinterpret_cast<Function>(experimental(name));
  }
  /// The text that `fill(allocator, &text)` returns.
  std::string text(const std::function<OrtStatus*(OrtAllocator*, char**)>& fill) const;
  template <typename T>
  Handle<T> own(T* pointer, void (*release)(T*)) const {
    return Handle<T>(pointer, release);
  }

 private:
  OrtExperimentalFnPtr experimental(const char* name) const;
  const OrtApi* api_ = nullptr;
  uint32_t api_version_ = 0;
  std::string version_;
  Handle<OrtEnv> env_;
  mutable std::map<std::string, std::vector<std::string>> plugins_;  ///< the providers of each
};

/// The path of libretort.so.1 beside this program.
std::string installed_library();
/// The library to use: `given`, otherwise RETORT_LIBRARY, otherwise installed_library().
std::string default_library(const std::string& given);
/// The instruction level to which RETORT_ISA limits Retort, and no other engine; "" if it is not set.
std::string chosen_level();
const char* type_name(ONNXTensorElementDataType type);
/// Bits of an element; 0 for strings.
size_t type_bits(ONNXTensorElementDataType type);
/// Bytes of an element; 0 for strings and if several elements share a byte.
inline size_t type_bytes(ONNXTensorElementDataType type) { return type_bits(type) / 8; }
HostValue read_value(const EngineLibrary& engine, OrtValue* value);
std::string shape_text(const PortInfo& port);

}  // namespace retort::cli
