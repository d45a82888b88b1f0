// A decoder whose cache stays on the device where the model runs: past and present share one buffer there, and each
// step only sends its token and gets its result. Without a device, the cache is in memory of the host.
//
//   device_cache_cc decoder.onnx [PROVIDER_LIBRARY]
#include <cstdio>
#include <exception>

#include "place.h"

namespace {

constexpr int64_t kWidth = 16, kHeads = 2, kRoom = 16;

void run(const char* model, const char* provider) {
  const api::Env env;
  std::optional<api::ProviderLibrary> library;
  if (provider) library.emplace(env, "provider", provider);
  api::SessionOptions options;
  options.policy(OrtExecutionProviderDevicePolicy_PREFER_GPU);
  api::Session session(env, model, options);
  // [bind]
  std::vector<float> x(kWidth), y(kWidth), rows(kHeads * kRoom * kWidth / kHeads);
  int32_t last = 0, total = 0;  // where the step writes its row, and how many rows there are then
  const std::vector<int64_t> cache{1, kHeads, kRoom, kWidth / kHeads};
  api::Value host_cache = api::Value::wrap(rows, cache);                                            // of zeros
  OrtAllocator* memory = allocator_of(env, session.input_memory()[1], session.input_devices()[1]);  // of past_key
  api::Value keys = api::Value::tensor<float>(memory, cache), values = api::Value::tensor<float>(memory, cache);
  copy(env, host_cache, keys);
  copy(env, host_cache, values);
  api::IoBinding binding(session);
  binding.input("past_key", keys);
  binding.input("past_value", values);
  binding.output("present_key", keys);  // the same memory
  binding.output("present_value", values);
  binding.output("y", api::Value::wrap(y, {1, 1, kWidth}));
  // [step]
  for (int step = 0; step < 6; ++step) {
    for (int64_t i = 0; i < kWidth; ++i) x[i] = float((7 * step + 3 * i) % 5 - 2);  // the token of this step
    last = step;
    total = step + 1;
    binding.input("x", api::Value::wrap(x, {1, 1, kWidth}));  // a device gets a copy, which is made here
    binding.input("last", api::Value::wrap(std::span(&last, 1), {1}));
    binding.input("total", api::Value::wrap(std::span(&total, 1), {1}));
    binding.run();
    binding.synchronize_outputs();
    std::printf("step %d: %.4f %.4f %.4f\n", step, y[0], y[1], y[2]);
  }
  // [end]
  copy(env, keys, host_cache);
  // Unwritten rows of the cache are still zero.
  const auto taken = [&](int64_t row) { return rows[row * kWidth / kHeads] != 0; };
  std::printf("%s of %d rows taken\n", taken(5) && !taken(6) ? "6" : "not 6", int(kRoom));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: device_cache_cc MODEL [PROVIDER_LIBRARY]\n", stderr);
    return 2;
  }
  try {
    run(argv[1], argc > 2 ? argv[2] : nullptr);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "device_cache_cc: %s\n", e.what());
    return 1;
  }
}
