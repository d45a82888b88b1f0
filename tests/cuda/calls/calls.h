// The older calls for CUDA, which name no device, through the C interface of a library that is opened at run time.
#pragma once
#include <gtest/gtest.h>
#include <onnxruntime_c_api.h>

#include <memory>
#include <string>
#include <vector>

namespace cuda_calls {

/// The library that the tests use; main sets it before they start.
struct Library {
  const OrtApi* api = nullptr;
  OrtStatus* (*append)(OrtSessionOptions*, int) = nullptr;  ///< OrtSessionOptionsAppendExecutionProvider_CUDA
};
extern Library library;
extern std::string model;  ///< the path of digits.onnx

/// The text of an error, which is released; "" for none.
std::string told(OrtStatus* status);

/// Fails the test if the status is an error.
void ok(OrtStatus* status);

template <typename T>
using Owned = std::unique_ptr<T, void(ORT_API_CALL*)(T*)>;

inline constexpr size_t kPixels = 64, kClasses = 10;

/// The environment of a test, and what a test with the model of digits needs.
class Calls : public ::testing::Test {
 protected:
  Calls();
  ~Calls() override;

  const OrtApi& api() const { return *library.api; }
  Owned<OrtSessionOptions> options() const;
  Owned<OrtSession> session(const OrtSessionOptions* options) const;
  Owned<OrtMemoryInfo> memory(const char* name, int device = 0, OrtMemType kind = OrtMemTypeDefault) const;
  /// A tensor in memory of the program, or at an address of another place.
  Owned<OrtValue> tensor(void* data, const std::vector<int64_t>& shape, const OrtMemoryInfo* where = nullptr) const;
  Owned<OrtValue> made(OrtAllocator* allocator, const std::vector<int64_t>& shape) const;
  void copy(const OrtValue* from, OrtValue* to) const;
  std::vector<std::string> providers() const;
  /// The name of the provider that reads the input.
  std::string runs_on(const OrtSession* session) const;
  std::vector<float> run(OrtSession* session) const;
  /// Compares with the results of the processor.
  void same(const std::vector<float>& found) const;
  /// What each of the calls that add the provider says: by the exported function, both structs, and by name.
  std::vector<std::string> refusals() const;

  OrtEnv* env_ = nullptr;
  std::vector<float> image_;
  const std::vector<int64_t> in_{1, 1, 8, 8}, out_{1, kClasses};
};

}  // namespace cuda_calls
