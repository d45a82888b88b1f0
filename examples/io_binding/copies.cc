// Measures copies: one step of a decoder with its cache in one buffer, in two buffers that alternate, and as results
// that are handed back.
//
//   copies_cc decoder.onnx
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <retort/retort.hpp>

namespace api = retort::api;

namespace {

constexpr int64_t kWidth = 16, kHeads = 2, kRoom = 262144;  // two caches of 16 MiB
constexpr int kSteps = 200;
const std::vector<int64_t> kCache{1, kHeads, kRoom, kWidth / kHeads}, kToken{1, 1, kWidth};

struct Decoder {
  explicit Decoder(api::Session& s) : session(s), binding(s) {
    binding.input("x", x);
    binding.input("last", last);
    binding.input("total", total);
    binding.output("y", y);
  }
  void cache(size_t past, size_t present) {
    binding.input("past_key", keys[past]);
    binding.input("past_value", values[past]);
    binding.output("present_key", keys[present]);
    binding.output("present_value", values[present]);
  }
  void row(int step) {
    last.data<int32_t>()[0] = step;
    total.data<int32_t>()[0] = step + 1;
  }
  static api::Value zeros(const std::vector<int64_t>& shape) {
    api::Value value = api::Value::tensor<float>(shape);
    std::ranges::fill(value.data<float>(), 0.0f);
    return value;
  }

  api::Session& session;
  api::IoBinding binding;
  api::Value x = zeros(kToken), y = zeros(kToken);
  api::Value last = api::Value::tensor<int32_t>({1}), total = api::Value::tensor<int32_t>({1});
  api::Value keys[2] = {zeros(kCache), zeros(kCache)}, values[2] = {zeros(kCache), zeros(kCache)};
};

void one_buffer(Decoder& d, int step) {
  if (step == 0) d.cache(0, 0);
  d.binding.run();
}

void two_buffers(Decoder& d, int step) {
  d.cache(step % 2, (step + 1) % 2);
  d.binding.run();
}

void results(Decoder& d, int) {
  auto made = d.session.run(
      {{"x", d.x}, {"past_key", d.keys[0]}, {"past_value", d.values[0]}, {"last", d.last}, {"total", d.total}},
      {"y", "present_key", "present_value"});
  d.keys[0] = std::move(made[1]);
  d.values[0] = std::move(made[2]);
}

void run(const char* model) {
  api::Env env;
  api::Session session(env, model, api::SessionOptions().threads(1));
  const std::pair<const char*, void (*)(Decoder&, int)> ways[] = {
      {"one buffer", one_buffer}, {"two buffers in turn", two_buffers}, {"results handed back", results}};
  for (const auto& [name, way] : ways) {
    Decoder decoder(session);
    std::vector<double> micros;
    for (int step = 0; step < kSteps; ++step) {
      decoder.row(step);
      const auto start = std::chrono::steady_clock::now();
      way(decoder, step);
      micros.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
    }
    std::ranges::nth_element(micros, micros.begin() + kSteps / 2);
    std::printf("%-20s %8.1f us a step\n", name, micros[kSteps / 2]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: copies_cc MODEL\n", stderr);
    return 2;
  }
  try {
    run(argv[1]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "copies_cc: %s\n", e.what());
    return 1;
  }
}
