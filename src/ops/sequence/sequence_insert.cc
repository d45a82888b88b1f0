// SequenceInsert: inserts a tensor at the end or before the element at a position.
#include "ops/integers.h"
#include "ops/sequence/common/sequence.h"

namespace retort::ops {
namespace {

struct SequenceInsert {
  void infer(InferContext& c) const {
    const ValueType one = ValueType::tensor(c.dtype(1));
    const auto& element = c.type(0).element;
    require(!element || agree(*element, one), ErrorCode::fail,
            "the tensor is {}, but the sequence has elements of {}; cast the tensor", dtype_name(one.dtype),
            element ? dtype_name(element->dtype) : "");
    c.set(0, ValueType::sequence_of(one));
  }
  void run(RunContext& c) const {
    Sequence s = sequence_at(c, 0);
    const DType type = c.dtype(1);
    require(s.items.empty() || s.dtype == DType::undefined || s.dtype == type, ErrorCode::invalid_argument,
            "the tensor is {}, but the sequence has elements of {}", dtype_name(type), dtype_name(s.dtype));
    s.dtype = type;
    const auto n = int64_t(s.items.size());
    const int64_t given = c.has(2) ? integer(c, 2) : n, at = given < 0 ? given + n : given;
    require(at >= 0 && at <= n, ErrorCode::invalid_argument, "position {} is outside of [-{}, {}]", given, n, n);
    s.items.insert(size_t(at), copy_of(c, 1));
    c.set_value(0, std::move(s));
  }
};

}  // namespace

extern const OpDef op_sequence_insert;
constinit const OpDef op_sequence_insert = define<SequenceInsert>({
    .name = "SequenceInsert",
    .since = {11},
    .inputs = {"input_sequence: S", "tensor: V", "position: I?"},
    .outputs = {"output_sequence: S"},
    .traits = kBoxed,
});

}  // namespace retort::ops
