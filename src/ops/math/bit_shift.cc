// BitShift: x shifted by y bits with numpy broadcasting; right shifts of signed types keep the sign. Amounts below zero
// or beyond the width shift all bits out.
#include "ops/math/binary.h"

namespace retort::ops {
namespace {

struct BitShift {
  std::string direction;
  static constexpr std::tuple attributes{required("direction", &BitShift::direction)};

  void check() const {
    require(direction == "LEFT" || direction == "RIGHT", ErrorCode::invalid_argument,
            "direction '{}' is neither LEFT nor RIGHT", direction);
  }
  void infer(InferContext& c) const {
    infer_binary(c, c.dtype(0), [](Dim, Dim) { return std::nullopt; });
  }

  // A shift by at least the width of the narrow type also moves all its bits out of that type in the carrier.
  template <std::integral T>
  static T shift(T x, T by, bool left) {
    if (by < 0 || by >= T(8 * sizeof(T))) return !left && x < 0 ? T(-1) : T(0);
    return left ? T(uint64_t(x) << by) : T(x >> by);
  }
  template <std::integral T>
  void reference(RunContext& c) const {
    const bool left = direction == "LEFT";
    const auto x = c.input<T>(0), by = c.input<T>(1);
    const auto y = c.output<T>();
    for_each_broadcast(c.out_shape(), c.shape(0), c.shape(1),
                       [&](size_t i, size_t ix, size_t iy) { y[i] = shift(x[ix], by[iy], left); });
  }
  template <std::integral T>
  requires Wide<T>
  void fast(RunContext& c, std::type_identity<T>) const {
    const bool left = direction == "LEFT";
    map_broadcast<T>(c, [left](T x, T by) { return shift(x, by, left); });
  }
};

}  // namespace

extern const OpDef op_bit_shift;
constinit const OpDef op_bit_shift = define<BitShift>({
    .name = "BitShift",
    .since = {11, 28},
    .inputs = {"X: T", "Y: T"},
    .outputs = {"Z: T"},
    .types = kIntegers,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
