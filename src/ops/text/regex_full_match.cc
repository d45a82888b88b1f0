// RegexFullMatch: for each string, whether the whole of it matches a pattern in RE2's syntax.
#include "ops/op.h"
#include "ops/text/common/regex.h"

namespace retort::ops {
namespace {

struct RegexFullMatch {
  std::string pattern;
  static constexpr std::tuple attributes{attr("pattern", &RegexFullMatch::pattern)};

  struct Compiled : State {
    explicit Compiled(const std::string& pattern) : regex(pattern) {}
    Regex regex;
  };
  void check() const { Regex{pattern}; }
  void infer(InferContext& c) const {
    c.set(0, DType::boolean);
    c.set(0, DType::boolean, c.shape(0));
  }
  std::unique_ptr<State> prepare(PrepareContext&) const { return std::make_unique<Compiled>(pattern); }
  void run(RunContext& c) const {
    const auto x = c.input<std::string>(0);
    const auto y = c.output<bool>();
    const std::optional<Compiled> own = c.state<Compiled>() ? std::nullopt : std::optional<Compiled>(pattern);
    const Regex& regex = own ? own->regex : c.state<Compiled>()->regex;
    for (size_t i = 0; i < x.size(); ++i) y[i] = regex.matches(x[i]);
  }
};

}  // namespace

extern const OpDef op_regex_full_match;
constinit const OpDef op_regex_full_match = define<RegexFullMatch>({
    .name = "RegexFullMatch",
    .since = {20},
    .inputs = {"X: T"},
    .outputs = {"Y: bool"},
    .types = kString,
});

}  // namespace retort::ops
