// What a growing past costs: steps of a decoder through an I/O binding whose past gets one entry longer at each step,
// beside steps with a past of the mean length. Sees the engine through the C interface alone.
//
//   decode_growing LIBRARY MODEL [THREADS [STEPS [FIRST]]]
//
// MODEL takes input_ids, attention_mask, position_ids and past_key_values.* as exporters of decoders write them, and
// gives logits and present.*. Both kinds run in turn, a block of steps each; a growing step writes its present into
// preallocated memory and reads it as the past of the next one; the time to bind is part of it. The first step of a
// block is dropped: it changes the kind. Ends with one line of JSON.
#define RETORT_API_DLOPEN
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <numeric>
#include <retort/retort.hpp>
#include <thread>
#include <vector>

namespace {

namespace api = retort::api;
using Clock = std::chrono::steady_clock;

constexpr int kBlock = 16;
constexpr auto kPause = std::chrono::milliseconds(50);

int64_t product(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
}

/// A past and the present that the next step reads as its past.
struct Cache {
  std::string past, present;
  std::vector<int64_t> shape;  // -1 where the length goes
  std::vector<float> memory[2];

  api::Value view(size_t which, int64_t length) {
    std::vector<int64_t> extents = shape;
    std::replace(extents.begin(), extents.end(), int64_t(-1), length);
    return api::Value::wrap(std::span(memory[which]).first(size_t(product(extents))), extents);
  }
};

class Decoder {
 public:
  Decoder(api::Session& session, int64_t longest) : binding_(session), mask_(size_t(longest) + 1, 1) {
    for (const api::Port& port : session.inputs()) {
      const size_t at = port.name.find("past_key_values");
      if (at == std::string::npos) continue;
      Cache cache{.past = port.name,
                  .present = "present" + port.name.substr(at + 15),
                  .shape = port.tensor.shape,
                  .memory = {}};
      cache.shape[0] = 1;
      for (auto& m : cache.memory) m.assign(size_t(-product(cache.shape) * (longest + 1)), 0.01f);
      caches_.push_back(std::move(cache));
    }
    if (caches_.empty()) throw std::runtime_error("the model has no input past_key_values.*");
    const api::Port logits = session.outputs().front();
    logits_.resize(size_t(logits.tensor.shape.back()));
    const std::vector<int64_t> shape{1, 1, int64_t(logits_.size())};
    binding_.output(logits.name.c_str(), api::Value::wrap(std::span(logits_), shape));
    binding_.input("input_ids", api::Value::wrap(std::span(token_), kOne));
    binding_.input("position_ids", api::Value::wrap(std::span(position_), kOne));
  }

  void bind(int64_t past, size_t from) {
    position_[0] = past;
    const std::vector<int64_t> total{1, past + 1};
    binding_.input("attention_mask", api::Value::wrap(std::span(mask_).first(size_t(past) + 1), total));
    for (Cache& c : caches_) {
      binding_.input(c.past.c_str(), c.view(from, past));
      binding_.output(c.present.c_str(), c.view(1 - from, past + 1));
    }
  }
  void run() { binding_.run(); }

 private:
  static constexpr int64_t kOne[2] = {1, 1};
  api::IoBinding binding_;
  std::vector<Cache> caches_;
  std::vector<int64_t> mask_;
  std::vector<float> logits_;
  int64_t token_[1] = {11}, position_[1] = {0};
};

double milliseconds(Clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

/// Steps of one kind, measured in blocks.
class Series {
 public:
  Series(api::Session& session, int64_t first, int64_t last, bool grows)
      : decoder_(session, last), past_(first), grows_(grows) {
    decoder_.bind(past_, 0);
    decoder_.run();
  }
  void block() {
    std::this_thread::sleep_for(kPause);
    for (int i = 0; i <= kBlock; ++i) {
      const auto begin = Clock::now();
      if (grows_ && i > 0) decoder_.bind(past_ + i, size_t(i % 2));
      decoder_.run();
      if (i > 0) times_.push_back(milliseconds(Clock::now() - begin));
    }
    if (grows_) past_ += kBlock;
  }
  size_t steps() const { return times_.size(); }
  double median() {
    std::sort(times_.begin(), times_.end());
    return times_[times_.size() / 2];
  }
  double mean() const { return std::accumulate(times_.begin(), times_.end(), 0.0) / double(times_.size()); }

 private:
  Decoder decoder_;
  int64_t past_;
  bool grows_;
  std::vector<double> times_;
};

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 3) {
    std::fprintf(stderr, "usage: decode_growing LIBRARY MODEL [THREADS [STEPS [FIRST]]]\n");
    return 2;
  }
  const int threads = argc > 3 ? std::atoi(argv[3]) : 1, steps = argc > 4 ? std::atoi(argv[4]) : 256;
  const int64_t first = argc > 5 ? std::atoi(argv[5]) : 128;
  api::Library::load(argv[1]);
  const api::Env env(ORT_LOGGING_LEVEL_ERROR);
  api::SessionOptions options;
  options.threads(threads);
  api::Session session(env, argv[2], options);
  const int64_t last = first + (steps + kBlock - 1) / kBlock * kBlock;
  Series growing(session, first, last, true), fixed(session, (first + last) / 2, (first + last) / 2, false);
  while (growing.steps() < size_t(steps)) {
    growing.block();
    fixed.block();
  }
  const double grow_ms = growing.median(), fixed_ms = fixed.median();
  std::printf(
      "{\"threads\": %d, \"steps\": %zu, \"growing_ms\": %.4f, \"fixed_ms\": %.4f, \"growing_mean_ms\": %.4f, "
      "\"fixed_mean_ms\": %.4f, \"slower\": %.4f}\n",
      threads, growing.steps(), grow_ms, fixed_ms, growing.mean(), fixed.mean(), grow_ms / fixed_ms - 1);
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "decode_growing: %s\n", e.what());
  return 1;
}
