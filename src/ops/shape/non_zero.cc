// NonZero: the positions of nonzero elements, one column each, in row-major order. A scalar counts as a vector of one
// element.
#include "kernels/elementwise/cast.h"
#include "kernels/move/sequence.h"
#include "ops/op.h"

namespace retort::ops {
namespace {

struct NonZero {
  void infer(InferContext& c) const {
    c.set(0, DType::i64);
    const int64_t rank = std::max<int64_t>(1, int64_t(c.rank(0)));
    c.set(0, DType::i64, Shape{rank, c.unknown_extent()});
  }

  void run(RunContext& c) const {
    const Tensor mask = nonzero_mask(c);
    const std::span<const uint8_t> ones(mask.data<uint8_t>(), mask.count());
    const size_t n = kernels::count_nonzero(ones);
    const int64_t rank = std::max<int64_t>(1, int64_t(c.shape(0).rank()));
    void* y = c.allocate(0, DType::i64, Shape{rank, int64_t(n)});
    kernels::nonzero(ones, c.shape(0), n, static_cast<int64_t*>(y));
  }

 private:
  static Tensor nonzero_mask(const RunContext& c) {
    Tensor mask(DType::boolean, c.shape(0));
    bool* set = mask.mutable_data<bool>();
    switch (c.dtype(0)) {
      case DType::string:
        for (size_t i = 0; i < mask.count(); ++i) set[i] = !c.input<std::string>(0)[i].empty();
        break;
      case DType::complex64:
        for (size_t i = 0; i < mask.count(); ++i) set[i] = nonzero_pair(static_cast<const float*>(c.data(0)) + 2 * i);
        break;
      case DType::complex128:
        for (size_t i = 0; i < mask.count(); ++i) set[i] = nonzero_pair(static_cast<const double*>(c.data(0)) + 2 * i);
        break;
      default:
        kernels::cast(c.data(0), c.dtype(0), set, DType::boolean, mask.count(), c.parallel());
    }
    return mask;
  }
  template <typename T>
  static bool nonzero_pair(const T* v) {
    return v[0] != 0 || v[1] != 0;
  }
};

}  // namespace

extern const OpDef op_non_zero;
constinit const OpDef op_non_zero = define<NonZero>({
    .name = "NonZero",
    .since = {9, 13},
    .inputs = {"X: T"},
    .outputs = {"Y: int64"},
    .types = kNumeric | kBool | kString | types({DType::complex64, DType::complex128}),
    .traits = kDynamicOutput,
});

}  // namespace retort::ops
