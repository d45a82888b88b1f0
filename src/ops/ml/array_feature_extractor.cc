// ArrayFeatureExtractor: columns of the last axis by their indices.
#include "ops/op.h"

namespace retort::ops {
namespace {

struct ArrayFeatureExtractor {
  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    Shape y = c.shape(0);
    require(y.rank() > 0, ErrorCode::invalid_argument, "X is a scalar");
    const Dim count = c.dims().product(c.shape(1));
    y[y.rank() - 1] = count;
    c.set(0, c.dtype(0), y.rank() == 1 ? Shape{1, count} : y);
  }
  void run(RunContext& c) const {
    const auto features = size_t(c.shape(0).back());
    const auto indices = c.input<int64_t>(1);
    for (const int64_t i : indices)
      require(i >= 0 && size_t(i) < features, ErrorCode::invalid_argument, "index {} is outside of [0, {})", i,
              features);
    if (c.dtype(0) == DType::string)
      pick<std::string>(c, features, indices);
    else if (dtype_bytes(c.dtype(0), 1) == sizeof(uint32_t))
      pick<uint32_t>(c, features, indices);
    else
      pick<uint64_t>(c, features, indices);
  }

 private:
  template <typename T>
  static void pick(RunContext& c, size_t features, std::span<const int64_t> indices) {
    const T* row = static_cast<const T*>(c.data(0));
    T* y = static_cast<T*>(c.out_data());
    for (const T* end = y + c.out_count(); y < end; row += features) {
      for (const int64_t i : indices) *y++ = row[i];
    }
  }
};

}  // namespace

extern const OpDef op_array_feature_extractor;
constinit const OpDef op_array_feature_extractor = define<ArrayFeatureExtractor>({
    .name = "ArrayFeatureExtractor",
    .domain = "ai.onnx.ml",
    .since = {1},
    .inputs = {"X: T", "Y: int64"},
    .outputs = {"Z: T"},
    .types = types({DType::f32, DType::f64, DType::i64, DType::i32, DType::string}),
});

}  // namespace retort::ops
