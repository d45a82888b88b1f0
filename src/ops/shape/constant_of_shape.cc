// ConstantOfShape: a tensor of the given shape whose elements all have the given value (default: float 0).
#include "ops/integers.h"
#include "ops/op.h"
#include "ops/shape/common/element.h"

namespace retort::ops {
namespace {

struct ConstantOfShape {
  Tensor value;
  static constexpr std::tuple attributes{attr("value", &ConstantOfShape::value)};

  void check() const {
    require(!value || value.count() == 1, ErrorCode::invalid_argument, "the value has {} elements, expected 1",
            value.count());
  }
  DType type() const { return value ? value.dtype() : DType::f32; }

  void infer(InferContext& c) const {
    c.set(0, type());
    if (c.ranked(0) && c.rank(0) == 0) expect_rank(c, 0, 1);  // ONNX Runtime takes more axes
    const Shape y(c.value(0));
    c.set(0, type(), y);
    if (!all_known(y)) return;
    const auto room = c.new_value(0, element_count(y));
    if (room) std::fill(room->begin(), room->end(), element());
  }
  void run(RunContext& c) const {
    fill(type(), value ? value.data() : nullptr, c.out_data(), c.out_count(), c.parallel());
  }

 private:
  // The value as content, for types whose content is propagated.
  Dim element() const {
    if (type() == DType::i64) return *value.data<int64_t>();
    return type() == DType::i32 ? Dim(*value.data<int32_t>()) : Dim(*value.data<bool>());
  }
};

}  // namespace

extern const OpDef op_constant_of_shape;
constinit const OpDef op_constant_of_shape = define<ConstantOfShape>({
    .name = "ConstantOfShape",
    .since = {9, 20, 21, 23, 24, 25},
    .inputs = {"input: int64"},
    .outputs = {"output: T2"},
});

}  // namespace retort::ops
