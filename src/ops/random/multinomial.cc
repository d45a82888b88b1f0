// Multinomial: draws classes for each row from the logarithms of their probabilities, which need not add up to 1.
#include <algorithm>

#include "kernels/elementwise/cast.h"
#include "ops/nn/common/load.h"
#include "ops/random/common/random.h"

namespace retort::ops {
namespace {

struct Multinomial : RandomOp<float> {
  DType dtype = DType::i32;
  int64_t samples = 1;
  static constexpr std::tuple attributes{attr("dtype", &Multinomial::dtype), attr("sample_size", &Multinomial::samples),
                                         attr("seed", &Multinomial::seed)};

  void check() const {
    require(dtype == DType::i32 || dtype == DType::i64, ErrorCode::invalid_argument,
            "dtype is {}, expected int32 or int64", dtype_name(dtype));
    require(samples > 0, ErrorCode::invalid_argument, "sample_size is {}", samples);
  }
  void infer(InferContext& c) const {
    c.set(0, dtype);
    require(c.rank(0) == 2 && (!is_known(c.shape(0)[1]) || c.shape(0)[1] > 0), ErrorCode::invalid_argument,
            "input has shape {}, expected [rows, classes]", c.dims().text(c.shape(0)));
    c.set(0, dtype, {c.shape(0)[0], samples});
  }
  void run(RunContext& c) const {
    const RandomNumbers n = numbers(c);
    std::vector<double> p = load_floats(c, 0);
    const auto classes = size_t(c.shape(0)[1]), rows = size_t(c.shape(0)[0]), count = size_t(samples);
    std::vector<int64_t> y(rows * count);
    for (size_t row = 0; row < rows; ++row) {
      const auto begin = p.begin() + ptrdiff_t(row * classes), end = begin + ptrdiff_t(classes);
      const double top = *std::max_element(begin, end);
      double sum = 0;
      for (auto it = begin; it != end; ++it) *it = sum += std::exp(*it - top);
      for (size_t i = row * count; i < (row + 1) * count; ++i)
        y[i] = std::min(std::upper_bound(begin, end, n.uniform(i) * sum) - begin, ptrdiff_t(classes) - 1);
    }
    kernels::cast(y.data(), DType::i64, c.out_data(), dtype, y.size(), c.parallel());
  }
};

}  // namespace

extern const OpDef op_multinomial;
constinit const OpDef op_multinomial = define<Multinomial>({
    .name = "Multinomial",
    .since = {7, 22},
    .inputs = {"input: T1"},
    .outputs = {"output: T2"},
    .traits = kRandom,
});

}  // namespace retort::ops
