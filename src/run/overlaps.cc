#include "run/overlaps.h"

#include <algorithm>

#include "base/error.h"
#include "ops/external.h"

namespace retort {
namespace {

bool overlap(const void* a, size_t a_bytes, const void* b, size_t b_bytes) {
  const auto x = reinterpret_cast<uintptr_t>(a), y = reinterpret_cast<uintptr_t>(b);
  return a_bytes && b_bytes && x < y + b_bytes && y < x + a_bytes;
}

// Whether a step may write `out` at the address of `in`. A view of `in` is read at the same address.
bool may_write_over(const SlotTable& table, const Step& step, SlotIndex in, SlotIndex out) {
  if (step.op->has(kElementwise)) return true;
  return table.reads_of(step, table.root_of(in)) == 1 &&
         std::ranges::any_of(step.op->info.in_place, [&](const InPlace& p) {
           return p.output >= 0 && size_t(p.input) < step.inputs.size() && step.inputs[size_t(p.input)] == in &&
                  step.outputs[size_t(p.output)] == out;
         });
}

// Whether `part` lies at the beginning of `whole` without gaps: only the first extent that is not 1 may differ.
bool is_head_of(const Shape& part, const Shape& whole) {
  if (part.rank() != whole.rank()) return false;
  size_t along = 0;
  while (along < part.rank() && part[along] == whole[along] && part[along] == 1) ++along;
  for (size_t d = along + 1; d < part.rank(); ++d) {
    if (part[d] != whole[d]) return false;
  }
  return true;
}

// Whether the step leaves `in` unchanged when the caller bound its output at the same address: the past is in a buffer
// with room for the present.
bool adds_behind(const Step& step, SlotIndex in, const Slot& part, SlotIndex out, const Slot& whole) {
  const bool joined = step.op->has(kJoins) && step.inputs[0] == in;
  const bool appended = step.dtype == DType::f32 && std::ranges::any_of(step.op->info.appends, [&](const Appends& a) {
                          return a.input >= 0 && size_t(a.input) < step.inputs.size() &&
                                 size_t(a.output) < step.outputs.size() && step.inputs[size_t(a.input)] == in &&
                                 step.outputs[size_t(a.output)] == out;
                        });
  return (joined || appended) && part.room == 0 && is_head_of(part.type.shape, whole.type.shape);
}

}  // namespace

void check_outputs_apart(const Plan& plan, std::span<Value* const> outputs) {
  const auto given = [&](size_t i) { return outputs[i] ? outputs[i]->tensor() : nullptr; };
  for (size_t i = 1; i < outputs.size(); ++i) {
    const Tensor* a = given(i);
    for (size_t j = 0; a && j < i; ++j) {
      const Tensor* b = given(j);
      require(!b || !a->space().serves(b->space()) || !overlap(a->data(), a->bytes(), b->data(), b->bytes()),
              ErrorCode::invalid_argument, "outputs '{}' and '{}' are given memory that overlaps; give each its own",
              plan.values[plan.outputs[j]].name, plan.values[plan.outputs[i]].name);
    }
  }
}

bool lies_in_input(const SlotTable& table, const Tensor& given, SlotIndex in) {
  if (in == kNoSlot || !table[in].data) return false;
  const Slot& s = table[in];
  const Tensor* boxed = s.boxed.tensor();
  return given.space().serves(boxed ? boxed->space() : MemorySpace{}) &&
         overlap(s.data, dtype_bytes(s.type.dtype, s.count), given.data(), given.bytes());
}

bool may_replace(const SlotTable& table, SlotIndex in, SlotIndex out, const Tensor& given) {
  const Plan& plan = table.plan();
  const uint32_t writer = table.producer_of(out);
  const Step& step = plan.steps[writer];
  const Slot& s = table[in];
  const SlotIndex root = table.root_of(in);
  const uint32_t last = plan.values[root].last_use;
  const auto is_copied = [&](SlotIndex other) {  // whether the input is copied to another device for its readers there
    return other != kNoSlot && other != in && plan.values[other].name == plan.values[in].name;
  };
  const bool same = s.data == given.data() && s.type.dtype == given.dtype() && s.type.shape == given.shape();
  if (!same || given.space().host_readable() || std::ranges::any_of(plan.inputs, is_copied)) return false;
  if (last != writer) return last < writer;
  const ExternalOp* op = external_op(*step.op, step.params.get());
  const auto output = size_t(std::ranges::find(step.outputs, out) - step.outputs.begin());
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    const bool reads = step.inputs[i] != kNoSlot && table.root_of(step.inputs[i]) == root;
    if (reads && !(op && op->may_replace(output, i))) return false;
  }
  return true;
}

bool destroys_input(const SlotTable& table, const Joins& joins, const Branches& branches, SlotIndex out,
                    const void* data, size_t bytes) {
  const Plan& plan = table.plan();
  const SlotIndex root = table.root_of(out);
  const uint32_t writer = table.producer_of(root);
  for (const SlotIndex in : plan.inputs) {
    const PlanValue& v = plan.values[in];
    const Slot& s = table[in];
    // strings and tensors that a device reads are boxed: in memory of their own, or pinned
    const Tensor* boxed = s.boxed.tensor();
    const bool elsewhere = boxed && (boxed->dtype() == DType::string || !boxed->space().host_readable());
    if (v.home != Home::input || !s.data || elsewhere) continue;
    const size_t in_bytes = dtype_bytes(s.type.dtype, s.count);
    if (!overlap(s.data, in_bytes, data, bytes)) continue;
    if (writer == kNever || s.data != data || branches.is_read_beside(table, writer, v.root)) return true;
    const Step& step = plan.steps[writer];
    const bool replaced = in_bytes == bytes && may_write_over(table, step, in, root) &&
                          plan.values[v.root].last_use == writer && !joins.has_guests(v.root);
    if (!replaced && !adds_behind(step, in, s, root, table[root])) return true;
  }
  return false;
}

}  // namespace retort
