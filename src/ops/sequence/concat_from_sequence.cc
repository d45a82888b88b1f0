// ConcatFromSequence: concatenates all elements along an axis, which may be a new one.
#include "ops/sequence/common/sequence.h"
#include "ops/shape/common/strided.h"

namespace retort::ops {
namespace {

struct ConcatFromSequence {
  int64_t axis = 0;
  bool new_axis = false;
  static constexpr std::tuple attributes{required("axis", &ConcatFromSequence::axis),
                                         attr("new_axis", &ConcatFromSequence::new_axis)};

  void infer(InferContext& c) const {
    const ValueType t = element_type(c, 0);
    if (t.is_tensor()) c.set(0, t.dtype);
  }

  void run(RunContext& c) const {
    const Sequence& s = sequence_at(c, 0);
    require(!s.items.empty(), ErrorCode::invalid_argument, "the sequence is empty");
    const Tensor* first = s.items[0].tensor();
    require(first != nullptr, ErrorCode::invalid_argument, "element 0 of the sequence is not a tensor");
    const size_t at = normalize_axis(axis, first->shape().rank() + (new_axis ? 1 : 0));
    Shape shape;
    for (size_t d = 0; d < first->shape().rank() + (new_axis ? 1 : 0); ++d)
      shape.push_back(d == at ? 0 : first->shape()[d - (new_axis && d > at ? 1 : 0)]);
    for (size_t i = 0; i < s.items.size(); ++i) {
      const Tensor* t = s.items[i].tensor();
      Shape expected = first->shape();
      if (!new_axis && t && t->shape().rank() == expected.rank()) expected[at] = t->shape()[at];
      require(t && t->dtype() == first->dtype() && t->shape() == expected, ErrorCode::invalid_argument,
              "element {} of the sequence does not match element 0, {}{}, along axis {}", i, dtype_name(first->dtype()),
              to_string(first->shape()), at);
      shape[at] += new_axis ? 1 : expected[at];
    }
    Tensor all(first->dtype(), shape);
    const int64_t outer = extent_product(shape, 0, at), inner = extent_product(shape, at + 1, shape.rank());
    int64_t begin = 0;
    for (const Value& v : s.items) {
      const int64_t run = (new_axis ? 1 : v.tensor()->shape()[at]) * inner;
      StridedBox box;
      box.push(outer, run, shape[at] * inner);
      box.push(run, 1, 1);
      box.to_offset = begin;
      if (v.tensor()->count()) copy_box(box, all.dtype(), v.tensor()->data(), all.mutable_data(), c.parallel());
      begin += run;
    }
    c.set_value(0, std::move(all));
  }
};

}  // namespace

extern const OpDef op_concat_from_sequence;
constinit const OpDef op_concat_from_sequence = define<ConcatFromSequence>({
    .name = "ConcatFromSequence",
    .since = {11},
    .inputs = {"input_sequence: S"},
    .outputs = {"concat_result: V"},
    .traits = kBoxed,
});

}  // namespace retort::ops
