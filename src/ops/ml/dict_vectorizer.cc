// DictVectorizer: the values of a map, each where its key stands in the vocabulary, else zeros: [1, words]. As in ONNX
// Runtime a key that is no word is left out, and a word that stands there twice has its value twice.
#include <algorithm>
#include <numeric>
#include <string>

#include "ops/ml/common/map.h"

namespace retort::ops {
namespace {

struct DictVectorizer {
  std::vector<int64_t> ints;
  std::vector<std::string> strings;
  static constexpr std::tuple attributes{attr("int64_vocabulary", &DictVectorizer::ints),
                                         attr("string_vocabulary", &DictVectorizer::strings)};

  void check() const {
    require(ints.empty() != strings.empty(), ErrorCode::invalid_argument,
            "exactly one of int64_vocabulary and string_vocabulary is needed");
  }
  int64_t words() const { return int64_t(ints.size() + strings.size()); }

  void infer(InferContext& c) const {
    const ValueType& map = map_type(c, 0);
    const DType key = ints.empty() ? DType::string : DType::i64;
    require(map.key == key, ErrorCode::invalid_graph, "the keys of the map are {}, the vocabulary is of {}",
            dtype_name(map.key), dtype_name(key));
    c.set(0, map.dtype, {1, words()});
  }

  /// Positions of the words in their order.
  struct Sorted : State {
    explicit Sorted(const DictVectorizer& op) : order(size_t(op.words())) {
      std::iota(order.begin(), order.end(), size_t(0));
      const auto sort = [this](const auto& words) { std::ranges::sort(order, {}, [&](size_t i) { return words[i]; }); };
      op.ints.empty() ? sort(op.strings) : sort(op.ints);
    }
    std::vector<size_t> order;
  };
  std::unique_ptr<State> prepare(PrepareContext&) const { return std::make_unique<Sorted>(*this); }

  void run(RunContext& c) const {
    const std::optional<Sorted> own = c.state<Sorted>() ? std::nullopt : std::optional<Sorted>(*this);
    const Sorted& sorted = own ? *own : *c.state<Sorted>();
    const Map& map = map_at(c, 0);
    Tensor y(map.values.dtype(), {1, words()});
    switch (y.dtype()) {
      case DType::string:
        place<std::string>(sorted, map, y);
        break;
      case DType::i64:
        place<int64_t>(sorted, map, y);
        break;
      case DType::f32:
        place<float>(sorted, map, y);
        break;
      case DType::f64:
        place<double>(sorted, map, y);
        break;
      default:
        fail(ErrorCode::invalid_argument, "the values of the map are {}, expected int64, float, double or strings",
             dtype_name(y.dtype()));
    }
    c.set_value(0, std::move(y));
  }

 private:
  template <typename T>
  void place(const Sorted& sorted, const Map& map, Tensor& y) const {
    std::fill_n(y.mutable_data<T>(), y.count(), T());
    ints.empty() ? place<T>(sorted, strings, map, y) : place<T>(sorted, ints, map, y);
  }
  template <typename T, typename Key>
  static void place(const Sorted& sorted, const std::vector<Key>& words, const Map& map, Tensor& y) {
    for (size_t i = 0; i < map.keys.count(); ++i) {
      const auto same = std::ranges::equal_range(sorted.order, map.keys.data<Key>()[i], {},
                                                 [&](size_t at) -> const Key& { return words[at]; });
      for (const size_t at : same) y.mutable_data<T>()[at] = map.values.data<T>()[i];
    }
  }
};

}  // namespace

extern const OpDef op_dict_vectorizer;
constinit const OpDef op_dict_vectorizer = define<DictVectorizer>({
    .name = "DictVectorizer",
    .domain = "ai.onnx.ml",
    .since = {1},
    .inputs = {"X: M"},
    .outputs = {"Y: V"},
    .traits = kBoxed,
});

}  // namespace retort::ops
