// One engine library behind the C ABI. The tool opens libraries by path, so that two engines run side by side in one
// process.
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

/// What the user is told; the exit code is 1.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <typename T>
using Handle = std::unique_ptr<T, std::function<void(T*)>>;

struct PortInfo {
  std::string name;
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;  ///< undefined: no tensor
  std::vector<int64_t> shape;                                                ///< -1: symbolic
  std::vector<std::string> symbols;                                          ///< per extent; "" when known or unnamed
  bool ranked = false;                                                       ///< whether the shape is known to be that
  ONNXType kind = ONNX_TYPE_TENSOR;
};

/// Host data in an engine-neutral form.
struct HostTensor {
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes = {};
  std::vector<std::string> strings = {};  ///< in place of bytes, for tensors of strings
  /// Both throw Failure when the extents make no size.
  size_t count() const;
  /// Bytes that the elements take: those of 4 and 2 bits are packed, the first in the low bits; 0 for strings.
  size_t size() const;
};

/// An input or output of any kind.
struct HostValue {
  enum class Kind { tensor, sequence, map, none, other };
  Kind kind = Kind::none;             ///< none: an optional one without a value
  HostTensor tensor = {};             ///< of a tensor
  std::vector<HostValue> items = {};  ///< of a sequence; the keys and the values of a map
  bool guessed = false;               ///< random, with extents that nobody gave
};

/// By name.
using HostValues = std::map<std::string, HostValue>;

struct SessionSettings {
  int threads = 1;
  bool parallel = false;  ///< independent branches at the same time, on as many threads
  int optimization = ORT_ENABLE_ALL;
  std::string profile;    ///< prefix of the profile; "": off
  std::string optimized;  ///< file for the optimised model; "": not saved
  std::vector<std::pair<std::string, std::map<std::string, std::string>>> providers;  ///< asked first to last, then CPU
  std::vector<std::pair<std::string, std::string>>
      plugins;  ///< name and file; without providers all of theirs are asked
  std::map<std::string, std::string> config;
  bool warns = false;  ///< what the engine warns of goes to standard error
};

class EngineLibrary;

/// A model loaded in one engine. Not thread-safe.
class EngineSession {
 public:
  EngineSession(const EngineLibrary& engine, const std::string& model, const SessionSettings& settings);
  /// From the bytes of a model, whose external data lies in `folder`.
  EngineSession(const EngineLibrary& engine, const std::string& bytes, const std::string& folder,
                SessionSettings settings);
  const std::vector<PortInfo>& inputs() const { return inputs_; }
  const std::vector<PortInfo>& outputs() const { return outputs_; }
  OrtSession* handle() const { return session_.get(); }
  const EngineLibrary& engine() const { return *engine_; }
  std::map<std::string, std::string> metadata() const;
  std::string end_profiling();
  /// Bytes that the engine has copied on its own account so far; nothing where it does not tell.
  std::optional<uint64_t> copied_bytes() const;
  /// What was copied so far, as RetortSessionCopies says; empty text where the engine does not tell.
  std::string copies() const;

 private:
  Handle<OrtSessionOptions> options(const SessionSettings& settings) const;
  void add_provider(OrtSessionOptions* options, const std::string& name,
                    const std::map<std::string, std::string>& entries) const;
  void add_providers(OrtSessionOptions* options, const SessionSettings& settings) const;
  void read_ports();
  std::vector<PortInfo> ports(bool outputs) const;
  const EngineLibrary* engine_;
  Handle<OrtSession> session_;
  std::vector<PortInfo> inputs_, outputs_;
};

/// Inputs bound where they lie, outputs allocated by the engine once and used again.
class BoundRun {
 public:
  /// `inputs` must outlive the object.
  BoundRun(EngineSession& session, HostValues& inputs);
  void run();
  /// The outputs of the last run.
  HostValues values() const;
  /// Binds the tensors of the last run as the outputs of the next ones, so that nothing is allocated any more.
  void keep_outputs();
  /// The engine makes all outputs anew in the next run: their shapes may be others.
  void forget_outputs();
  /// The outputs of the last run where the engine has them, in the order of the session's.
  std::vector<Handle<OrtValue>> outputs() const;
  /// Input `name` of the next run, in place of what was bound; the memory of `value` must stay.
  void give(const std::string& name, OrtValue* value);
  void give(const std::string& name, HostValue& value);

 private:
  EngineSession& session_;
  std::string advice_;  ///< for runs that fail
  Handle<OrtMemoryInfo> memory_;
  std::vector<Handle<OrtValue>> values_;
  Handle<OrtIoBinding> binding_;
};

/// Entries for the environments of all engines, of which a process has one each: set before the first is opened.
std::map<std::string, std::string>& environment_config();

class EngineLibrary {
 public:
  /// Opens the library and makes its environment. Throws Failure.
  explicit EngineLibrary(const std::string& path);
  const OrtApi& api() const { return *api_; }
  OrtEnv* env() const { return env_.get(); }
  void check(OrtStatus* status) const;
  /// "Retort 0.1.0", "ONNX Runtime 1.31.1".
  std::string name() const;
  /// The version of the interface, at most ORT_API_VERSION: functions that are newer are not there.
  uint32_t api_version() const { return api_version_; }
  std::vector<std::string> providers() const;
  /// Loads a plug-in, once; answers the names of the providers that it brought.
  std::vector<std::string> load_plugin(const std::string& name, const std::string& file) const;
  /// Those of all plug-ins, for messages.
  std::string plugin_providers() const;
  /// The devices of a provider; none where it is no plug-in's.
  std::vector<const OrtEpDevice*> plugin_devices(const std::string& provider) const;
  /// One of the functions of retort_tools.h and session.hpp; null where the library has none of that name.
  template <typename Function>
  Function find(const char* name) const {
    return reinterpret_cast<Function>(experimental(name));
  }
  /// The text that `fill(allocator, &text)` makes.
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

/// libretort.so.1 beside this program.
std::string installed_library();
/// The library to use: `given`, else RETORT_LIBRARY, else installed_library().
std::string default_library(const std::string& given);
const char* type_name(ONNXTensorElementDataType type);
/// Of an element; 0 for strings.
size_t type_bits(ONNXTensorElementDataType type);
/// Of an element; 0 for strings and where several share a byte.
inline size_t type_bytes(ONNXTensorElementDataType type) { return type_bits(type) / 8; }
HostValue read_value(const EngineLibrary& engine, OrtValue* value);
std::string shape_text(const PortInfo& port);

}  // namespace retort::cli
