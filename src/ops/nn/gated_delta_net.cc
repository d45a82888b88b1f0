// com.microsoft.GatedDeltaNet: linear attention of several requests, whose tokens lie one after the other. States are
// [requests, heads, values, keys] in float32. Several heads of values may share a head of queries and keys.
#include "ops/nn/common/delta_net.h"

namespace retort::ops {
namespace {

struct GatedDeltaNet : DeltaNet {
  void fast(RunContext& c, std::type_identity<float>) const {
    const DeltaExtents e = extents(c);
    const size_t own = block_floats(e), all = e.working_floats();
    std::vector<float> memory(all + own * size_t(c.parallel().workers()));
    const DeltaTensors t = tensors(c, e, memory.data());
    c.parallel().for_each(e.requests * e.heads, [&](size_t head, int worker) {
      run_blocks(e, t, head, memory.data() + all + size_t(worker) * own);
    });
  }
  template <std::same_as<float> T>
  void reference(RunContext& c) const {
    const DeltaExtents e = extents(c);
    std::vector<float> memory(e.working_floats());
    const DeltaTensors t = tensors(c, e, memory.data());
    c.parallel().for_each(e.requests * e.heads, [&](size_t head, int) { run_head(e, t, head); });
  }
};

}  // namespace

extern const OpDef op_gated_delta_net;
constinit const OpDef op_gated_delta_net = define<GatedDeltaNet>({
    .name = "GatedDeltaNet",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"query: T", "key: T?", "value: T?", "cu_seqlens: int32?", "decay: TG?", "beta: TG?",
               "initial_state: float?", "a_log: float?", "dt_bias: float?", "capture_count: int32?",
               "state_update_active: int32?"},
    .outputs = {"output: T", "final_state: float?", "state_update: float?"},
    .types = kSingleFloats,
});

}  // namespace retort::ops
