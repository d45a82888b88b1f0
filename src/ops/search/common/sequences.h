// The tokens that a search has found so far.
#pragma once
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace retort::ops {

/// One sequence per row; a row is a beam of an entry of the batch. All rows have the same length. They grow as needed,
/// because the caller's limit may be far beyond what is reached.
class Sequences {
 public:
  /// Row i begins with row i / repeat of `start`, [rows / repeat, length].
  Sequences(size_t rows, size_t repeat, std::span<const int32_t> start, size_t length) : now_(rows), next_(rows) {
    for (size_t i = 0; i < rows; ++i) {
      const auto from = start.subspan(i / repeat * length, length);
      now_[i].assign(from.begin(), from.end());
    }
  }
  size_t rows() const { return now_.size(); }
  size_t length() const { return now_.empty() ? 0 : now_[0].size(); }
  std::span<const int32_t> row(size_t i) const { return now_[i]; }

  void append(std::span<const int32_t> tokens) {
    for (size_t i = 0; i < now_.size(); ++i) now_[i].push_back(tokens[i]);
  }
  /// Row i becomes row origins[i], followed by tokens[i].
  void append(std::span<const uint32_t> origins, std::span<const int32_t> tokens) {
    for (size_t i = 0; i < now_.size(); ++i) next_[i] = now_[origins[i]];
    std::swap(now_, next_);
    append(tokens);
  }

 private:
  std::vector<std::vector<int32_t>> now_, next_;
};

}  // namespace retort::ops
