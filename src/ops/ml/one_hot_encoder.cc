// OneHotEncoder: each element becomes a vector of zeros with a one at the index of its category in the list. Numbers
// are truncated to integers first. An element without a category becomes zeros only, or is an error if `zeros` is 0.
//
// As in ONNX Runtime, the last of equal categories counts, X may have any rank, and elements of another kind than the
// categories have no category.
#include <algorithm>
#include <cstring>
#include <string>

#include "base/checked.h"
#include "kernels/elementwise/convert.h"
#include "ops/ml/common/features.h"
#include "ops/ml/common/key_table.h"

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
    explicit Categories(const OneHotEncoder& op) : text(!op.strings.empty()) {
      for (size_t i = 0; i < op.ints.size(); ++i) table.add(uint64_t(op.ints[i]), 0) = uint32_t(i);
      for (size_t i = 0; i < op.strings.size(); ++i) table.add(op.strings[i], 0) = uint32_t(i);
    }
    KeyTable table;
    bool text = false;

    /// The index of the category of x, or KeyTable::kNone.
    template <typename T>
    uint32_t find(const T& x) const {
      if constexpr (std::same_as<T, std::string>) {
        return text ? table.find(x) : KeyTable::kNone;
      } else {
        return text ? KeyTable::kNone : table.find(uint64_t(kernels::convert<int64_t>(x)));
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
    constexpr size_t kBlock = 256;
    const auto x = c.input<T>(0);
    const size_t n = this->categories();
    c.parallel().for_each(ceil_div(x.size(), kBlock), [&](size_t block, int) {
      const size_t first = block * kBlock, end = std::min(x.size(), first + kBlock);
      float* const y = c.output<float>().data();
      std::memset(y + first * n, 0, (end - first) * n * sizeof(float));
      for (size_t i = first; i < end; ++i) {
        const uint32_t at = categories.find(x[i]);
        require(zeros || at != KeyTable::kNone, ErrorCode::fail,
                "element {} of X is {}, which is not a category, and zeros is 0", i, x[i]);
        if (at != KeyTable::kNone) y[i * n + at] = 1;
      }
    });
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
