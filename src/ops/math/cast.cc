// Cast: converts every element to type `to`. Floats outside the range of an integer type convert as on x86, see
// kernels/elementwise/cast.h.
#include "ops/math/cast.h"

namespace retort::ops {
namespace {

struct Cast : CastBase {
  DType to = DType::undefined;
  static constexpr std::tuple attributes{required("to", &Cast::to), attr("saturate", &Cast::saturate),
                                         attr("round_mode", &Cast::round_mode)};
  void infer(InferContext& c) const { infer_to(c, to); }
};

}  // namespace

extern const OpDef op_cast;
constinit const OpDef op_cast = define<Cast>({
    .name = "Cast",
    .since = {1, 6, 9, 13, 19, 21, 23, 24, 25, 28},
    .inputs = {"input: T1"},
    .outputs = {"output: T2"},
    .traits = kElementwise | kConverts,
});

}  // namespace retort::ops
