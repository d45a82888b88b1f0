#include "run/inputs.h"

#include "base/error.h"

namespace retort {
namespace {

// Steps hand on what such an input holds as a boxed value, which a tensor is as well.
bool is_optional(const PlanValue& v) { return v.type.kind == ValueType::Kind::optional; }

}  // namespace

Inputs::Inputs(SlotTable& table, Joins& joins, GrowingCaches& caches, DeviceRun& device_run)
    : table_(table), joins_(joins), caches_(caches), device_run_(device_run) {}

const MemorySpace& Inputs::space(size_t i) const {
  static constexpr MemorySpace kHost;
  const std::vector<MemorySpace>& spaces = table_.plan().input_spaces;
  return spaces.empty() ? kHost : spaces[i];
}

const Tensor* Inputs::copy_of(size_t i) const {
  if (i >= copies_.size() || !copies_[i].tensor) return nullptr;
  const Tensor& copy = copies_[i].tensor;
  return copy.data() == table_[table_.plan().inputs[i]].data ? &copy : nullptr;
}

size_t Inputs::bytes() const {
  size_t bytes = 0;
  for (const Copy& c : copies_) bytes += c.memory.capacity;
  return bytes;
}

// The address of the elements of input i; for a cache, it may be in a block with spare rows.
void* Inputs::data_of(size_t i, const Tensor& t) {
  const GrownRows* rows = caches_.past(i);
  table_[table_.plan().inputs[i]].room = rows ? rows->room() : 0;
  return rows ? rows->block() : read_only(t.data());
}

// Returns the input in the memory where the plan reads it. A tensor from another memory is copied in every run (a
// binding copies it once), and so is a tensor that is not aligned for its elements.
const Tensor& Inputs::brought(const RunRequest& request, size_t i, const Tensor& t) {
  const Plan& plan = table_.plan();
  const MemorySpace& wanted = space(i);
  const bool is_there = t.space().readable_as(wanted);
  if (t.dtype() == DType::string ||
      (is_there && (!wanted.host_readable() || t.grown() || is_aligned(t.dtype(), t.data()))))
    return t;
  const std::string& name = plan.values[plan.inputs[i]].name;
  require(
      !request.disallow_copies || !is_there, ErrorCode::invalid_argument,
      "input '{}', {}{}, lies at an address that is not aligned for its elements and would have to be copied, which "
      "session.disallow_implicit_copies forbids; give aligned memory",
      name, dtype_name(t.dtype()), to_string(t.shape()));
  require(!request.disallow_copies, ErrorCode::invalid_argument,
          "input '{}' lies in {} and is read in {}: it would have to be copied, which session.disallow_implicit_copies "
          "forbids; give it in that memory",
          name, to_string(t.space()), to_string(wanted));
  copies_.resize(plan.inputs.size());
  Copy& c = copies_[i];
  c.tensor = Tensor();  // so that its memory is free for reuse
  const auto& memory = c.memory.take(wanted, t.bytes(), [&](size_t n) { return device_run_.allocate(wanted, n); });
  c.tensor = Tensor(t.dtype(), t.shape(), memory.get(), memory, wanted);
  // The memory of a body's input on the host may be freed after the body, while a device still reads it.
  device_run_.copy(CopyCause::run_input, name, t, c.tensor, !request.within || !t.space().host_readable());
  return c.tensor;
}

void Inputs::bind(const RunRequest& request) {
  caches_.begin(request);
  for (size_t i = 0; i < request.inputs.size(); ++i) bind_one(request, i);
}

void Inputs::bind_one(const RunRequest& request, size_t i) {
  const Plan& plan = table_.plan();
  Slot& slot = table_[plan.inputs[i]];
  const Value* v = request.inputs[i];
  const Tensor* t = v ? v->tensor() : nullptr;
  if (t && plan.inputs[i] != kNoSlot && plan.reads(i)) t = &brought(request, i, *t);
  void* data = t ? data_of(i, *t) : nullptr;
  if (slot.data != data) joins_.put(plan.inputs[i], data);
  if (!t) {
    slot.boxed = v ? *v : Value(Optional());
  } else if (t->dtype() == DType::string) {
    slot.boxed = *t;
  } else if (is_optional(plan.values[plan.inputs[i]]) || !space(i).host_readable() || !t->space().host_readable()) {
    // The slot does not own the tensor: an idle frame must not keep memory of a device allocated.
    slot.boxed = Tensor(t->dtype(), t->shape(), data, nullptr, t->space());
  } else if (!slot.boxed.empty()) {
    slot.boxed = Value();  // left over from an earlier run
  }
}

}  // namespace retort
