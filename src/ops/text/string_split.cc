// StringSplit: the parts of each string along a new last axis, whose extent is the largest number of parts; shorter
// lists are padded with empty strings. Without a delimiter, strings are split at white space.
#include "ops/op.h"

namespace retort::ops {
namespace {

struct StringSplit {
  std::string delimiter;
  std::optional<int64_t> most;
  static constexpr std::tuple attributes{attr("delimiter", &StringSplit::delimiter),
                                         attr("maxsplit", &StringSplit::most)};

  void check() const { require(!most || *most >= 0, ErrorCode::invalid_argument, "maxsplit is {}", most.value_or(0)); }
  void infer(InferContext& c) const {
    c.set(0, DType::string);
    c.set(1, DType::i64);
    c.set(1, DType::i64, c.shape(0));
    Shape parts = c.shape(0);
    parts.push_back(c.unknown_extent());
    c.set(0, DType::string, parts);
  }

  void run(RunContext& c) const {
    const auto x = c.input<std::string>(0);
    std::vector<std::vector<std::string_view>> all;
    size_t longest = 0;
    for (const std::string& text : x) {
      all.push_back(delimiter.empty() ? words(text) : parts(text));
      longest = std::max(longest, all.back().size());
    }
    Shape shape = c.shape(0);
    auto* counts = static_cast<int64_t*>(c.allocate(1, DType::i64, shape));
    shape.push_back(int64_t(longest));
    auto* y = static_cast<std::string*>(c.allocate(0, DType::string, shape));
    for (size_t i = 0; i < all.size(); ++i) {
      counts[i] = int64_t(all[i].size());
      for (size_t k = 0; k < all[i].size(); ++k) y[i * longest + k] = all[i][k];
    }
  }

 private:
  bool full(const std::vector<std::string_view>& list) const { return most && int64_t(list.size()) == *most; }

  std::vector<std::string_view> parts(std::string_view text) const {
    std::vector<std::string_view> list;
    if (text.empty()) return list;
    for (size_t at = text.find(delimiter); at != text.npos && !full(list); at = text.find(delimiter)) {
      list.push_back(text.substr(0, at));
      text.remove_prefix(at + delimiter.size());
    }
    list.push_back(text);
    return list;
  }
  std::vector<std::string_view> words(std::string_view text) const {
    constexpr std::string_view kSpace = " \t\n\v\f\r";
    std::vector<std::string_view> list;
    for (size_t at = text.find_first_not_of(kSpace); at != text.npos; at = text.find_first_not_of(kSpace)) {
      text.remove_prefix(at);
      if (full(list)) {
        list.push_back(text.substr(0, text.find_last_not_of(kSpace) + 1));
        break;
      }
      const size_t end = std::min(text.find_first_of(kSpace), text.size());
      list.push_back(text.substr(0, end));
      text.remove_prefix(end);
    }
    return list;
  }
};

}  // namespace

extern const OpDef op_string_split;
constinit const OpDef op_string_split = define<StringSplit>({
    .name = "StringSplit",
    .since = {20},
    .inputs = {"X: T"},
    .outputs = {"Y: string", "Z: int64"},
    .types = kString,
    .traits = kDynamicOutput,
});

}  // namespace retort::ops
