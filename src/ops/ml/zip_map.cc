// ZipMap: a matrix of scores becomes a sequence of maps, one per row, from class label to score.
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

  Tensor keys() const {
    const auto n = int64_t(int_labels.size() + string_labels.size());
    return int_labels.empty() ? Tensor::of<std::string>({n}, string_labels) : Tensor::of<int64_t>({n}, int_labels);
  }

  void run(RunContext& c) const {
    const Shape& shape = c.shape(0);
    const Tensor labels = keys();
    const auto classes = int64_t(labels.count());
    require(shape.rank() >= 1 && shape.rank() <= 2 && shape.back() == classes, ErrorCode::invalid_argument,
            "input 'X' has shape {}, but {} labels need [N,{}] or [{}]", to_string(shape), classes, classes, classes);
    const auto x = c.input<float>(0);
    Sequence rows;
    for (size_t at = 0; at + size_t(classes) <= x.size() && classes > 0; at += size_t(classes)) {
      Tensor scores(DType::f32, {classes});
      std::copy_n(x.begin() + ptrdiff_t(at), classes, scores.mutable_data<float>());
      rows.items.emplace_back(Map{labels, std::move(scores)});
    }
    c.set_value(0, std::move(rows));
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
