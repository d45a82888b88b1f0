// What reads the extents of a cache that attention will append to.
#pragma once
#include <span>

#include "ir/patch.h"
#include "passes/attention/operand.h"

namespace retort {

/// A cache of K or V, [B, H, S, D]: the past rows and the new ones behind them.
struct JoinedCache {
  const Node* concat;
  HeadOperand fresh;
};

/// Attention may make the caches itself only if none of its inputs needs them. A mask that is cut to the length of the
/// keys reads their extents: the patch computes those from the parts of the cache. Returns false if one of `inputs`
/// needs more than that; the patch is then useless. What the patch made is skipped: `inputs` also has what that needs.
bool detach_from_caches(const Graph& graph, std::span<const ValueId> inputs, std::span<const JoinedCache> caches,
                        Patch& patch);

}  // namespace retort
