// Runs a language model on the engine that RETORT_LIBRARY names, as bench/llm asks for. Each line of the standard input
// is a request, each line of the standard output the reply, both JSON:
//
//   {"prompt": [...], "count": N}      N tokens after the prompt, each the most probable: prompt_seconds, seconds, tokens
//   {"prompt": [...], "forced": [...], "pairs": [...]}
//                                      before each forced token: the most probable one, and by how much the logit of the
//                                      first token of the pair is larger than that of the second
//   {"bandwidth": THREADS}             bytes per second that these threads read from memory
//
//   llm_worker FOLDER THREADS
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "decoder.h"

namespace {

using nlohmann::json;

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

int64_t largest(std::span<const float> logits) {
  return std::max_element(logits.begin(), logits.end()) - logits.begin();
}

json generate(chat::Decoder& decoder, const std::vector<int64_t>& prompt, size_t count) {
  decoder.cut(0);
  const Stopwatch first;
  int64_t token = largest(decoder.append(prompt));
  const double prompt_seconds = first.seconds();
  std::vector<int64_t> tokens{token};
  const Stopwatch rest;
  while (tokens.size() <= count) {
    token = largest(decoder.append(std::span(&token, 1)));
    tokens.push_back(token);
  }
  return {{"prompt_seconds", prompt_seconds}, {"seconds", rest.seconds()}, {"tokens", tokens}};
}

using Pairs = std::vector<std::pair<size_t, size_t>>;
json forced(chat::Decoder& decoder, const std::vector<int64_t>& prompt, const std::vector<int64_t>& tokens,
            const Pairs& pairs) {
  decoder.cut(0);
  json steps = json::array();
  std::span<const float> logits = decoder.append(prompt);
  for (size_t i = 0; i < tokens.size(); ++i) {
    const auto [first, second] = pairs.at(i);
    steps.push_back({largest(logits), logits[first] - logits[second]});
    if (i + 1 < tokens.size()) logits = decoder.append(std::span(&tokens[i], 1));
  }
  return {{"steps", steps}};
}

// The best of some passes over memory that no cache holds.
double bandwidth(int threads) {
  constexpr size_t kWords = 32 << 20, kPasses = 6;
  const std::vector<uint64_t> words(kWords * size_t(threads), 1);
  std::vector<uint64_t> sums(size_t(threads) * 8);
  double best = 0;
  for (size_t pass = 0; pass < kPasses; ++pass) {
    const Stopwatch watch;
    std::vector<std::jthread> readers;
    for (size_t t = 0; t < size_t(threads); ++t) {
      readers.emplace_back([&, t] {
        uint64_t sum[32] = {};
        for (size_t i = t * kWords; i < (t + 1) * kWords; i += 32)
          for (size_t k = 0; k < 32; ++k) sum[k] += words[i + k];
        for (const uint64_t s : sum) sums[t * 8] += s;
      });
    }
    readers.clear();
    best = std::max(best, double(words.size() * sizeof(uint64_t)) / watch.seconds());
  }
  if (sums[0] != kPasses * kWords) throw std::runtime_error("the memory was not read");
  return best;
}

json answer(chat::Decoder& decoder, const json& request) {
  if (request.contains("bandwidth")) return {{"bandwidth", bandwidth(request["bandwidth"])}};
  const auto prompt = request.at("prompt").get<std::vector<int64_t>>();
  if (request.contains("forced")) return forced(decoder, prompt, request["forced"], request.at("pairs").get<Pairs>());
  return generate(decoder, prompt, request.at("count"));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: llm_worker FOLDER THREADS\n", stderr);
    return 2;
  }
  try {
    chat::Decoder decoder({.folder = argv[1], .threads = std::stoi(argv[2]), .room = 1024});
    for (std::string line; std::getline(std::cin, line);)
      std::cout << answer(decoder, json::parse(line)).dump() << std::endl;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "llm_worker: %s\n", e.what());
    return 1;
  }
}
