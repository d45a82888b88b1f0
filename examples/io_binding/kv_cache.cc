// A decoder whose past and present share one buffer: each step writes its row where the next step reads it.
//
//   kv_cache_cc decoder.onnx
#include <cstdio>
#include <exception>
#include <retort/retort.hpp>

namespace api = retort::api;

namespace {

constexpr int64_t kWidth = 16, kHeads = 2, kRoom = 16;

void run(const char* model) {
  api::Env env;
  api::SessionOptions options;
  // In Retort, a copy of the cache is then an error; other engines ignore the entry.
  options.config("session.disallow_implicit_copies", "1");
  api::Session session(env, model, options);
  // [bind]
  std::vector<float> x(kWidth), y(kWidth), keys(kHeads * kRoom * kWidth / kHeads), values(keys.size());
  int32_t last = 0, total = 0;  // where the step writes its row, and how many rows there are then
  const int64_t cache[] = {1, kHeads, kRoom, kWidth / kHeads};
  const api::Value key_cache = api::Value::wrap(keys, cache), value_cache = api::Value::wrap(values, cache);
  api::IoBinding binding(session);
  binding.input("x", api::Value::wrap(x, {1, 1, kWidth}));
  binding.input("last", api::Value::wrap(std::span(&last, 1), {1}));
  binding.input("total", api::Value::wrap(std::span(&total, 1), {1}));
  binding.input("past_key", key_cache);
  binding.input("past_value", value_cache);
  binding.output("present_key", key_cache);  // the same memory
  binding.output("present_value", value_cache);
  binding.output("y", api::Value::wrap(y, {1, 1, kWidth}));
  // [step]
  for (int step = 0; step < 6; ++step) {
    for (int64_t i = 0; i < kWidth; ++i) x[i] = float((7 * step + 3 * i) % 5 - 2);  // the token of this step
    last = step;
    total = step + 1;
    binding.run();
    std::printf("step %d: %.4f %.4f %.4f\n", step, y[0], y[1], y[2]);
  }
  // [end]
  // Unwritten rows of the cache are still zero.
  const auto taken = [&](int64_t row) { return keys[row * kWidth / kHeads] != 0; };
  std::printf("%s of %d rows taken\n", taken(5) && !taken(6) ? "6" : "not 6", int(kRoom));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: kv_cache_cc MODEL\n", stderr);
    return 2;
  }
  try {
    run(argv[1]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "kv_cache_cc: %s\n", e.what());
    return 1;
  }
}
