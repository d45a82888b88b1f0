// Byte-level BPE, the tokenizer of GPT-2 and its heirs, as tokenizer.json describes it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace chat {

/// Texts are UTF-8. One object may be used by several threads.
class Tokenizer {
 public:
  /// Throws std::runtime_error if the file does not exist, or describes another kind of tokenizer.
  explicit Tokenizer(const std::filesystem::path& file);
  ~Tokenizer();

  /// The tokens of a text, in which names of special tokens have no special meaning.
  std::vector<int64_t> encode(std::string_view text) const;
  /// The number of a special token; throws std::runtime_error if there is none with this name.
  int64_t special(const std::string& name) const;
  /// The bytes of a token, which may be a part of a character; none for special tokens.
  const std::string& bytes(int64_t token) const { return bytes_.at(size_t(token)); }

 private:
  struct Merge {
    size_t rank;
    int64_t token;
  };
  struct Splits;

  void add_merges(const std::vector<std::pair<std::string, std::string>>& merges,
                  const std::unordered_map<std::string, int64_t>& tokens);
  void encode_word(std::string_view word, std::vector<int64_t>& to) const;
  static uint64_t pair(int64_t left, int64_t right) { return uint64_t(left) << 32 | uint64_t(right); }

  std::vector<std::string> bytes_;
  std::vector<int64_t> of_byte_;
  std::unordered_map<std::string, int64_t> specials_;
  std::unordered_map<uint64_t, Merge> merges_;
  std::unique_ptr<Splits> splits_;
};

}  // namespace chat
