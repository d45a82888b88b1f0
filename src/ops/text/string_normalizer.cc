// StringNormalizer: drops stop words and changes the case of the remaining words, by Unicode's simple mappings, or in
// the locale C those of ASCII. If no word remains, the result is one empty string.

#include <algorithm>
#include <unordered_set>

#include "ops/op.h"
#include "ops/text/common/utf8.h"

namespace retort::ops {
namespace {

enum class Case : uint8_t { none, lower, upper };

struct StopWords : State {
  std::unordered_set<std::string> words;
};

struct StringNormalizer {
  std::string action = "NONE", locale;
  bool case_sensitive = false;
  std::vector<std::string> stop_words;
  static constexpr std::tuple attributes{attr("case_change_action", &StringNormalizer::action),
                                         attr("is_case_sensitive", &StringNormalizer::case_sensitive),
                                         attr("locale", &StringNormalizer::locale),
                                         attr("stopwords", &StringNormalizer::stop_words)};

  Case change() const {
    constexpr std::string_view kNames[] = {"NONE", "LOWER", "UPPER"};
    const auto* found = std::ranges::find(kNames, action);
    require(found != std::end(kNames), ErrorCode::invalid_argument,
            "case_change_action \"{}\" is not one of NONE, LOWER, UPPER", action);
    return Case(found - std::begin(kNames));
  }
  void check() const { change(); }

  void infer(InferContext& c) const {
    c.set(0, DType::string);
    const Shape& x = c.shape(0);
    check_shape(x, c.dims().text(x));
    if (stop_words.empty() && is_known(x.back()) && x.back() > 0) return c.set(0, DType::string, x);
    const Dim kept = c.unknown_extent();
    c.set(0, DType::string, x.rank() == 1 ? Shape{kept} : Shape{1, kept});
  }

  /// In the locale "C", only ASCII letters have a case.
  std::string in_case(const std::string& word, bool upper) const {
    if (locale != "C" && locale != "POSIX") return with_case(word, upper);
    std::string result = word;
    for (char& letter : result) {
      if (letter >= (upper ? 'a' : 'A') && letter <= (upper ? 'z' : 'Z')) letter ^= 'a' ^ 'A';
    }
    return result;
  }

  /// Words that differ only in case have the same key, unless the search is case-sensitive.
  std::string key(const std::string& word) const { return case_sensitive ? word : in_case(word, false); }

  std::unique_ptr<StopWords> stops() const {
    auto result = std::make_unique<StopWords>();
    for (const std::string& word : stop_words) result->words.insert(key(word));
    return result;
  }
  std::unique_ptr<State> prepare(PrepareContext&) const { return stops(); }

  static void check_shape(const Shape& x, const std::string& text) {
    require(x.rank() == 1 || (x.rank() == 2 && (!is_known(x[0]) || x[0] == 1)), ErrorCode::invalid_argument,
            "X has shape {}, expected [C] or [1, C]", text);
  }

  void run(RunContext& c) const {
    check_shape(c.shape(0), to_string(c.shape(0)));
    if (const auto* state = c.state<StopWords>()) return normalize(c, *state);
    normalize(c, *stops());
  }

  void normalize(RunContext& c, const StopWords& stop) const {
    std::vector<const std::string*> kept;
    for (const std::string& word : c.input<std::string>(0)) {
      if (stop.words.empty() || !stop.words.contains(key(word))) kept.push_back(&word);
    }
    const auto n = int64_t(std::max<size_t>(kept.size(), 1));
    auto* y = static_cast<std::string*>(c.allocate(0, DType::string, c.shape(0).rank() == 1 ? Shape{n} : Shape{1, n}));
    const Case to = change();
    for (size_t i = 0; i < kept.size(); ++i) y[i] = to == Case::none ? *kept[i] : in_case(*kept[i], to == Case::upper);
  }
};

}  // namespace

extern const OpDef op_string_normalizer;
constinit const OpDef op_string_normalizer = define<StringNormalizer>({
    .name = "StringNormalizer",
    .since = {10},
    .inputs = {"X: string"},
    .outputs = {"Y: string"},
    .traits = kDynamicOutput,
});

}  // namespace retort::ops
