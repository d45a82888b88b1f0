#include "calls.h"

#include <cmath>

namespace cuda_calls {

Library library;
std::string model;

std::string told(OrtStatus* status) {
  if (!status) return {};
  const std::string text = library.api->GetErrorMessage(status);
  library.api->ReleaseStatus(status);
  return text;
}

void ok(OrtStatus* status) {
  const std::string text = told(status);
  EXPECT_EQ(text, "");
}

Calls::Calls() : image_(kPixels) {
  ok(api().CreateEnv(ORT_LOGGING_LEVEL_ERROR, "cuda_calls", &env_));
  for (size_t i = 0; i < kPixels; ++i) image_[i] = float((i * 7) % 17) / 16;
}

Calls::~Calls() { api().ReleaseEnv(env_); }

Owned<OrtSessionOptions> Calls::options() const {
  OrtSessionOptions* made = nullptr;
  ok(api().CreateSessionOptions(&made));
  return {made, api().ReleaseSessionOptions};
}

Owned<OrtSession> Calls::session(const OrtSessionOptions* options) const {
  OrtSession* made = nullptr;
  ok(api().CreateSession(env_, model.c_str(), options, &made));
  return {made, api().ReleaseSession};
}

Owned<OrtMemoryInfo> Calls::memory(const char* name, int device, OrtMemType kind) const {
  OrtMemoryInfo* made = nullptr;
  ok(api().CreateMemoryInfo(name, OrtDeviceAllocator, device, kind, &made));
  return {made, api().ReleaseMemoryInfo};
}

Owned<OrtValue> Calls::tensor(void* data, const std::vector<int64_t>& shape, const OrtMemoryInfo* where) const {
  const Owned<OrtMemoryInfo> host = memory("Cpu");
  size_t count = 1;
  for (const int64_t extent : shape) count *= size_t(extent);
  OrtValue* value = nullptr;
  ok(api().CreateTensorWithDataAsOrtValue(where ? where : host.get(), data, count * sizeof(float), shape.data(),
                                          shape.size(), ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
  return {value, api().ReleaseValue};
}

Owned<OrtValue> Calls::made(OrtAllocator* allocator, const std::vector<int64_t>& shape) const {
  OrtValue* value = nullptr;
  ok(api().CreateTensorAsOrtValue(allocator, shape.data(), shape.size(), ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
  return {value, api().ReleaseValue};
}

void Calls::copy(const OrtValue* from, OrtValue* to) const { ok(api().CopyTensors(env_, &from, &to, nullptr, 1)); }

std::vector<std::string> Calls::providers() const {
  char** names = nullptr;
  int count = 0;
  ok(api().GetAvailableProviders(&names, &count));
  std::vector<std::string> all(names, names + count);
  ok(api().ReleaseAvailableProviders(names, count));
  return all;
}

std::string Calls::runs_on(const OrtSession* session) const {
  const OrtEpDevice* device = nullptr;
  ok(api().SessionGetEpDeviceForInputs(session, &device, 1));
  return device ? api().EpDevice_EpName(device) : "none";
}

std::vector<float> Calls::run(OrtSession* session) const {
  std::vector<float> image = image_, found(kClasses);
  const Owned<OrtValue> x = tensor(image.data(), in_), y = tensor(found.data(), out_);
  const char *input = "image", *output = "probabilities";
  const OrtValue* given = x.get();
  OrtValue* result = y.get();
  ok(api().Run(session, nullptr, &input, &given, 1, &output, 1, &result));
  return found;
}

void Calls::same(const std::vector<float>& found) const {
  const std::vector<float> expected = run(session(options().get()).get());
  ASSERT_EQ(found.size(), expected.size());
  // Products may round their factors to 10 bits.
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 2e-3) << "class " << i;
}

std::vector<std::string> Calls::refusals() const {
  const OrtCUDAProviderOptions first = {};
  OrtCUDAProviderOptionsV2* second = nullptr;
  const Owned<OrtSessionOptions> o = options();
  ok(api().CreateCUDAProviderOptions(&second));
  std::vector<std::string> all{
      told(library.append(o.get(), 0)), told(api().SessionOptionsAppendExecutionProvider_CUDA(o.get(), &first)),
      told(api().SessionOptionsAppendExecutionProvider_CUDA_V2(o.get(), second)),
      told(api().SessionOptionsAppendExecutionProvider(o.get(), "CUDA", nullptr, nullptr, 0)),
      told(api().SessionOptionsAppendExecutionProvider(o.get(), "CUDAExecutionProvider", nullptr, nullptr, 0))};
  api().ReleaseCUDAProviderOptions(second);
  return all;
}

}  // namespace cuda_calls
