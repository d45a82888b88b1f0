// Tile: opset 1 repeated only one axis; this axis and the number had the type of the tensor, which is a float type.
#include "base/error.h"
#include "lift/rewriter.h"

namespace retort {
namespace {

int64_t whole(const Tensor* t) {
  require(t && t->count() == 1 && (t->dtype() == DType::f32 || t->dtype() == DType::f64), ErrorCode::not_implemented,
          "tiles and axis of opset 1 must be constant scalars of float32 or float64");
  const double number = t->dtype() == DType::f32 ? double(*t->data<float>()) : *t->data<double>();
  require(number >= 0 && number < double(INT32_MAX), ErrorCode::invalid_graph, "tiles or axis is {}", number);
  return int64_t(number);
}

void apply_tile(Rewriter& r) {
  if (r.node().inputs.size() < 3) return;
  const int64_t tiles = whole(r.constant_input(1)), at = whole(r.constant_input(2));
  std::vector<int64_t> repeats(r.rank(0, "the axis to repeat"), 1);
  require(at < int64_t(repeats.size()), ErrorCode::invalid_graph, "axis {} of rank {}", at, repeats.size());
  repeats[size_t(at)] = tiles;
  r.set_input(1, r.constant(repeats));
  r.resize_inputs(2);
}
constexpr LiftRule kTileRules[] = {{"Tile", 6, apply_tile}};

}  // namespace

extern const LiftRules lift_tile;
constinit const LiftRules lift_tile{kTileRules};

}  // namespace retort
