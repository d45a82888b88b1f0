// The part of the example that uses the engine.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "images.h"
#include "retort/retort.hpp"

namespace digits {

/// A loaded model whose input and output are bound to memory of this object: run() reads image() and writes
/// probabilities() in place. Not thread-safe.
class Classifier {
 public:
  /// Loads the model into the engine. Throws std::exception.
  explicit Classifier(const std::string& model_path);
  Classifier(const Classifier&) = delete;  // the binding points to its members

  std::span<float> image() { return image_; }  // 0..1, row by row
  void run() { binding_.run(); }
  std::span<const float> probabilities() const { return probabilities_; }

  /// Bytes that the engine has copied by itself since the session was created; empty if the engine does not count them.
  std::optional<uint64_t> copied_bytes() const { return session_.copied_bytes(); }
  std::string engine() const;

 private:
  std::array<float, kPixels> image_{};
  std::array<float, kClasses> probabilities_{};
  retort::api::Env env_;
  retort::api::Session session_;
  retort::api::IoBinding binding_;
};

}  // namespace digits
