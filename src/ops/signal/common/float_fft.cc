#include "ops/signal/common/float_fft.h"

#include "base/checked.h"

namespace retort::ops {
namespace {

constexpr int64_t kMaxLength = int64_t(1) << 40;  // sizes derived from it do not overflow

const PreparedFft* state_of(const RunContext& c, size_t length) {
  const auto* state = c.state<PreparedFft>();
  return state && state->plan.length == length ? state : nullptr;
}

kernels::FftPlan plan_of(size_t length, bool real) {
  require(length <= size_t(kMaxLength), ErrorCode::invalid_argument, "the transform has length {}", length);
  return {length, real};
}

}  // namespace

std::unique_ptr<State> prepare_fft(PrepareContext& c, std::optional<int64_t> length, bool real) {
  if (!length || *length <= 0 || *length > kMaxLength) return nullptr;
  auto state = std::make_unique<PreparedFft>(size_t(*length), real);
  const kernels::FftPlan& plan = state->plan;
  state->table = c.packed(plan.table_floats() * sizeof(float), [&](void* to) {
    std::vector<float> scratch(plan.convolution ? plan.scratch_floats(1) : 0);
    kernels::fft_fill_table(plan, static_cast<float*>(to), scratch.data());
  });
  return state;
}

std::optional<int64_t> constant_integer(PrepareContext& c, size_t i) {
  const Tensor* t = c.unaligned_constant(i);
  if (!t || t->count() != 1) return std::nullopt;
  if (t->dtype() == DType::i64) return t->at<int64_t>(0);
  return t->dtype() == DType::i32 ? std::optional<int64_t>(t->at<int32_t>(0)) : std::nullopt;
}

int64_t known_integer(const RunContext& c, size_t i) {
  const Slot& slot = c.in_slot(i);
  return slot.has_known && slot.known.size() == 1 && is_known(slot.known[0]) ? slot.known[0] : integer(c, i);
}

FloatFft::FloatFft(const RunContext& c, size_t length, bool real)
    : prepared_(state_of(c, length)), plan_(prepared_ ? prepared_->plan : plan_of(length, real)) {}

kernels::FftArgs FloatFft::planned() const {
  kernels::FftArgs with_plan = args;
  with_plan.plan = &plan_;
  return with_plan;
}

size_t FloatFft::table_floats() const { return prepared_ ? 0 : round_up(plan_.table_floats(), size_t(16)); }

size_t FloatFft::scratch_bytes(const RunContext& c) const {
  const size_t working = kernels::fft_scratch_floats(planned(), c.parallel().workers());
  return checked_mul(table_floats() + working, sizeof(float), "the lines to transform");
}

void FloatFft::run(const RunContext& c) const {
  auto* table = static_cast<float*>(c.scratch());
  float* scratch = table + table_floats();
  kernels::FftArgs now = planned();
  if (!prepared_) kernels::fft_fill_table(plan_, table, scratch);
  now.table = prepared_ ? static_cast<const float*>(prepared_->table.get()) : table;
  kernels::fft(now, scratch, c.parallel());
}

}  // namespace retort::ops
