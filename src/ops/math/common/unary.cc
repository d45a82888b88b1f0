#include "ops/math/unary.h"

namespace retort::ops {

void infer_unary(InferContext& c, DType out, FoldOne fold) {
  c.set(0, out);
  c.set(0, out, c.shape(0));
  const auto x = c.try_value(0);
  if (!x) return;
  const auto room = c.new_value(0, x->size());
  for (size_t i = 0; room && i < x->size(); ++i) {
    const std::optional<Dim> y = fold((*x)[i]);
    if (!y || (is_known((*x)[i]) && is_symbolic(*y))) return c.drop_value(0);
    (*room)[i] = wrap_content(out, *y);
  }
}

}  // namespace retort::ops
