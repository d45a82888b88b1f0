// The shape of the output is known: every run writes it to the program's memory.
//
//   known_shape_cc ../digits/digits.onnx
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
  std::vector<float> image(kPixels), probabilities(kClasses);  // the program's own memory
  api::IoBinding binding(session);
  binding.input("image", api::Value::wrap(image, {1, 1, 8, 8}));              // read where it lies
  binding.output("probabilities", api::Value::wrap(probabilities, {1, 10}));  // written where it is bound
  for (int down = 0; down < 3; ++down) {
    draw_two(image.data(), down);  // only the contents change
    binding.run();
    const int best = best_of(probabilities.data());
    std::printf("moved down by %d: a %d (%.1f %%)\n", down, best, 100 * probabilities[best]);
  }
  // [end]
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: known_shape_cc MODEL\n", stderr);
    return 2;
  }
  try {
    run(argv[1]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "known_shape_cc: %s\n", e.what());
    return 1;
  }
}
