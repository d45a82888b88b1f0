// The engine library: Retort's, or that of official ONNX Runtime. It is opened at the first use, and never closed.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>

#include "onnxruntime_c_api.h"
#include "retort_tools.h"

namespace retort::python {

// The oldest version of the C interface that this binding runs on. Functions that are newer are guarded by needs().
inline constexpr uint32_t kOldestApi = 23;

// A failed call of the engine, or a mistake that the binding found itself. Becomes the Python exception of its code.
class Error : public std::exception {
 public:
  Error(OrtErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}

  const char* what() const noexcept override { return message_.c_str(); }
  OrtErrorCode code() const noexcept { return code_; }

 private:
  OrtErrorCode code_;
  std::string message_;
};

// A mistake in the use of this package, where the official one raises RuntimeError: becomes that, with the same
// attributes as other exceptions.
class Misuse : public Error {
 public:
  using Error::Error;
};

// An error of a bound run. Its Python class is that of the code and a RuntimeError, too: the official package raises
// RuntimeError for bound runs, and the class of the code for others.
class BoundRunError : public Error {
 public:
  using Error::Error;
};

namespace detail {
extern std::atomic<const OrtApi*> table;  // null until the library is open
const OrtApi& open_engine();
[[noreturn]] void raise(OrtStatus* status);
}  // namespace detail

// Opens the library that RETORT_LIBRARY names, otherwise the one in the folder that set_package_folder() named. Throws
// Error if there is none, or if it is too old. Thread-safe.
inline const OrtApi& api() {
  const OrtApi* table = detail::table.load(std::memory_order_acquire);
  return table ? *table : detail::open_engine();
}

// Throws the status as an Error and releases it; does nothing for null.
inline void check(OrtStatus* status) {
  if (status) [[unlikely]] {
    detail::raise(status);
  }
}

void set_package_folder(std::string folder);
const std::string& library_path();     // absolute; opens the library
const std::string& library_version();  // of the interface, for example "1.32.0"
uint32_t api_version();                // the newest version that both the library and this binding know
bool is_retort();                      // false: another library with the same interface

// Throws Error(ORT_NOT_IMPLEMENTED), which names `what` and both versions, if the library's interface is older.
void needs(uint32_t version, const char* what);

// A function of retort_tools.h. If the library is not Retort, `find` returns null and `get` throws
// Error(ORT_NOT_IMPLEMENTED), which names `what`.
OrtExperimentalFnPtr find_retort_function(const char* name);
OrtExperimentalFnPtr get_retort_function(const char* name, const char* what);

// The environment of this process, made at the first call, by the function that set_env_maker() named, otherwise with
// log level warning. Never released: sessions may outlive the interpreter. Thread-safe; the caller has the GIL.
using EnvMaker = OrtEnv* (*)();
OrtEnv& env();
bool env_exists();
void set_env_maker(EnvMaker maker);

// Deleters of the engine's objects.
struct Release {
#define RETORT_PYTHON_RELEASE(TYPE) \
  void operator()(Ort##TYPE* object) const noexcept { api().Release##TYPE(object); }
  RETORT_PYTHON_RELEASE(Allocator)
  RETORT_PYTHON_RELEASE(ArenaCfg)
  RETORT_PYTHON_RELEASE(IoBinding)
  RETORT_PYTHON_RELEASE(KeyValuePairs)
  RETORT_PYTHON_RELEASE(LoraAdapter)
  RETORT_PYTHON_RELEASE(MapTypeInfo)
  RETORT_PYTHON_RELEASE(MemoryInfo)
  RETORT_PYTHON_RELEASE(ModelMetadata)
  RETORT_PYTHON_RELEASE(PrepackedWeightsContainer)
  RETORT_PYTHON_RELEASE(RunOptions)
  RETORT_PYTHON_RELEASE(SequenceTypeInfo)
  RETORT_PYTHON_RELEASE(Session)
  RETORT_PYTHON_RELEASE(SessionOptions)
  RETORT_PYTHON_RELEASE(TensorTypeAndShapeInfo)
  RETORT_PYTHON_RELEASE(ThreadingOptions)
  RETORT_PYTHON_RELEASE(TypeInfo)
  RETORT_PYTHON_RELEASE(Value)
#undef RETORT_PYTHON_RELEASE
};

// An owned object of the engine: Owned<OrtValue>, Owned<OrtSession>.
template <class T>
using Owned = std::unique_ptr<T, Release>;

// Calls a function whose last parameter is the result: `auto value = made<OrtValue>(api().CreateX, a, b)`.
template <class T, class Function, class... Arguments>
Owned<T> made(Function function, Arguments... arguments) {
  T* result = nullptr;
  check(function(arguments..., &result));
  return Owned<T>(result);
}

// A text that the engine made with `allocator`: copies and frees it.
std::string take_text(OrtAllocator* allocator, char* text);

// The allocator of host memory that every library has. Not owned.
OrtAllocator* default_allocator();

}  // namespace retort::python
