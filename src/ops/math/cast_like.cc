// CastLike: converts every element of the first input to the type of the second.
#include "ops/math/cast.h"

namespace retort::ops {
namespace {

struct CastLike : CastBase {
  static constexpr std::tuple attributes{attr("saturate", &CastLike::saturate),
                                         attr("round_mode", &CastLike::round_mode)};
  void infer(InferContext& c) const { infer_to(c, c.dtype(1)); }
};

}  // namespace

extern const OpDef op_cast_like;
constinit const OpDef op_cast_like = define<CastLike>({
    .name = "CastLike",
    .since = {15, 19, 21, 23, 24, 25},
    .inputs = {"input: T1", "target_type: T2"},
    .outputs = {"output: T2"},
    .traits = kElementwise | kConverts,
});

}  // namespace retort::ops
