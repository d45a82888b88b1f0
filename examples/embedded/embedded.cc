// A program in one file: the engine is linked statically, and the model lies in its read-only data. Two threads share
// the session; each has its own binding and memory.
#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <future>
#include <retort/retort.hpp>

// Symbols of model.S.
extern "C" const std::byte model_begin[], model_end[];

namespace api = retort::api;

namespace {

// Eight rows of eight shades each, in hexadecimal; f is the darkest.
constexpr const char* kSix =
    "00083000"
    "002f8000"
    "009f1000"
    "00ca0000"
    "00e70000"
    "00affff1"
    "004f14f6"
    "0005efa0";
constexpr const char* kSeven =
    "001efff1"
    "00be8db0"
    "00f60e30"
    "00515d10"
    "000dff90"
    "002ff910"
    "000b9000"
    "003f2000";

struct Guess {
  long digit;
  float probability;
};

Guess classify(api::Session& session, const char* shades) {
  std::array<float, 64> image;
  std::transform(shades, shades + image.size(), image.begin(),
                 [](char c) { return static_cast<float>(c <= '9' ? c - '0' : c - 'a' + 10) / 15; });
  std::array<float, 10> probabilities{};
  api::IoBinding binding(session);
  binding.input("image", api::Value::wrap(image, {1, 1, 8, 8}));
  binding.output("probabilities", api::Value::wrap(probabilities, {1, 10}));
  binding.run();
  const auto best = std::max_element(probabilities.begin(), probabilities.end());
  return {best - probabilities.begin(), *best};
}

}  // namespace

int main() {
  try {
    api::Env env;
    api::Session session(env, std::span(model_begin, model_end), api::SessionOptions().threads(1));
    auto six = std::async(std::launch::async, classify, std::ref(session), kSix);
    auto seven = std::async(std::launch::async, classify, std::ref(session), kSeven);
    for (const Guess guess : {six.get(), seven.get()})
      std::printf("a %ld, with a probability of %.1f %%\n", guess.digit, 100 * guess.probability);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "embedded: %s\n", e.what());
    return 1;
  }
}
