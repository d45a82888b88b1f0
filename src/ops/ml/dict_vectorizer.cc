// DictVectorizer: the values of a map at the positions of their keys in the vocabulary, zeros elsewhere: [1, words]. As
// in ONNX Runtime, keys that are not in the vocabulary are omitted, a word that occurs twice has its value twice, and
// of two vocabularies the one with the type of the keys is used.
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

  int64_t words(DType key) const { return int64_t(key == DType::string ? strings.size() : ints.size()); }

  void infer(InferContext& c) const {
    const ValueType& map = map_type(c, 0);
    require(words(map.key) > 0, ErrorCode::invalid_graph,
            "the keys of the map are {}, but there is no vocabulary of that type", dtype_name(map.key));
    c.set(0, map.dtype, {1, words(map.key)});
  }

  /// Positions of the words in sorted order.
  struct Sorted : State {
    explicit Sorted(const DictVectorizer& op) : ints(sorted(op.ints)), strings(sorted(op.strings)) {}
    template <typename Key>
    static std::vector<size_t> sorted(const std::vector<Key>& words) {
      std::vector<size_t> order(words.size());
      std::iota(order.begin(), order.end(), size_t(0));
      std::ranges::sort(order, {}, [&](size_t i) -> const Key& { return words[i]; });
      return order;
    }
    std::vector<size_t> ints, strings;
  };
  std::unique_ptr<State> prepare(PrepareContext&) const { return std::make_unique<Sorted>(*this); }

  void run(RunContext& c) const {
    const std::optional<Sorted> own = c.state<Sorted>() ? std::nullopt : std::optional<Sorted>(*this);
    const Sorted& sorted = own ? *own : *c.state<Sorted>();
    const Map& map = map_at(c, 0);
    Tensor y(map.values.dtype(), {1, words(map.keys.dtype())});
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
    if (map.keys.dtype() == DType::string)
      place<T>(sorted.strings, strings, map, y);
    else
      place<T>(sorted.ints, ints, map, y);
  }
  template <typename T, typename Key>
  static void place(const std::vector<size_t>& order, const std::vector<Key>& words, const Map& map, Tensor& y) {
    for (size_t i = 0; i < map.keys.count(); ++i) {
      const Key& key = map.keys.data<Key>()[i];
      auto at = std::ranges::lower_bound(order, key, {}, [&](size_t word) -> const Key& { return words[word]; });
      for (; at != order.end() && words[*at] == key; ++at) y.mutable_data<T>()[*at] = map.values.data<T>()[i];
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
