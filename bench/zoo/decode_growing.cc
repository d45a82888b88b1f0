// Measures the cost of a growing past: steps of a decoder through an I/O binding whose past gets one more entry in each
// step. Uses the engine only through the C interface.
//
//   decode_growing LIBRARY MODEL [THREADS [STEPS [FIRST [BATCH]]]]
//
// MODEL has inputs input_ids, attention_mask, position_ids and past_key_values.*, as exporters of decoders write them,
// and outputs logits and present.*. There are three kinds of steps: "growing" ones write their present to preallocated
// memory and read it as the past of the next step; "handed" ones leave the memory to the engine and pass each present
// back as the past, which an engine can do in place; "fixed" ones have a past of the mean length. The kinds alternate,
// a block of steps each; the time to bind is part of a step. The first step of a block does not count, since it changes
// the kind. Ends with one line of JSON.
#define RETORT_API_DLOPEN
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
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

/// A past, and the present that the next step reads as its past.
struct Cache {
  std::string past, present;
  std::vector<int64_t> shape;  // -1 for the length
  std::vector<float> memory[2];

  api::Value view(size_t which, int64_t length) {
    std::vector<int64_t> extents = shape;
    std::replace(extents.begin(), extents.end(), int64_t(-1), length);
    return api::Value::wrap(std::span(memory[which]).first(size_t(product(extents))), extents);
  }
};

enum class Kind { growing, handed, fixed };

class Decoder {
 public:
  Decoder(api::Session& session, int64_t longest, int64_t batch, Kind kind)
      : batch_(batch), binding_(session), mask_(size_t((longest + 1) * batch), 1), token_(size_t(batch), 11) {
    position_.resize(token_.size());
    for (const api::Port& port : session.inputs()) {
      const size_t at = port.name.find("past_key_values");
      if (at == std::string::npos) continue;
      Cache cache{.past = port.name,
                  .present = "present" + port.name.substr(at + 15),
                  .shape = port.tensor.shape,
                  .memory = {}};
      cache.shape[0] = batch;
      for (auto& m : cache.memory) m.assign(size_t(-product(cache.shape) * (longest + 1)), 0.01f);
      caches_.push_back(std::move(cache));
    }
    if (caches_.empty()) throw std::runtime_error("the model has no input past_key_values.*");
    const api::Port logits = session.outputs().front();
    logits_.resize(size_t(logits.tensor.shape.back() * batch));
    const std::vector<int64_t> shape{batch, 1, logits.tensor.shape.back()}, one{batch, 1};
    binding_.output(logits.name.c_str(), api::Value::wrap(std::span(logits_), shape));
    binding_.input("input_ids", api::Value::wrap(std::span(token_), one));
    binding_.input("position_ids", api::Value::wrap(std::span(position_), one));
    const api::MemoryInfo host = api::MemoryInfo::cpu();
    for (Cache& c : caches_) {
      if (kind == Kind::handed) binding_.output(c.present.c_str(), host);
    }
  }

  void bind(int64_t past) {
    std::fill(position_.begin(), position_.end(), past);
    const std::vector<int64_t> total{batch_, past + 1};
    binding_.input("attention_mask", api::Value::wrap(std::span(mask_).first(size_t((past + 1) * batch_)), total));
  }
  void bind_memory(int64_t past, size_t from, bool presents) {
    for (Cache& c : caches_) {
      binding_.input(c.past.c_str(), c.view(from, past));
      if (presents) binding_.output(c.present.c_str(), c.view(1 - from, past + 1));
    }
  }
  void hand_back() {
    const std::vector<api::Value> made = binding_.outputs();  // the logits first
    for (size_t i = 0; i < caches_.size(); ++i) binding_.input(caches_[i].past.c_str(), made[i + 1]);
  }
  void run() { binding_.run(); }

 private:
  const int64_t batch_;
  api::IoBinding binding_;
  std::vector<Cache> caches_;
  std::vector<int64_t> mask_, token_, position_;
  std::vector<float> logits_;
};

double milliseconds(Clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

/// Steps of one kind, measured in blocks.
class Series {
 public:
  Series(api::Session& session, int64_t first, int64_t last, int64_t batch, Kind kind)
      : decoder_(session, last + (last - first) / kBlock + 1, batch, kind),
        past_(kind == Kind::fixed ? (first + last) / 2 : first),
        kind_(kind) {
    decoder_.bind(past_);
    decoder_.bind_memory(past_, 0, kind != Kind::handed);
    decoder_.run();
  }
  void block() {
    std::this_thread::sleep_for(kPause);
    for (int i = 0; i <= kBlock; ++i) {
      const auto begin = Clock::now();
      next(i);
      decoder_.run();
      if (i > 0) times_.push_back(milliseconds(Clock::now() - begin));
    }
    if (kind_ == Kind::growing) past_ += kBlock;
  }
  size_t steps() const { return times_.size(); }
  double median() {
    std::sort(times_.begin(), times_.end());
    return times_[times_.size() / 2];
  }
  double mean() const { return std::accumulate(times_.begin(), times_.end(), 0.0) / double(times_.size()); }

 private:
  void next(int step) {
    if (kind_ == Kind::growing && step > 0) {
      decoder_.bind(past_ + step);
      decoder_.bind_memory(past_ + step, size_t(step % 2), true);
    } else if (kind_ == Kind::handed) {
      decoder_.bind(++handed_);
      decoder_.hand_back();
    }
  }

  Decoder decoder_;
  int64_t past_;
  int64_t handed_ = past_;  ///< steps of this kind continue from the last one
  const Kind kind_;
  std::vector<double> times_;
};

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 3) {
    std::fprintf(stderr, "usage: decode_growing LIBRARY MODEL [THREADS [STEPS [FIRST [BATCH]]]]\n");
    return 2;
  }
  const int threads = argc > 3 ? std::atoi(argv[3]) : 1, steps = argc > 4 ? std::atoi(argv[4]) : 256;
  const int64_t first = argc > 5 ? std::atoi(argv[5]) : 128, batch = argc > 6 ? std::atoi(argv[6]) : 1;
  api::Library::load(argv[1]);
  const api::Env env(ORT_LOGGING_LEVEL_ERROR);
  api::SessionOptions options;
  options.threads(threads);
  api::Session session(env, argv[2], options);
  const int64_t last = first + (steps + kBlock - 1) / kBlock * kBlock;
  Series growing(session, first, last, batch, Kind::growing), handed(session, first, last, batch, Kind::handed),
      fixed(session, first, last, batch, Kind::fixed);
  while (growing.steps() < size_t(steps)) {
    growing.block();
    handed.block();
    fixed.block();
  }
  const double grow_ms = growing.median(), hand_ms = handed.median(), fixed_ms = fixed.median();
  std::printf(
      "{\"threads\": %d, \"batch\": %d, \"steps\": %zu, \"growing_ms\": %.4f, \"handed_ms\": %.4f, \"fixed_ms\": %.4f, "
      "\"growing_mean_ms\": %.4f, \"handed_mean_ms\": %.4f, \"fixed_mean_ms\": %.4f, \"slower\": %.4f, \"in_place\": "
      "%.3f}\n",
      threads, int(batch), growing.steps(), grow_ms, hand_ms, fixed_ms, growing.mean(), handed.mean(), fixed.mean(),
      grow_ms / fixed_ms - 1, grow_ms / hand_ms);
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "decode_growing: %s\n", e.what());
  return 1;
}
