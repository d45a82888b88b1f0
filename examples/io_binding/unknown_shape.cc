// The shape of the output depends on data: the library allocates it, in the memory that the program names.
//
//   unknown_shape_cc places.onnx
#include <cstdio>
#include <exception>
#include <retort/retort.hpp>

#include "digit.h"

namespace api = retort::api;

namespace {

void run(const char* model) {
  api::Env env;
  api::Session session(env, model);
  std::vector<float> image(kPixels);
  // [bind]
  const api::MemoryInfo host = api::MemoryInfo::cpu();
  api::IoBinding binding(session);
  binding.input("image", api::Value::wrap(image, {8, 8}));
  for (int clear = 0; clear < 3; ++clear) {
    draw_two(image.data(), 0);
    std::fill_n(image.begin(), 16 * clear, 0.0f);  // fewer dark pixels each time
    binding.output("places", host);                // again, since the shape may have changed
    binding.run();
    const std::vector<api::Value> results = binding.outputs();  // handles, no copies
    const std::span<const int64_t> places = results[0].data<int64_t>();
    const size_t found = places.size() / 2;  // [2, found]: rows, then columns
    std::printf("%2zu dark pixels, the first in row %d, column %d\n", found, int(places[0]), int(places[found]));
  }
  // [end]
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: unknown_shape_cc MODEL\n", stderr);
    return 2;
  }
  try {
    run(argv[1]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "unknown_shape_cc: %s\n", e.what());
    return 1;
  }
}
