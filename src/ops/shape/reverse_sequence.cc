// ReverseSequence: for every batch entry, the first sequence_lens elements along the time axis in reverse.
#include "ops/integers.h"
#include "ops/op.h"
#include "ops/shape/common/element.h"

namespace retort::ops {
namespace {

struct ReverseSequence {
  int64_t batch_axis = 1, time_axis = 0;
  static constexpr std::tuple attributes{attr("batch_axis", &ReverseSequence::batch_axis),
                                         attr("time_axis", &ReverseSequence::time_axis)};

  void check() const {
    require(batch_axis + time_axis == 1 && batch_axis * time_axis == 0, ErrorCode::invalid_argument,
            "batch_axis {} and time_axis {} must be 0 and 1 in some order", batch_axis, time_axis);
  }
  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    expect_rank(c, 1, 1);
    if (c.rank(0) < 2)
      fail(ErrorCode::invalid_argument, "input has shape {}, expected at least two axes", c.dims().text(c.shape(0)));
    c.set(0, c.dtype(0), c.shape(0));
  }

  void run(RunContext& c) const {
    const Shape &x = c.shape(0), lengths = integers(c, 1);
    const int64_t batch = x[size_t(batch_axis)], time = x[size_t(time_axis)];
    require(int64_t(lengths.size()) == batch, ErrorCode::invalid_argument, "{} lengths for a batch of {}",
            lengths.size(), batch);
    for (int64_t n : lengths)
      require(n >= 0 && n <= time, ErrorCode::invalid_argument, "length {} is outside [0, {}]", n, time);
    const int64_t inner = extent_product(x, 2, x.rank());
    const int64_t batch_stride = batch_axis == 0 ? time * inner : inner,
                  time_stride = time_axis == 0 ? batch * inner : inner;
    const kernels::Mover& mover = mover_of(c.dtype(0));
    for (int64_t b = 0; b < batch; ++b) {
      for (int64_t t = 0; t < time; ++t) {
        const int64_t source = t < lengths[size_t(b)] ? lengths[size_t(b)] - 1 - t : t;
        mover.copy(mover.at(c.out_data(), b * batch_stride + t * time_stride),
                   mover.at(c.data(0), b * batch_stride + source * time_stride), size_t(inner));
      }
    }
  }
};

}  // namespace

extern const OpDef op_reverse_sequence;
constinit const OpDef op_reverse_sequence = define<ReverseSequence>({
    .name = "ReverseSequence",
    .since = {10, 28},
    .inputs = {"input: T", "sequence_lens: int64"},
    .outputs = {"Y: T"},
});

}  // namespace retort::ops
