// Optional: the input as an optional value; without an input, an empty optional. An optional with a value is
// represented by that value; only the empty one has a kind of its own.
#include "ops/op.h"

namespace retort::ops {
namespace {

struct OptionalOp {
  std::optional<ValueType> type;
  static constexpr std::tuple attributes{attr("type", &OptionalOp::type)};

  void infer(InferContext& c) const {
    require(c.has(0) || type, ErrorCode::invalid_graph, "neither an input nor the attribute 'type' is given");
    c.set(0, ValueType::optional_of(c.has(0) ? c.type(0) : *type));
  }
  void run(RunContext& c) const { c.set_value(0, c.has(0) ? copy_of(c, 0) : Value(retort::Optional{})); }
};

}  // namespace

extern const OpDef op_optional;
constinit const OpDef op_optional = define<OptionalOp>({
    .name = "Optional",
    .since = {15, 28},
    .inputs = {"input: V?"},
    .outputs = {"output: O"},
    .traits = kBoxed,
});

}  // namespace retort::ops
