// CategoryMapper: maps integers to strings and strings to integers by two parallel lists, with defaults. As in ONNX
// Runtime, the last of equal keys counts.
#include <string>
#include <unordered_map>

#include "ops/op.h"

namespace retort::ops {
namespace {

struct CategoryMapper {
  std::vector<int64_t> ints;
  std::vector<std::string> strings;
  int64_t default_int = -1;
  std::string default_string = "_Unused";
  static constexpr std::tuple attributes{
      attr("cats_int64s", &CategoryMapper::ints), attr("cats_strings", &CategoryMapper::strings),
      attr("default_int64", &CategoryMapper::default_int), attr("default_string", &CategoryMapper::default_string)};

  void check() const {
    require(!ints.empty() && ints.size() == strings.size(), ErrorCode::invalid_argument,
            "cats_int64s has {} entries, cats_strings {}: their numbers must be equal", ints.size(), strings.size());
  }
  void infer(InferContext& c) const {
    const DType y = c.dtype(0) == DType::string ? DType::i64 : DType::string;
    c.set(0, y);
    c.set(0, y, c.shape(0));
  }

  struct Pairs : State {
    explicit Pairs(const CategoryMapper& op) {
      for (size_t i = 0; i < op.ints.size(); ++i) {
        of_string[op.strings[i]] = op.ints[i];
        of_int[op.ints[i]] = op.strings[i];
      }
    }
    std::unordered_map<std::string, int64_t> of_string;
    std::unordered_map<int64_t, std::string> of_int;
  };
  std::unique_ptr<State> prepare(PrepareContext&) const { return std::make_unique<Pairs>(*this); }

  void run(RunContext& c) const {
    const std::optional<Pairs> own = c.state<Pairs>() ? std::nullopt : std::optional<Pairs>(*this);
    const Pairs& pairs = own ? *own : *c.state<Pairs>();
    if (c.dtype(0) == DType::string)
      look_up(c.input<std::string>(0), pairs.of_string, default_int, c.output<int64_t>());
    else
      look_up(c.input<int64_t>(0), pairs.of_int, default_string, c.output<std::string>());
  }

 private:
  template <typename Key, typename To>
  static void look_up(std::span<const Key> x, const std::unordered_map<Key, To>& pairs, const To& otherwise,
                      std::span<To> y) {
    for (size_t i = 0; i < x.size(); ++i) {
      const auto found = pairs.find(x[i]);
      y[i] = found == pairs.end() ? otherwise : found->second;
    }
  }
};

}  // namespace

extern const OpDef op_category_mapper;
constinit const OpDef op_category_mapper = define<CategoryMapper>({
    .name = "CategoryMapper",
    .domain = "ai.onnx.ml",
    .since = {1},
    .inputs = {"X: T"},
    .outputs = {"Y: V"},
    .types = kString | types({DType::i64}),
});

}  // namespace retort::ops
