// Attention by cuDNN, where it is faster than the provider's own kernels: many queries of 16-bit elements.
#include <algorithm>

#include "attention.h"
#include "cuda/core/attentions.h"

namespace providers::cuda {
namespace {

constexpr int64_t kLeastRows = 128, kMostSize = 256;
constexpr size_t kLeastVersion = 91100;  // of cuDNN; some before it have faults, or expect another number as infinity
// Floating-point operations from which cuDNN is used. A plan for new sizes takes it 60 ms, and up to 0.9 s where it has
// made none of the kind before: little if runs are captured, since they are many of the same sizes. Otherwise, a causal
// attention is most likely that of a language model, which has other sizes with each prompt.
constexpr double kCaptured = 2e9, kFixed = 2e10, kCausal = 2e11;

/// The mask for cuDNN; empty if it has no form for it.
std::optional<DnnMask> mask_of(const AttentionCall& c) {
  if (!c.causal && c.right != 0) return DnnMask::none;
  if (c.lengths) return c.from_end ? DnnMask::bottom : c.before == 0 ? std::optional(DnnMask::top) : std::nullopt;
  if (c.before == 0) return DnnMask::top;
  return c.before == c.keys - c.rows ? std::optional(DnnMask::bottom) : std::nullopt;
}

bool is_plain(const AttentionCall& c) {
  // An entry without any keys would have NaN as its result; where a number is added to the lengths, there are none.
  if (c.lengths && c.length_plus < 1) return false;
  return !c.bias && !c.flags && !c.sinks && c.softcap <= 0 && c.left < 0 && c.right <= 0 && c.scale > 0;
}

double work_of(const AttentionCall& c, DnnMask mask) {
  const double pairs = double(c.rows) * double(c.keys) * (mask == DnnMask::top ? 0.5 : 1);
  return 2.0 * double(c.batch * c.heads) * pairs * double(c.size + c.v_size);
}

/// What cuDNN's engines take.
bool is_possible(const Device& device, const AttentionCall& c) {
  if (c.q.data.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT || device.architecture() < 80) return false;
  if (std::max(c.size, c.v_size) > kMostSize || c.rows < 2) return false;
  return is_aligned(c.q, c.size) && is_aligned(c.k, c.size) && is_aligned(c.v, c.v_size) && is_aligned(c.y, c.v_size);
}

/// As measured on compute capability 9.0.
bool is_faster(const Device& device, const AttentionCall& c, DnnMask mask) {
  if (device.architecture() != 90) return false;
  if (c.size != c.v_size || (c.size != 64 && c.size != 128) || c.rows < kLeastRows || c.keys < kLeastRows) return false;
  return work_of(c, mask) >= (c.settings.repeats_runs ? kCaptured : mask == DnnMask::none ? kFixed : kCausal);
}

std::array<int64_t, 3> strides_of(const Heads& heads) {
  return {heads.strides.batch, heads.strides.head, heads.strides.row};
}

AttentionProblem problem_of(const AttentionCall& c, DnnMask mask) {
  AttentionProblem p;
  p.type = c.q.data.type;
  p.batch = c.batch;
  p.heads = c.heads;
  p.kv_heads = c.kv_heads;
  p.rows = c.rows;
  p.keys = c.keys;
  p.size = c.size;
  p.v_size = c.v_size;
  p.q = strides_of(c.q);
  p.k = strides_of(c.k);
  p.v = strides_of(c.v);
  p.y = strides_of(c.y);
  p.scale = float(c.scale);
  p.mask = mask;
  p.lengths = c.lengths.has_value();
  return p;
}

}  // namespace

bool attention_by_library(Emitter& e, const AttentionCall& c) {
  const auto mask = mask_of(c);
  if (!mask || !is_plain(c) || !is_possible(e.device(), c) || c.settings.never_by_library) return false;
  if (!c.settings.always_by_library && !is_faster(e.device(), c, *mask)) return false;
  if (!dnn::missing().empty() || dnn::table().version() < kLeastVersion) return false;
  const auto plan = e.device().attentions().plan(problem_of(c, *mask));
  if (!plan) return false;
  Operand rows, keys;
  if (c.lengths) {
    rows = e.scratch(size_t(c.batch) * sizeof(int32_t));
    keys = e.scratch(size_t(c.batch) * sizeof(int32_t));
    e.launch(e.kernel("attention_counts.cu", "attention_counts"), flat_grid(size_t(c.batch)),
             {*c.lengths, int32_t(size_of(c.lengths->type) / 4), checked_int(e, c.length_plus, "length"),
              checked_int(e, c.keys, "number of keys"), checked_int(e, c.rows, "number of queries"),
              checked_int(e, c.batch, "batch"), rows, keys});
  }
  const Operand workspace = plan->workspace() ? e.scratch(plan->workspace()) : Operand();
  const Operand q = c.q.data, k = c.k.data, v = c.v.data, y = c.y.data;
  e.call({q, k, v, y, rows, keys, workspace}, [=](const Run& run) {
    plan->run(run.stream, {run(q), run(k), run(v), run(y), run(rows), run(keys), run(workspace)});
  });
  return true;
}

}  // namespace providers::cuda
