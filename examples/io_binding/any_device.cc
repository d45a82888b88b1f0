// Tensors stay in the memory where the model runs, and the program names neither provider nor vendor: the policy
// prefers a GPU, the session reports the memory of its input, and the environment's allocator makes tensors there; one
// upload, 100 runs, one download.
//
//   any_device_cc ../digits/digits.onnx [PROVIDER_LIBRARY [KEY VALUE]]
//
// KEY VALUE: a configuration entry of the environment, such as "retort.discover_vulkan" "1", for providers that need it
// to find a device.
#include <cstdio>
#include <exception>
#include <retort/retort.hpp>

#include "digit.h"
#include "place.h"

namespace {

void tell(const api::Session& session) {
  const api::EpDevice device = session.input_devices()[0];
  if (session.input_memory()[0].device() == OrtMemoryInfoDeviceType_CPU) {
    std::puts("no device with a provider here: the processor runs the model");
  } else {
    std::printf("vendor 0x%04x runs the model\n", unsigned(device.hardware().vendor_id()));
  }
}

api::Env environment(const char* key, const char* value) {
  return key ? api::Env(ORT_LOGGING_LEVEL_WARNING, "any_device", api::KeyValues({{key, value}})) : api::Env();
}

void run(const char* model, const char* provider, const char* key, const char* value) {
  const api::Env env = environment(key, value);
  std::optional<api::ProviderLibrary> library;
  if (provider) library.emplace(env, "provider", provider);
  // [flow]
  api::SessionOptions options;
  options.policy(OrtExecutionProviderDevicePolicy_PREFER_GPU);
  api::Session session(env, model, options);
  tell(session);  // its vendor id, known only now

  const std::vector<int64_t> in{1, 1, 8, 8}, out{1, 10};
  OrtAllocator* inputs = allocator_of(env, session.input_memory()[0], session.input_devices()[0]);
  OrtAllocator* outputs = allocator_of(env, session.output_memory()[0], session.output_devices()[0]);
  api::Value image = api::Value::tensor<float>(in), device_image = api::Value::tensor<float>(inputs, in);
  api::Value result = api::Value::tensor<float>(out), device_result = api::Value::tensor<float>(outputs, out);
  api::IoBinding binding(session);
  binding.input("image", device_image);  // there already: nothing is copied, now or in a run
  binding.output("probabilities", device_result);

  draw_two(image.data<float>().data(), 0);
  copy(env, image, device_image);  // one upload
  for (int i = 0; i < 100; ++i) binding.run();
  binding.synchronize_outputs();
  copy(env, device_result, result);  // one download
  // [end]
  const float* probabilities = result.data<float>().data();
  const int best = best_of(probabilities);
  std::printf("100 runs: a %d (%.1f %%)\n", best, 100 * probabilities[best]);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: any_device_cc MODEL [PROVIDER_LIBRARY [KEY VALUE]]\n", stderr);
    return 2;
  }
  try {
    run(argv[1], argc > 2 ? argv[2] : nullptr, argc > 4 ? argv[3] : nullptr, argc > 4 ? argv[4] : nullptr);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "any_device_cc: %s\n", e.what());
    return 1;
  }
}
