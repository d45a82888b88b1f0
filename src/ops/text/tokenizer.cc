// com.microsoft.Tokenizer: the tokens of each string along a new last axis, whose extent is the largest number of
// tokens; shorter lists are padded. Tokens are the texts between separators, the matches of an expression, or single
// characters.
#include <optional>

#include "ops/op.h"
#include "ops/text/common/regex.h"

namespace retort::ops {
namespace {

using Text = std::string_view;
using Texts = std::vector<std::string_view>;

/// Characters of UTF-8. Throws invalid_argument if the bytes are not UTF-8.
int64_t characters(Text text) {
  int64_t count = 0;
  for (Text rest = text; !rest.empty(); ++count) {
    const CodePoint c = first_code_point(rest);
    require(c.code != kNoCode, ErrorCode::invalid_argument, "a string is not UTF-8 at byte {}",
            text.size() - rest.size());
    rest.remove_prefix(c.length);
  }
  return count;
}

/// The byte where the next character begins; after the last character, the size of the text plus one.
size_t next_character(Text text, size_t at) {
  return at < text.size() ? at + first_code_point(text.substr(at)).length : at + 1;
}

struct Tokenizer {
  int64_t mark = 0, least = 0;
  std::string pad, expression;
  std::optional<std::vector<std::string>> separators;
  static constexpr std::tuple attributes{required("mark", &Tokenizer::mark), required("mincharnum", &Tokenizer::least),
                                         required("pad_value", &Tokenizer::pad),
                                         attr("separators", &Tokenizer::separators),
                                         attr("tokenexp", &Tokenizer::expression)};

  struct Compiled : State {
    explicit Compiled(const std::vector<std::string>& list) : patterns(list.begin(), list.end()) {}
    std::vector<Regex> patterns;
  };

  bool by_character() const {
    return separators ? separators->size() == 1 && separators->front().empty() : expression == ".";
  }
  std::vector<std::string> patterns() const {
    if (by_character()) return {};
    return separators ? *separators : std::vector<std::string>{expression};
  }
  void check() const {
    require(least > 0 && (!by_character() || least < 2), ErrorCode::invalid_argument,
            "mincharnum is {}; 1 is the least, and all that single characters can have", least);
    require(separators ? !separators->empty() : !expression.empty(), ErrorCode::invalid_argument,
            "separators and tokenexp are missing or empty; expected one of them");
    Compiled{patterns()};
  }
  void infer(InferContext& c) const {
    c.set(0, DType::string);
    Shape y = c.shape(0);
    check_shape(y, c.dims().text(y));
    y.push_back(c.unknown_extent());
    c.set(0, DType::string, y);
  }
  std::unique_ptr<State> prepare(PrepareContext&) const { return std::make_unique<Compiled>(patterns()); }

  void run(RunContext& c) const {
    check_shape(c.shape(0), to_string(c.shape(0)));
    const std::optional<Compiled> own = c.state<Compiled>() ? std::nullopt : std::optional<Compiled>(patterns());
    const std::vector<Regex>& found = own ? own->patterns : c.state<Compiled>()->patterns;
    std::vector<Texts> all;
    size_t most = 0;
    for (const std::string& text : c.input<std::string>(0)) {
      const int64_t count = characters(text);
      all.push_back(by_character() ? single(text) : separators ? between(found, text) : matched(found[0], text, count));
      most = std::max(most, all.back().size());
    }
    const size_t marks = mark && most > 0 ? 2 : 0, width = most + marks;
    Shape shape = c.shape(0);
    shape.push_back(int64_t(width));
    auto* y = static_cast<std::string*>(c.allocate(0, DType::string, shape));
    for (const Texts& tokens : all) {
      size_t i = 0;
      if (marks) y[i++] = "\x02";
      for (const Text token : tokens) y[i++] = token;
      if (marks) y[i++] = "\x03";
      while (i < width) y[i++] = pad;
      y += width;
    }
  }

 private:
  static void check_shape(const Shape& x, const std::string& text) {
    require(x.rank() == 1 || x.rank() == 2, ErrorCode::invalid_argument, "X of shape {}, expected [C] or [N, C]", text);
  }

  static Texts single(Text text) {
    Texts tokens;
    for (size_t at = 0; at < text.size();) {
      const size_t end = next_character(text, at);
      tokens.push_back(text.substr(at, end - at));
      at = end;
    }
    return tokens;
  }

  // Each separator divides the parts that the separators before it made.
  Texts between(const std::vector<Regex>& list, Text text) const {
    Texts parts = {text};
    for (const Regex& separator : list) {
      Texts divided;
      for (const Text part : parts) divide(separator, part, divided);
      parts = std::move(divided);
    }
    return parts;
  }
  void divide(const Regex& separator, Text text, Texts& to) const {
    const auto add = [&](size_t begin, size_t end) {
      const Text token = text.substr(begin, end - begin);
      if (characters(token) >= least) to.push_back(token);
    };
    size_t at = 0;
    while (at <= text.size()) {
      const auto part = separator.find(text, at);
      if (!part) break;
      add(at, part->begin);
      at = part->end > part->begin ? part->end : next_character(text, part->begin);
    }
    if (at < text.size()) add(at, text.size());
  }

  // If a match is too short, the search continues after its first character.
  Texts matched(const Regex& token, Text text, int64_t count) const {
    Texts tokens;
    for (size_t at = 0; count >= least && at <= text.size();) {
      const auto part = token.find(text, at);
      if (!part) break;
      const Text found = text.substr(part->begin, part->end - part->begin);
      const bool enough = characters(found) >= least;
      if (enough) tokens.push_back(found);
      at = enough ? part->end : next_character(text, part->begin);
    }
    return tokens;
  }
};

}  // namespace

extern const OpDef op_tokenizer;
constinit const OpDef op_tokenizer = define<Tokenizer>({
    .name = "Tokenizer",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kString,
    .traits = kDynamicOutput,
});

}  // namespace retort::ops
