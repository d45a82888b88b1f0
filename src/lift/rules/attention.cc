// Attention: a mask of integers is added to the scores as numbers of their type.
#include "lift/rewriter.h"

namespace retort {
namespace {

void cast_mask(Rewriter& r) {
  constexpr size_t kQuery = 0, kMask = 3;
  if (!r.has(kQuery) || !r.has(kMask)) return;
  const DType query = r.type(kQuery).dtype, mask = r.type(kMask).dtype;
  const bool number = !is_float(mask) && mask != DType::boolean && mask != DType::undefined;
  if (number && query != DType::undefined) r.set_input(kMask, cast(r, r.input(kMask), query));
}
constexpr LiftRule kAttentionRules[] = {{"Attention", kAlways, cast_mask}};

}  // namespace

extern const LiftRules lift_attention;
constinit const LiftRules lift_attention{kAttentionRules};

}  // namespace retort
