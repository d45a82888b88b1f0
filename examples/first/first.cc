// The shortest complete program: one bound run, which reads the image and writes the result in place.
//
//   first ../digits/digits.onnx
#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <retort/retort.hpp>

namespace api = retort::api;

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: first MODEL\n", stderr);
    return 2;
  }
  // A handwritten two, 8 x 8 shades of 0 to 16.
  std::array<float, 64> image{
      0, 0, 6, 16, 12, 1,  0,  0,   //
      0, 0, 5, 16, 13, 10, 0,  0,   //
      0, 0, 0, 5,  5,  15, 0,  0,   //
      0, 0, 0, 0,  8,  15, 0,  0,   //
      0, 0, 0, 0,  13, 13, 0,  0,   //
      0, 0, 0, 6,  16, 9,  4,  1,   //
      0, 0, 3, 16, 16, 16, 16, 10,  //
      0, 0, 5, 16, 11, 9,  6,  2,
  };
  for (float& shade : image) shade /= 16;
  std::array<float, 10> probabilities{};
  try {
    api::Env env;
    api::Session session(env, argv[1]);
    api::IoBinding binding(session);
    binding.input("image", api::Value::wrap(image, {1, 1, 8, 8}));
    binding.output("probabilities", api::Value::wrap(probabilities, {1, 10}));
    binding.run();  // as often as wanted: change `image`, run, read `probabilities`
  } catch (const std::exception& e) {
    std::fprintf(stderr, "first: %s\n", e.what());
    return 1;
  }
  const auto best = std::max_element(probabilities.begin(), probabilities.end());
  std::printf("a %td, with a probability of %.1f %%\n", best - probabilities.begin(), 100 * *best);
}
