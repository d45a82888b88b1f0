#include "sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace chat {

// SplitMix64.
double Sampler::draw() {
  uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return double((z ^ z >> 31) >> 11) * 0x1p-53;
}

int64_t Sampler::choose(std::span<const float> logits) {
  if (sampling_.temperature <= 0) return std::max_element(logits.begin(), logits.end()) - logits.begin();
  std::vector<int64_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const size_t most = sampling_.top_k > 0 ? std::min(size_t(sampling_.top_k), order.size()) : order.size();
  const auto larger = [&](int64_t a, int64_t b) {
    return logits[size_t(a)] != logits[size_t(b)] ? logits[size_t(a)] > logits[size_t(b)] : a < b;
  };
  std::partial_sort(order.begin(), order.begin() + std::ptrdiff_t(most), order.end(), larger);
  std::vector<double> weights(most);
  const double largest = logits[size_t(order[0])];
  for (size_t i = 0; i < most; ++i)
    weights[i] = std::exp((double(logits[size_t(order[i])]) - largest) / sampling_.temperature);
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  double kept = 0;
  size_t count = 0;
  while (count < most && (count == 0 || kept < sampling_.top_p * all)) kept += weights[count++];
  double left = draw() * kept;
  for (size_t i = 0; i < count; ++i) {
    left -= weights[i];
    if (left < 0) return order[i];
  }
  return order[count - 1];
}

}  // namespace chat
