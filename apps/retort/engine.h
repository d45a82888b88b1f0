// One engine library behind the C ABI. The tool opens libraries by path, so that two engines run side by side in one
// process.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
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
  bool ranked = true;
};

/// Host data in an engine-neutral form; strings are not supported here.
struct HostTensor {
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;
  size_t count() const;
};

struct SessionSettings {
  int threads = 1;
  int optimization = ORT_ENABLE_ALL;
  std::string profile;  ///< prefix of the profile; "": off
  std::map<std::string, std::string> config;
};

class EngineLibrary;

/// A model loaded in one engine. Not thread-safe.
class EngineSession {
 public:
  EngineSession(const EngineLibrary& engine, const std::string& model, const SessionSettings& settings);
  const std::vector<PortInfo>& inputs() const { return inputs_; }
  const std::vector<PortInfo>& outputs() const { return outputs_; }
  OrtSession* handle() const { return session_.get(); }
  const EngineLibrary& engine() const { return *engine_; }
  std::map<std::string, std::string> metadata() const;
  std::string end_profiling();

 private:
  std::vector<PortInfo> ports(bool outputs) const;
  const EngineLibrary* engine_;
  Handle<OrtSession> session_;
  std::vector<PortInfo> inputs_, outputs_;
};

/// Inputs bound where they lie, outputs allocated by the engine once and used again.
class BoundRun {
 public:
  /// `inputs` must outlive the object.
  BoundRun(EngineSession& session, std::map<std::string, HostTensor>& inputs);
  void run();
  /// The outputs of the last run; non-tensors are left out.
  std::map<std::string, HostTensor> outputs() const;
  /// Binds the tensors of the last run as the outputs of the next ones, so that nothing is allocated any more.
  void keep_outputs();

 private:
  EngineSession& session_;
  std::vector<Handle<OrtValue>> values_;
  Handle<OrtIoBinding> binding_;
};

class EngineLibrary {
 public:
  /// Opens the library and makes its environment. Throws Failure.
  explicit EngineLibrary(const std::string& path);
  const OrtApi& api() const { return *api_; }
  OrtEnv* env() const { return env_.get(); }
  void check(OrtStatus* status) const;
  std::string version() const { return version_; }
  std::string build_info() const;
  template <typename T>
  Handle<T> own(T* pointer, void (*release)(T*)) const {
    return Handle<T>(pointer, release);
  }

 private:
  const OrtApi* api_ = nullptr;
  std::string version_;
  Handle<OrtEnv> env_;
};

/// The library to use: `given`, else RETORT_LIBRARY, else libretort.so.1 beside this program.
std::string default_library(const std::string& given);
const char* type_name(ONNXTensorElementDataType type);
size_t type_bytes(ONNXTensorElementDataType type);
std::string shape_text(const PortInfo& port);

}  // namespace retort::cli
