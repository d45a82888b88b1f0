// A language model whose cache of keys and values lies in memory of the program and is extended in place.
#pragma once
#include <filesystem>
#include <retort/retort.hpp>
#include <span>
#include <string>
#include <vector>

namespace chat {

/// The files of a model's folder (bench/llm makes it) and how to run it.
struct DecoderOptions {
  std::filesystem::path folder;
  int threads = 0;   ///< 0: one per core
  int64_t room = 0;  ///< the longest sequence; 0: what the model allows
};

/// One sequence of tokens. Not for several threads at once.
class Decoder {
 public:
  explicit Decoder(const DecoderOptions& options);

  /// Appends tokens, at least one; returns the logits after the last, which stay valid until the next call. Throws
  /// std::runtime_error if there is no room for them.
  std::span<const float> append(std::span<const int64_t> tokens);
  /// The tokens in the cache.
  const std::vector<int64_t>& tokens() const { return tokens_; }
  /// Keeps the first `count` tokens.
  void cut(size_t count) { tokens_.resize(count); }
  int64_t room() const { return room_; }

  /// Writes the tokens and their rows of the cache to a file.
  void save(const std::filesystem::path& file) const;
  /// Replaces the tokens by those of a file. Throws std::runtime_error if it was saved with another model.
  void load(const std::filesystem::path& file);

 private:
  struct Cache {
    std::string past, present;
    std::vector<std::byte> rows;  // [heads, room, row_bytes_]
  };
  void add_cache(const retort::api::Port& port);
  std::string header(size_t tokens) const;
  template <typename F>
  void for_each_head(const F& f) const;

  std::filesystem::path model_;
  retort::api::Env env_;
  retort::api::Session session_;
  retort::api::IoBinding binding_;
  int64_t room_, heads_ = 0;
  size_t row_bytes_ = 0;
  std::vector<Cache> caches_;
  std::vector<int64_t> tokens_, mask_;
  std::vector<float> logits_;
};

}  // namespace chat
