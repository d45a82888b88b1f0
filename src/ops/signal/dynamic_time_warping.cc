// com.microsoft.DynamicTimeWarping: the cheapest path from the first to the last element of a matrix of costs, in steps
// down, right or both; the result is the rows and columns of its elements. Of steps with equal costs, the one to the
// right is taken.
#include <limits>

#include "base/checked.h"
#include "ops/op.h"

namespace retort::ops {
namespace {

struct DynamicTimeWarping {
  void infer(InferContext& c) const {
    c.set(0, DType::i32);
    check_shape(c.shape(0), c.dims().text(c.shape(0)));
    c.set(0, DType::i32, {2, c.unknown_extent()});
  }

  void run(RunContext& c) const {
    const Shape& x = c.shape(0);
    check_shape(x, to_string(x));
    const auto rows = size_t(x[x.rank() - 2]), columns = size_t(x.back());
    const std::vector<uint8_t> ways = steps(c.input<float>(0).data(), rows, columns, c.parallel());
    std::vector<std::pair<int32_t, int32_t>> path;  // backwards
    for (size_t i = rows, j = columns; i > 0 && j > 0;) {
      path.emplace_back(int32_t(i - 1), int32_t(j - 1));
      const uint8_t way = ways[(i - 1) * columns + j - 1];
      if (way != kRight) --i;
      if (way != kDown) --j;
    }
    const size_t length = path.size();
    auto* y = static_cast<int32_t*>(c.allocate(0, DType::i32, {2, int64_t(length)}));
    for (size_t k = 0; k < length; ++k) {
      y[k] = path[length - 1 - k].first;
      y[length + k] = path[length - 1 - k].second;
    }
  }

 private:
  static void check_shape(const Shape& x, const std::string& text) {
    require(x.rank() == 2 || (x.rank() == 3 && may_equal(x[0], 1)), ErrorCode::invalid_argument,
            "input of shape {}, expected [M, N] or [1, M, N]", text);
  }

  enum Way : uint8_t { kBoth, kDown, kRight };
  // For each element, the last step of the cheapest path to it.
  static std::vector<uint8_t> steps(const float* x, size_t rows, size_t columns, const Parallel& run) {
    constexpr float kFar = std::numeric_limits<float>::infinity();
    std::vector<uint8_t> ways(checked_mul(rows, columns, "elements"));
    std::vector<float> above(columns + 1, kFar), here(columns + 1, kFar);
    above[0] = 0;
    for (size_t i = 0; i < rows && !run.cancelled(); ++i) {
      here[0] = kFar;
      for (size_t j = 0; j < columns; ++j) {
        const float both = above[j], down = above[j + 1], right = here[j];
        const Way way = both < down && both < right ? kBoth : down < both && down < right ? kDown : kRight;
        ways[i * columns + j] = way;
        here[j + 1] = (way == kBoth ? both : way == kDown ? down : right) + x[i * columns + j];
      }
      above.swap(here);
    }
    return ways;
  }
};

}  // namespace

extern const OpDef op_dynamic_time_warping;
constinit const OpDef op_dynamic_time_warping = define<DynamicTimeWarping>({
    .name = "DynamicTimeWarping",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"input: T"},
    .outputs = {"output: int32"},
    .types = types({DType::f32}),
    .traits = kDynamicOutput,
});

}  // namespace retort::ops
