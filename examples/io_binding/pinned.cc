// Uses memory that the device can read directly ("pinned"), if there is a device: copies from it are faster and need no
// second buffer in the driver. Without a device, it is ordinary memory, and the program is the same.
//
//   pinned_cc ../digits/digits.onnx
#include <cstdio>
#include <exception>
#include <retort/retort.hpp>

#include "digit.h"

namespace api = retort::api;

namespace {

// [allocator]
/// For memory that the host writes and this device reads; ordinary memory if the device has no such memory.
OrtAllocator* staging(const api::Env& env, api::EpDevice device) {
  const api::MemoryView pinned = device ? device.memory(OrtDeviceMemoryType_HOST_ACCESSIBLE) : api::MemoryView();
  if (!pinned) return api::default_allocator();
  OrtAllocator* shared = api::shared_allocator(env, pinned);
  return shared ? shared : api::create_shared_allocator(env, device, OrtDeviceMemoryType_HOST_ACCESSIBLE);
}
// [end]

void run(const char* model) {
  api::Env env;
  api::SessionOptions options;
  options.policy(OrtExecutionProviderDevicePolicy_PREFER_GPU);
  api::Session session(env, model, options);
  OrtAllocator* memory = staging(env, session.input_devices()[0]);
  const bool ordinary = memory == api::default_allocator();
  std::printf("staged in %s memory\n", ordinary ? "ordinary" : "pinned");
  // [bind]
  api::Value image = api::Value::tensor<float>(memory, {1, 1, 8, 8});
  api::Value probabilities = api::Value::tensor<float>(memory, {1, 10});
  api::IoBinding binding(session);
  binding.output("probabilities", probabilities);
  for (int down = 0; down < 3; ++down) {
    draw_two(image.data<float>().data(), down);
    binding.input("image", image);  // if it is ordinary memory, a device reads a copy, which is made here
    binding.run();
    binding.synchronize_outputs();
    const float* p = probabilities.data<float>().data();
    std::printf("moved down by %d: a %d\n", down, best_of(p));
  }
  // [end]
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: pinned_cc MODEL\n", stderr);
    return 2;
  }
  try {
    run(argv[1]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "pinned_cc: %s\n", e.what());
    return 1;
  }
}
