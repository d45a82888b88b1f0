// FeatureVectorizer: concatenates the inputs as floats, each truncated or padded with zeros to its number of columns. A
// vector is one row. As in ONNX Runtime, axes after the first count as one.
#include <algorithm>

#include "base/checked.h"
#include "ops/ml/common/features.h"

namespace retort::ops {
namespace {

struct FeatureVectorizer {
  std::vector<int64_t> columns;
  static constexpr std::tuple attributes{attr("inputdimensions", &FeatureVectorizer::columns)};

  void check() const {
    require(!columns.empty(), ErrorCode::invalid_argument, "inputdimensions is needed");
    for (const int64_t n : columns)
      require(n >= 0, ErrorCode::invalid_argument, "inputdimensions holds {}, expected columns of an input", n);
    total();
  }
  int64_t total() const {
    int64_t sum = 0;
    for (const int64_t n : columns) sum = checked_add(sum, n, "the sum of inputdimensions");
    return sum;
  }

  void infer(InferContext& c) const {
    c.set(0, DType::f32);
    require(c.input_count() == columns.size(), ErrorCode::invalid_argument, "{} inputs, {} inputdimensions",
            c.input_count(), columns.size());
    const Dim first = rows(c, 0);
    for (size_t i = 1; i < c.input_count(); ++i) {
      require(may_equal(first, rows(c, i)), ErrorCode::invalid_argument,
              "input {} has shape {}, input 0 has {}: their rows differ", i, c.dims().text(c.shape(i)),
              c.dims().text(c.shape(0)));
    }
    c.set(0, DType::f32, {first, total()});
  }
  void run(RunContext& c) const {
    const size_t rows = size_t(c.out_shape()[0]), stride = size_t(c.out_shape()[1]);
    float* y = c.output<float>().data();
    for (size_t i = 0; i < columns.size(); y += columns[i++]) {
      const size_t given = rows ? c.count(i) / rows : 0, wanted = size_t(columns[i]), n = std::min(given, wanted);
      visit_features(c.dtype(i), [&]<typename T>(std::type_identity<T>) {
        const T* x = c.input<T>(i).data();
        for (size_t r = 0; r < rows; ++r) {
          float* to = y + r * stride;
          for (size_t k = 0; k < n; ++k) to[k] = float(x[r * given + k]);
          std::fill(to + n, to + wanted, 0.0f);
        }
      });
    }
  }

 private:
  static Dim rows(InferContext& c, size_t i) {
    const Shape& x = c.shape(i);
    require(x.rank() > 0, ErrorCode::invalid_argument, "input {} is a scalar", i);
    return x.rank() == 1 ? 1 : x[0];
  }
};

}  // namespace

extern const OpDef op_feature_vectorizer;
constinit const OpDef op_feature_vectorizer = define<FeatureVectorizer>({
    .name = "FeatureVectorizer",
    .domain = "ai.onnx.ml",
    .since = {1},
    .inputs = {"X: T..."},
    .outputs = {"Y: float"},
    .types = kFeatureTypes,
});

}  // namespace retort::ops
