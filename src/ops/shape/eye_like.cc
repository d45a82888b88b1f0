// EyeLike: ones on diagonal k of a matrix with the input's shape, zeros elsewhere.
#include "kernels/elementwise/cast.h"
#include "ops/op.h"
#include "ops/shape/common/element.h"

namespace retort::ops {
namespace {

struct EyeLike {
  int64_t k = 0;
  std::optional<DType> dtype;
  static constexpr std::tuple attributes{attr("k", &EyeLike::k), attr("dtype", &EyeLike::dtype)};

  void infer(InferContext& c) const {
    const DType type = dtype.value_or(c.dtype(0));
    c.set(0, type);
    if (c.rank(0) != 2)
      fail(ErrorCode::invalid_argument, "input has shape {}, expected a matrix", c.dims().text(c.shape(0)));
    c.set(0, type, c.shape(0));
  }

  void run(RunContext& c) const {
    const DType type = c.out_dtype();
    require(kernels::can_cast(type), ErrorCode::not_implemented, "there is no identity matrix of type {}",
            dtype_name(type));
    const int64_t rows = c.out_shape()[0], columns = c.out_shape()[1];
    fill(type, nullptr, c.out_data(), c.out_count(), c.parallel());
    if (k >= columns || k <= -rows) return;
    const double one = 1;
    for (int64_t row = std::max<int64_t>(0, -k); row < rows && row + k < columns; ++row) {
      char* at = static_cast<char*>(c.out_data()) + size_t(row * columns + row + k) * dtype_bits(type) / 8;
      kernels::cast(&one, DType::f64, at, type, 1, {});
    }
  }
};

}  // namespace

extern const OpDef op_eye_like;
constinit const OpDef op_eye_like = define<EyeLike>({
    .name = "EyeLike",
    .since = {9, 22},
    .inputs = {"input: T1"},
    .outputs = {"output: T2"},
});

}  // namespace retort::ops
