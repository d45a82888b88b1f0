// Tile: opset 1 repeated only one axis.
#include "base/error.h"
#include "lift/rewriter.h"

namespace retort {
namespace {

void apply_tile(Rewriter& r) {
  if (r.node().inputs.size() < 3) return;
  const Tensor *tiles = r.constant_input(1), *axis = r.constant_input(2);
  require(tiles && axis && tiles->dtype() == DType::i64 && axis->dtype() == DType::i64 && tiles->count() == 1 &&
              axis->count() == 1,
          ErrorCode::not_implemented, "tiles and axis of opset 1 must be constant int64 scalars");
  std::vector<int64_t> repeats(r.rank(0, "the axis to repeat"), 1);
  const int64_t at = *axis->data<int64_t>();
  require(at >= 0 && at < int64_t(repeats.size()), ErrorCode::invalid_graph, "axis {} of rank {}", at, repeats.size());
  repeats[size_t(at)] = *tiles->data<int64_t>();
  r.set_input(1, r.constant(repeats));
  r.resize_inputs(2);
}
constexpr LiftRule kTileRules[] = {{"Tile", 6, apply_tile}};

}  // namespace

extern const LiftRules lift_tile;
constinit const LiftRules lift_tile{kTileRules};

}  // namespace retort
