// ZipMap: a matrix of scores becomes a sequence of maps, one per row, from class label to score.
#include <map>

#include "base/error.h"
#include "ops/op.h"

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
    c.set_value(
        0, int_labels.empty() ? rows_of(c.input<float>(0), string_labels) : rows_of(c.input<float>(0), int_labels));
  }

 private:
  /// The keys of a map ascend. Of equal labels, the last counts. All maps share one tensor of keys, and parts of one of
  /// scores.
  template <typename Label>
  static Sequence rows_of(std::span<const float> x, const std::vector<Label>& labels) {
    std::map<Label, size_t> columns;
    for (size_t i = 0; i < labels.size(); ++i) columns[labels[i]] = i;
    const size_t rows = x.size() / labels.size(), width = columns.size();
    Tensor keys(dtype_of<Label>, {int64_t(width)});
    auto* key = keys.mutable_data<Label>();
    for (const auto& [label, column] : columns) *key++ = label;
    Tensor scores(DType::f32, {int64_t(rows * width)});
    auto* score = scores.mutable_data<float>();
    Sequence all;
    all.items.reserve(rows);
    for (size_t row = 0; row < rows; ++row) {
      Tensor part(DType::f32, {int64_t(width)}, score, scores.owner());
      for (const auto& [label, column] : columns) *score++ = x[row * labels.size() + column];
      all.items.push_back(Map{keys, std::move(part)});
    }
    return all;
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
