// ZipMap: a matrix of scores becomes a sequence of maps, one per row, from class label to score.
#include <map>

#include "base/error.h"
#include "ops/sequence/common/sequence.h"

namespace retort::ops {
namespace {

struct ZipMap {
  std::vector<int64_t> int_labels;
  std::vector<std::string> string_labels;
  static constexpr std::tuple attributes{attr("classlabels_int64s", &ZipMap::int_labels),
                                         attr("classlabels_strings", &ZipMap::string_labels)};

  void check() const {
    require(int_labels.empty() != string_labels.empty(), ErrorCode::invalid_graph,
            "ZipMap needs exactly one of classlabels_int64s and classlabels_strings");
  }

  void infer(InferContext& c) const {
    ValueType map;
    map.kind = ValueType::Kind::map;
    map.key = int_labels.empty() ? DType::string : DType::i64;
    map.dtype = DType::f32;
    map.element = std::make_shared<const ValueType>(ValueType::tensor(DType::f32));
    c.set(0, ValueType::sequence_of(map));
  }

  void run(RunContext& c) const {
    const Shape& shape = c.shape(0);
    const size_t classes = int_labels.size() + string_labels.size();
    require(shape.rank() >= 1 && shape.rank() <= 2 && size_t(shape.back()) == classes, ErrorCode::invalid_argument,
            "input 'X' has shape {}, but {} labels need [N,{}] or [{}]", to_string(shape), classes, classes, classes);
    if (const auto* known = c.state<Columns>()) return c.set_value(0, rows_of(c.input<float>(0), *known));
    c.set_value(0, rows_of(c.input<float>(0), columns()));
  }
  std::unique_ptr<State> prepare(PrepareContext&) const { return std::make_unique<Columns>(columns()); }

 private:
  /// The keys of a map, which ascend, and the column of each. Of equal labels, the last counts.
  struct Columns : State {
    Tensor keys;
    std::vector<size_t> order;
  };
  template <typename Label>
  static Columns columns_of(const std::vector<Label>& labels) {
    std::map<Label, size_t> found;
    for (size_t i = 0; i < labels.size(); ++i) found[labels[i]] = i;
    Columns c;
    c.keys = Tensor(dtype_of<Label>, {int64_t(found.size())});
    auto* key = c.keys.mutable_data<Label>();
    for (const auto& [label, column] : found) {
      *key++ = label;
      c.order.push_back(column);
    }
    return c;
  }
  Columns columns() const { return int_labels.empty() ? columns_of(string_labels) : columns_of(int_labels); }

  /// All maps share one tensor of keys, which the caller may change, and parts of one of scores.
  Sequence rows_of(std::span<const float> x, const Columns& columns) const {
    const size_t width = columns.order.size(), classes = int_labels.size() + string_labels.size();
    const size_t rows = x.size() / classes;
    const Tensor keys = *own_copy(columns.keys).tensor();
    Tensor scores(DType::f32, {int64_t(rows * width)});
    auto* score = scores.mutable_data<float>();
    std::vector<Value> all;
    all.reserve(rows);
    for (size_t row = 0; row < rows; ++row) {
      Tensor part(DType::f32, {int64_t(width)}, score, scores.owner());
      for (const size_t column : columns.order) *score++ = x[row * classes + column];
      all.emplace_back(Map{keys, std::move(part)});
    }
    return {.items = std::move(all)};
  }
};

}  // namespace

extern const OpDef op_zip_map;
constinit const OpDef op_zip_map = define<ZipMap>({
    .name = "ZipMap",
    .domain = "ai.onnx.ml",
    .since = {1},
    .inputs = {"X: float"},
    .outputs = {"Z: S"},
    .traits = kBoxed,
});

}  // namespace retort::ops
