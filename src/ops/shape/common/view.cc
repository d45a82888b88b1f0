#include "ops/shape/common/view.h"

#include "ops/control/common/iteration.h"
#include "ops/shape/common/element.h"

namespace retort::ops {

void infer_view(InferContext& c, const Shape& shape) {
  c.set(0, c.dtype(0), shape);
  if (const auto content = c.try_value(0)) c.set_value(0, *content);
}

void run_view(RunContext& c) {
  const Slot& x = c.in_slot(0);
  Slot& y = c.out_slot(0);
  if (!x.type.is_tensor()) {
    y.boxed = x.boxed;
  } else if (!y.data && !x.boxed.empty()) {
    c.set_value(0, copy_of(c, 0));  // the tensor in an optional, whose memory is planned as that of a boxed value
  } else if (y.data != x.data) {
    copy(x.type.dtype, x.data, y.data, x.count, c.parallel());
  }
}

}  // namespace retort::ops
