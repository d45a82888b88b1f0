// Before opset 7 the second operand was broadcast only on request, starting at a given axis of the first.
#include "base/error.h"
#include "lift/expect.h"

namespace retort {
namespace {

void apply_broadcast(Rewriter& r) {
  const auto axis = r.attributes().get_or<int64_t>("axis", -1);
  const bool placed = r.attributes().get_or<int64_t>("broadcast", 0) != 0 && axis >= 0;
  r.erase({"axis", "broadcast", "consumed_inputs"});
  if (!placed) return;
  const int64_t a = int64_t(r.rank(0, "broadcasting by axis")), b = int64_t(r.rank(1, "broadcasting by axis"));
  require(axis + b <= a, ErrorCode::invalid_graph, "axis {} leaves no space for rank {} within rank {}", axis, b, a);
  std::vector<int64_t> axes;
  for (int64_t i = b; i < a - axis; ++i) axes.push_back(i);
  if (axes.empty()) return;
  r.set_input(1, r.add({.type = "Unsqueeze", .inputs = {r.input(1), r.constant(axes)}}));
}

// Before opset 8, inputs of these operators had one shape.
void same_shapes(Rewriter& r) {
  for (size_t i = 1; i < r.node().inputs.size(); ++i) expect_input(r, i, "an input", 0);
}
constexpr LiftRule kBroadcastRules[] = {
    {"Add", 7, apply_broadcast},  {"Sub", 7, apply_broadcast},   {"Mul", 7, apply_broadcast},
    {"Div", 7, apply_broadcast},  {"Pow", 7, apply_broadcast},   {"And", 7, apply_broadcast},
    {"Or", 7, apply_broadcast},   {"Xor", 7, apply_broadcast},   {"Greater", 7, apply_broadcast},
    {"Less", 7, apply_broadcast}, {"Equal", 7, apply_broadcast}, {"Max", 8, same_shapes},
    {"Mean", 8, same_shapes},     {"Min", 8, same_shapes},       {"Sum", 8, same_shapes}};

}  // namespace

extern const LiftRules lift_broadcast;
constinit const LiftRules lift_broadcast{kBroadcastRules};

}  // namespace retort
