// Batches of different sizes in memory for the largest: nothing is allocated after the start.
//
//   preallocated_cc ../digits/digits.onnx
#include <cstdio>
#include <exception>
#include <retort/retort.hpp>

#include "digit.h"

namespace api = retort::api;

namespace {

void run(const char* model) {
  api::Env env;
  api::Session session(env, model);
  // [bind]
  constexpr size_t kMost = 8;
  std::vector<float> images(kMost * kPixels), probabilities(kMost * kClasses);
  for (size_t i = 0; i < kMost; ++i) draw_two(&images[i * kPixels], int(i));
  api::IoBinding binding(session);
  for (const int64_t batch : {8, 3, 5}) {
    // Views of the front of the same memory: binding a name again replaces what was bound to it.
    binding.input("image", api::Value::wrap(std::span(images).first(batch * kPixels), {batch, 1, 8, 8}));
    binding.output("probabilities", api::Value::wrap(std::span(probabilities).first(batch * kClasses), {batch, 10}));
    binding.run();
    std::printf("batch of %d:", int(batch));
    for (int64_t i = 0; i < batch; ++i) std::printf(" %d", best_of(&probabilities[i * kClasses]));
    std::puts("");
  }
  // [end]
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: preallocated_cc MODEL\n", stderr);
    return 2;
  }
  try {
    run(argv[1]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "preallocated_cc: %s\n", e.what());
    return 1;
  }
}
