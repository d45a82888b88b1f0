// OneHotEncoder: each element becomes a vector of zeros with a one at the index of its category in the list. Numbers
// are truncated to integers first. An element without a category becomes zeros only, or is an error if `zeros` is 0.
//
// As in ONNX Runtime, the last of equal categories counts, X may have any rank, and elements of another kind than the
// categories have no category.
#include <string>
#include <unordered_map>

#include "kernels/elementwise/convert.h"
#include "ops/ml/common/features.h"

namespace retort::ops {
namespace {

struct OneHotEncoder {
  std::vector<int64_t> ints;
  std::vector<std::string> strings;
  bool zeros = true;
  static constexpr std::tuple attributes{attr("cats_int64s", &OneHotEncoder::ints),
                                         attr("cats_strings", &OneHotEncoder::strings),
                                         attr("zeros", &OneHotEncoder::zeros)};

  void check() const {
    require(ints.empty() != strings.empty(), ErrorCode::invalid_argument,
            "exactly one of cats_int64s and cats_strings is needed");
  }
  size_t categories() const { return ints.size() + strings.size(); }

  void infer(InferContext& c) const {
    c.set(0, DType::f32);
    Shape y = c.shape(0);
    y.push_back(Dim(categories()));
    c.set(0, DType::f32, std::move(y));
  }

  struct Categories : State {
    explicit Categories(const OneHotEncoder& op) {
      for (size_t i = 0; i < op.ints.size(); ++i) ints[op.ints[i]] = i;
      for (size_t i = 0; i < op.strings.size(); ++i) strings[op.strings[i]] = i;
    }
    std::unordered_map<int64_t, size_t> ints;
    std::unordered_map<std::string, size_t> strings;

    /// The index of the category of x, or null.
    template <typename T>
    const size_t* find(const T& x) const {
      if constexpr (std::same_as<T, std::string>) {
        const auto found = strings.find(x);
        return found == strings.end() ? nullptr : &found->second;
      } else {
        const auto found = ints.find(kernels::convert<int64_t>(x));
        return found == ints.end() ? nullptr : &found->second;
      }
    }
  };
  std::unique_ptr<State> prepare(PrepareContext&) const { return std::make_unique<Categories>(*this); }

  void run(RunContext& c) const {
    const std::optional<Categories> own = c.state<Categories>() ? std::nullopt : std::optional<Categories>(*this);
    const Categories& categories = own ? *own : *c.state<Categories>();
    if (c.dtype(0) == DType::string) return encode<std::string>(c, categories);
    visit_features(c.dtype(0), [&]<typename T>(std::type_identity<T>) { encode<T>(c, categories); });
  }

 private:
  template <typename T>
  void encode(RunContext& c, const Categories& categories) const {
    const auto x = c.input<T>(0);
    const auto y = c.output<float>();
    for (size_t i = 0; !zeros && i < x.size(); ++i) {
      require(categories.find(x[i]) != nullptr, ErrorCode::fail,
              "element {} of X is {}, which is not a category, and zeros is 0", i, x[i]);
    }
    const size_t n = y.size() / std::max<size_t>(x.size(), 1);
    std::ranges::fill(y, 0.0f);
    for (size_t i = 0; i < x.size(); ++i) {
      if (const size_t* at = categories.find(x[i])) y[i * n + *at] = 1;
    }
  }
};

}  // namespace

extern const OpDef op_one_hot_encoder;
constinit const OpDef op_one_hot_encoder = define<OneHotEncoder>({
    .name = "OneHotEncoder",
    .domain = "ai.onnx.ml",
    .since = {1},
    .inputs = {"X: T"},
    .outputs = {"Y: float"},
    .types = kFeatureTypes | kString,
});

}  // namespace retort::ops
