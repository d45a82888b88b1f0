// Tile: opset 1 repeated only one axis.
#include <cmath>
#include <optional>

#include "base/error.h"
#include "lift/rewriter.h"

namespace retort {
namespace {

// The one number in a constant of the type of the input, which is a float type; none if it is not whole.
std::optional<int64_t> whole_number(const Tensor* t) {
  if (!t || t->count() != 1) return std::nullopt;
  const double v = t->dtype() == DType::f32   ? t->data<float>()[0]
                   : t->dtype() == DType::f64 ? t->data<double>()[0]
                   : t->dtype() == DType::f16 ? double(float(t->data<float16>()[0]))
                                              : -1;
  return v >= 0 && v < 0x1p53 && v == std::floor(v) ? std::optional(int64_t(v)) : std::nullopt;
}

void apply_tile(Rewriter& r) {
  if (r.node().inputs.size() < 3) return;
  const auto tiles = whole_number(r.constant_input(1)), axis = whole_number(r.constant_input(2));
  require(tiles && axis, ErrorCode::not_implemented, "tiles and axis of opset 1 must be constant whole numbers");
  std::vector<int64_t> repeats(r.rank(0, "the axis to repeat"), 1);
  const int64_t at = *axis;
  require(at >= 0 && at < int64_t(repeats.size()), ErrorCode::invalid_graph, "axis {} of rank {}", at, repeats.size());
  repeats[size_t(at)] = *tiles;
  r.set_input(1, r.constant(repeats));
  r.resize_inputs(2);
}
constexpr LiftRule kTileRules[] = {{"Tile", 6, apply_tile}};

}  // namespace

extern const LiftRules lift_tile;
constinit const LiftRules lift_tile{kTileRules};

}  // namespace retort
