#include "ops/shape/common/view.h"

#include <cstring>

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
  } else if (y.data != x.data && x.type.dtype == DType::string) {
    std::copy_n(static_cast<const std::string*>(x.data), x.count, static_cast<std::string*>(y.data));
  } else if (y.data != x.data && x.count > 0) {
    std::memcpy(y.data, x.data, dtype_bytes(x.type.dtype, x.count));
  }
}

}  // namespace retort::ops
