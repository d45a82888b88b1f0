#include "tokenizer.h"

#include <unicode/regex.h>
#include <unicode/unistr.h>

#include <fstream>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace chat {
namespace {

// How GPT-2 cuts a text into words.
constexpr char kWords[] = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|)"
                          R"(\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+)";

// A vocabulary is written in letters that stand for bytes: printable ones for themselves, the others from U+0100 on.
std::vector<char32_t> letters_of_bytes() {
  std::vector<char32_t> letters(256);
  char32_t next = 256;
  for (int b = 0; b < 256; ++b) {
    const bool printable = (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
    letters[size_t(b)] = printable ? char32_t(b) : next++;
  }
  return letters;
}

std::string utf8(char32_t letter) {
  std::string text;
  return icu::UnicodeString(UChar32(letter)).toUTF8String(text);
}

// The bytes that a token's letters stand for.
std::string bytes_of(const std::string& letters, const std::unordered_map<char32_t, char>& bytes) {
  const icu::UnicodeString text = icu::UnicodeString::fromUTF8(letters);
  std::string found;
  for (int32_t i = 0; i < text.length(); i = text.moveIndex32(i, 1)) found += bytes.at(char32_t(text.char32At(i)));
  return found;
}

bool splits_digits(const nlohmann::json& file) {
  bool digits = false, bytes = false;
  for (const auto& part : file.at("pre_tokenizer").at("pretokenizers")) {
    digits = digits || (part.at("type") == "Digits" && part.at("individual_digits") == true);
    bytes = bytes || (part.at("type") == "ByteLevel" && part.at("use_regex") == true);
  }
  if (file.at("model").at("type") != "BPE" || !bytes)
    throw std::runtime_error("the tokenizer is no byte-level BPE with the words of GPT-2; convert the model anew");
  return digits;
}

}  // namespace

struct Tokenizer::Splits {
  UErrorCode status = U_ZERO_ERROR;
  std::unique_ptr<icu::RegexPattern> digits, words;

  explicit Splits(bool each_digit) {
    if (each_digit) digits = pattern("\\p{N}|\\P{N}+");
    words = pattern(kWords);
  }
  std::unique_ptr<icu::RegexPattern> pattern(const char* text) {
    std::unique_ptr<icu::RegexPattern> found(icu::RegexPattern::compile(icu::UnicodeString::fromUTF8(text), 0, status));
    if (U_FAILURE(status)) throw std::runtime_error(std::string("ICU rejects a pattern: ") + u_errorName(status));
    return found;
  }
  static void each(const icu::RegexPattern& pattern, const icu::UnicodeString& text,
                   const std::function<void(const icu::UnicodeString&)>& f) {
    UErrorCode status = U_ZERO_ERROR;
    const std::unique_ptr<icu::RegexMatcher> matcher(pattern.matcher(text, status));
    while (U_SUCCESS(status) && matcher->find(status)) f(matcher->group(status));
    if (U_FAILURE(status)) throw std::runtime_error(std::string("ICU cannot split a text: ") + u_errorName(status));
  }
  void each_word(const icu::UnicodeString& text, const std::function<void(const icu::UnicodeString&)>& f) const {
    if (!digits) return each(*words, text, f);
    each(*digits, text, [&](const icu::UnicodeString& part) { each(*words, part, f); });
  }
};

Tokenizer::Tokenizer(const std::filesystem::path& path) : of_byte_(256) {
  std::ifstream stream(path);
  if (!stream) throw std::runtime_error("cannot read " + path.string() + "; bench/llm writes it beside the model");
  const nlohmann::json file = nlohmann::json::parse(stream);
  splits_ = std::make_unique<Splits>(splits_digits(file));
  for (const auto& token : file.at("added_tokens"))
    specials_[token.at("content").get<std::string>()] = token.at("id").get<int64_t>();

  const std::vector<char32_t> letters = letters_of_bytes();
  std::unordered_map<char32_t, char> byte_of;
  for (size_t b = 0; b < letters.size(); ++b) byte_of[letters[b]] = char(b);
  std::unordered_map<std::string, int64_t> tokens;
  for (const auto& [text, number] : file.at("model").at("vocab").items()) tokens[text] = number.get<int64_t>();
  bytes_.resize(tokens.size());
  for (const auto& [text, number] : tokens)
    if (!specials_.contains(text)) bytes_.at(size_t(number)) = bytes_of(text, byte_of);
  for (size_t b = 0; b < letters.size(); ++b) {
    const auto found = tokens.find(utf8(letters[b]));  // a vocabulary may lack bytes that UTF-8 does not use
    of_byte_[b] = found == tokens.end() ? -1 : found->second;
  }
  std::vector<std::pair<std::string, std::string>> merges;
  for (const auto& merge : file.at("model").at("merges")) {
    const auto text = merge.get<std::string>();
    const size_t space = text.find(' ');
    merges.emplace_back(text.substr(0, space), text.substr(space + 1));
  }
  add_merges(merges, tokens);
}

Tokenizer::~Tokenizer() = default;

void Tokenizer::add_merges(const std::vector<std::pair<std::string, std::string>>& merges,
                           const std::unordered_map<std::string, int64_t>& tokens) {
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const auto& [left, right] = merges[rank];
    merges_.emplace(pair(tokens.at(left), tokens.at(right)), Merge{rank, tokens.at(left + right)});
  }
}

int64_t Tokenizer::special(const std::string& name) const {
  const auto found = specials_.find(name);
  if (found == specials_.end()) throw std::runtime_error("the tokenizer has no token " + name);
  return found->second;
}

std::vector<int64_t> Tokenizer::encode(std::string_view text) const {
  std::vector<int64_t> tokens;
  const icu::UnicodeString whole = icu::UnicodeString::fromUTF8(icu::StringPiece(text.data(), int32_t(text.size())));
  splits_->each_word(whole, [&](const icu::UnicodeString& word) {
    std::string bytes;
    encode_word(word.toUTF8String(bytes), tokens);
  });
  return tokens;
}

// Joins the pair of neighbours that was learnt first, until no pair is known.
void Tokenizer::encode_word(std::string_view word, std::vector<int64_t>& to) const {
  std::vector<int64_t> parts;
  for (const char c : word) {
    const int64_t token = of_byte_[uint8_t(c)];
    if (token < 0) throw std::runtime_error("the vocabulary has no token for the byte " + std::to_string(uint8_t(c)));
    parts.push_back(token);
  }
  while (parts.size() > 1) {
    size_t best = parts.size();
    Merge merge{std::numeric_limits<size_t>::max(), 0};
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto found = merges_.find(pair(parts[i], parts[i + 1]));
      if (found == merges_.end() || found->second.rank >= merge.rank) continue;
      best = i;
      merge = found->second;
    }
    if (best == parts.size()) break;
    parts[best] = merge.token;
    parts.erase(parts.begin() + std::ptrdiff_t(best) + 1);
  }
  to.insert(to.end(), parts.begin(), parts.end());
}

}  // namespace chat
