// What the caller gives is put in place: inputs, and memory for outputs.
#include <algorithm>

#include "base/checked.h"
#include "memory/host.h"
#include "ops/external.h"
#include "run/frame.h"

namespace retort {
namespace {

bool overlap(const void* a, size_t a_bytes, const void* b, size_t b_bytes) {
  const auto x = reinterpret_cast<uintptr_t>(a), y = reinterpret_cast<uintptr_t>(b);
  return a_bytes && b_bytes && x < y + b_bytes && y < x + a_bytes;
}

// Whether a step may write `out` over `in`, both at the same place. A view of `in` is read where `in` is.
bool may_write_over(const Plan& plan, const Step& step, SlotIndex in, SlotIndex out) {
  if (step.op->has(kElementwise)) return true;
  const SlotIndex root = plan.values[in].root;
  const auto reads =
      std::ranges::count_if(step.inputs, [&](SlotIndex v) { return v != kNoSlot && plan.values[v].root == root; });
  return reads == 1 && std::ranges::any_of(step.op->info.in_place, [&](const InPlace& p) {
           return p.output >= 0 && size_t(p.input) < step.inputs.size() && step.inputs[size_t(p.input)] == in &&
                  step.outputs[size_t(p.output)] == out;
         });
}

// Whether `part` lies at the beginning of `whole` without gaps: nothing but the first extent that is not 1 may differ.
bool is_head_of(const Shape& part, const Shape& whole) {
  if (part.rank() != whole.rank()) return false;
  size_t along = 0;
  while (along < part.rank() && part[along] == whole[along] && part[along] == 1) ++along;
  for (size_t d = along + 1; d < part.rank(); ++d) {
    if (part[d] != whole[d]) return false;
  }
  return true;
}

// Whether the step leaves `in` as it is where the caller bound its output at the same place: a past in a buffer that has
// room for the present.
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

// Two outputs in one place would hold what the later step wrote, and which that is no caller knows.
void Frame::check_outputs_apart(std::span<Value* const> outputs) const {
  const auto given = [&](size_t i) { return outputs[i] ? outputs[i]->tensor() : nullptr; };
  for (size_t i = 1; i < outputs.size(); ++i) {
    const Tensor* a = given(i);
    for (size_t j = 0; a && j < i; ++j) {
      const Tensor* b = given(j);
      require(!b || !a->space().serves(b->space()) || !overlap(a->data(), a->bytes(), b->data(), b->bytes()),
              ErrorCode::invalid_argument, "outputs '{}' and '{}' are given memory that overlaps; give each its own",
              plan_->values[plan_->outputs[j]].name, plan_->values[plan_->outputs[i]].name);
    }
  }
}

// Where the elements of input i lie, which for a cache may be a block with room.
void* Frame::bind_tensor(size_t i, const Tensor& t) {
  const GrownRows* rows = input_cache_[i] == kNever ? nullptr : growing_[input_cache_[i]].past();
  table_[plan_->inputs[i]].room = rows ? rows->room() : 0;
  return rows ? rows->block() : read_only(t.data());
}

// The input where the plan reads it: a tensor from another memory is copied in every run (a binding does that once), and
// so is one at an address that does not suit its elements.
const Tensor& Frame::brought(const RunRequest& request, size_t i, const Tensor& t) {
  const MemorySpace& wanted = space_of_input(i);
  const bool is_there = t.space().readable_as(wanted);
  if (t.dtype() == DType::string ||
      (is_there && (!wanted.host_readable() || t.grown() || is_aligned(t.dtype(), t.data()))))
    return t;
  const std::string& name = plan_->values[plan_->inputs[i]].name;
  require(!request.disallow_copies || !is_there, ErrorCode::invalid_argument,
          "input '{}', {}{}, lies at an address that does not suit its elements and would have to be copied, which "
          "session.disallow_implicit_copies forbids; give aligned memory",
          name, dtype_name(t.dtype()), to_string(t.shape()));
  require(!request.disallow_copies, ErrorCode::invalid_argument,
          "input '{}' lies in {} and is read in {}: it would have to be copied, which session.disallow_implicit_copies "
          "forbids; give it there",
          name, to_string(t.space()), to_string(wanted));
  brought_.resize(plan_->inputs.size());
  Brought& b = brought_[i];
  b.tensor = Tensor();  // so that its memory is free
  const auto& memory = b.memory.take(wanted, t.bytes(), [&](size_t n) { return device_run_.allocate(wanted, n); });
  b.tensor = Tensor(t.dtype(), t.shape(), memory.get(), memory, wanted);
  // What a body is given on the host may be gone after it, while a device still reads it.
  device_run_.copy(CopyCause::run_input, name, t, b.tensor, !request.within || !t.space().host_readable());
  return b.tensor;
}

const MemorySpace& Frame::space_of_input(size_t i) const {
  static constexpr MemorySpace kHost;
  return plan_->input_spaces.empty() ? kHost : plan_->input_spaces[i];
}

void Frame::bind_inputs(const RunRequest& request) {
  for (size_t i = 0; i < growing_.size(); ++i) {
    const Value* past = request.inputs[plan_->caches[i].input];
    growing_[i].begin(past && request.caches_grow ? past->tensor() : nullptr);
  }
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    Slot& slot = table_[plan_->inputs[i]];
    const Value* v = request.inputs[i];
    const Tensor* t = v ? v->tensor() : nullptr;
    if (t && plan_->inputs[i] != kNoSlot && plan_->reads(i)) t = &brought(request, i, *t);
    void* data = t ? bind_tensor(i, *t) : nullptr;
    if (slot.data != data) joins_.put(plan_->inputs[i], data);
    if (!t) {
      slot.boxed = v ? *v : Value(Optional());
    } else if (t->dtype() == DType::string) {
      slot.boxed = *t;
    } else if (!space_of_input(i).host_readable() || !t->space().host_readable()) {
      // Without its owner: a frame that rests must not keep memory of a device from going back.
      slot.boxed = Tensor(t->dtype(), t->shape(), data, nullptr, t->space());
    } else if (!slot.boxed.empty()) {
      slot.boxed = Value();  // of a run before
    }
  }
}

// Outputs whose kernel sizes them may lie where the caller wants them, if that turns out to fit.
void Frame::offer_outputs(const RunRequest& request) {
  const auto is_sized_late = [&](SlotIndex out) {
    return out != kNoSlot && table_.producer_of(out) != kNever && plan_->steps[table_.producer_of(out)].late;
  };
  for (const SlotIndex out : plan_->outputs) {
    if (is_sized_late(out)) table_[out].offered = nullptr;
  }
  for (size_t i = 0; i < plan_->outputs.size(); ++i) {
    const SlotIndex out = plan_->outputs[i];
    const Tensor* given = request.outputs[i] ? request.outputs[i]->tensor() : nullptr;
    if (!given || !is_sized_late(out) || table_[out].offered) continue;
    const bool needed = std::ranges::any_of(
        plan_->inputs, [&](SlotIndex in) { return lies_in_input(*given, in) && !may_replace(in, out, *given); });
    if (!needed) table_[out].offered = given;
  }
}

bool Frame::lies_in_input(const Tensor& given, SlotIndex in) const {
  if (in == kNoSlot || !table_[in].data) return false;
  const Slot& s = table_[in];
  const Tensor* boxed = s.boxed.tensor();
  return given.space().serves(boxed ? boxed->space() : MemorySpace{}) &&
         overlap(s.data, dtype_bytes(s.type.dtype, s.count), given.data(), given.bytes());
}

// Whether the late step that makes `out` may write it to `given`, memory of a device where input `in` lies, at the same
// place. Steps of the device come one after the other; one that reads the input itself must be able to work so.
bool Frame::may_replace(SlotIndex in, SlotIndex out, const Tensor& given) const {
  const Step& step = plan_->steps[table_.producer_of(out)];
  const Slot& s = table_[in];
  const SlotIndex root = plan_->values[in].root;
  const uint32_t last = plan_->values[root].last_use;
  const auto is_copied = [&](SlotIndex other) {  // to another device, for those who read it there
    return other != kNoSlot && other != in && plan_->values[other].name == plan_->values[in].name;
  };
  const bool same = s.data == given.data() && s.type.dtype == given.dtype() && s.type.shape == given.shape();
  if (!same || given.space().host_readable() || std::ranges::any_of(plan_->inputs, is_copied)) return false;
  if (last != table_.producer_of(out)) return last < table_.producer_of(out);
  const ExternalOp* op = external_op(*step.op, step.params.get());
  const auto output = size_t(std::ranges::find(step.outputs, out) - step.outputs.begin());
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    const bool reads = step.inputs[i] != kNoSlot && plan_->values[step.inputs[i]].root == root;
    if (reads && !(op && op->may_replace(output, i))) return false;
  }
  return true;
}

// Settles the memory of every output whose shape is known by now. An output may be a view whose shape only a later
// segment tells; what it views is written before, so its memory is settled as soon as that is laid out.
void Frame::bind_outputs(const RunRequest& request, const Segment& segment) {
  for (size_t i = 0; i < plan_->outputs.size(); ++i) {
    if (bound_[i]) continue;
    const SlotIndex out = plan_->outputs[i], root = plan_->values[out].root;
    const Home home = plan_->values[out].home;
    if (is_laid_out(table_[out].type)) {
      if (home == Home::output) bind_output(request, segment, i, table_[out]);
      if (home == Home::boxed) bind_boxed_output(request, i);
    } else if (home == Home::output && is_laid_out(table_[root].type)) {
      bind_output(request, segment, i, table_[root]);
    }
  }
}

std::string Frame::shape_clash(size_t output, const Tensor& bound, const Slot& s) const {
  return cat(
      "output '{}': the given buffer is {}{}, the run produces {}{}; bind a buffer of that shape or let the run "
      "allocate it",
      plan_->values[plan_->outputs[output]].name, dtype_name(bound.dtype()), to_string(bound.shape()),
      dtype_name(s.type.dtype), to_string(s.type.shape));
}

// Gives an output that is a cache memory where the past rows are, or room for more.
bool Frame::bind_grown(const RunRequest& request, size_t i, Slot& slot) {
  Value* wanted = request.outputs[i];
  slot.room = 0;
  if (!request.caches_grow || !wanted || !wanted->empty() || !request.output_space(i).host_readable()) return false;
  const std::shared_ptr<GrownRows> rows = growing_[output_cache_[i]].present(slot);
  if (!rows) return false;
  if (!request.spares.empty()) request.spares[i] = Spare();
  slot.room = rows->room();
  joins_.put(plan_->outputs[i], rows->block());
  made_[i] = Tensor(slot.type.dtype, slot.type.shape, rows);
  bound_[i] = kBound;
  return true;
}

void Frame::bind_output(const RunRequest& request, const Segment& segment, size_t i, const Slot& slot) {
  const SlotIndex out = plan_->outputs[i], root = plan_->values[out].root;
  // The first of several outputs that share this memory gets it; the others are copied at the end.
  if (table_[root].data && std::any_of(bound_.begin(), bound_.end(), [](Bound b) { return b != kUnbound; })) {
    for (size_t j = 0; j < i; ++j) {
      if (bound_[j] && plan_->values[plan_->outputs[j]].root == root) return;
    }
  }
  if (output_cache_[i] != kNever && bind_grown(request, i, table_[out])) return;
  Value* wanted = request.outputs[i];
  Tensor* given = wanted ? wanted->get<Tensor>() : nullptr;
  const bool final_shape = &slot == &table_[out];
  if (given && (given->dtype() != slot.type.dtype ||
                (final_shape ? !(given->shape() == slot.type.shape) : given->count() != slot.count))) {
    throw Error(ErrorCode::invalid_argument, shape_clash(i, *given, slot));
  }
  void* data = given ? given->mutable_data() : nullptr;
  // A buffer that may turn out to have the wrong shape stays untouched until that is known.
  const bool on_host = given ? given->space().host_readable() : request.output_space(i).host_readable();
  const bool overlaps = given && on_host && overlaps_input(segment, i, data, given->bytes());
  const bool staged = overlaps || !on_host || (given && (!final_shape || !is_aligned(given->dtype(), data)));
  if (overlaps && request.disallow_copies) {
    fail(ErrorCode::invalid_argument,
         "output '{}' overlaps an input and would have to be copied, which session.disallow_implicit_copies forbids; "
         "bind it elsewhere",
         plan_->values[out].name);
  }
  if (!given || staged) {
    const bool reusable =
        made_[i] && made_[i].dtype() == slot.type.dtype && made_[i].shape() == slot.type.shape && (staged || !wanted);
    if (!reusable) made_[i] = make_output(request, i, slot);
    data = made_[i].mutable_data();
  }
  joins_.put(root, data);
  bound_[i] = final_shape ? kBound : kBoundEarly;
}

Tensor Frame::make_output(const RunRequest& request, size_t i, const Slot& slot) {
  const SlotIndex out = plan_->outputs[i];
  const bool for_caller =
      request.outputs[i] && !request.outputs[i]->tensor() && request.output_space(i).host_readable();
  try {
    return for_caller ? take_spare(request, i, slot, request.output_space(i))
                      : Tensor(slot.type.dtype, slot.type.shape);
  } catch (Error& e) {
    e.add_context(cat("output '{}'", plan_->values[out].name));
    if (table_.producer_of(out) != kNever) e.add_context(plan_->steps[table_.producer_of(out)].name);
    throw;
  }
}

// Memory for a result: what was kept from the last one if nobody holds that any more, else new. Bindings keep it, and for
// runs by name in sessions with devices the frame does: a copy into fresh pages takes several times as long.
Tensor Frame::take_spare(const RunRequest& request, size_t i, const Slot& slot, const MemorySpace& space) {
  const auto make = [&](size_t bytes) { return device_run_.allocate(space, bytes); };
  const size_t bytes = dtype_bytes(slot.type.dtype, slot.count);
  const bool keeps = request.spares.empty() && request.devices && !request.devices->providers.empty();
  if (keeps) spares_.resize(plan_->outputs.size());
  const std::span<Spare> spares = keeps ? std::span(spares_) : request.spares;
  const std::shared_ptr<void> memory = spares.empty() ? make(bytes) : spares[i].take(space, bytes, make);
  return Tensor(slot.type.dtype, slot.type.shape, memory.get(), memory, space);
}

// Strings: the kernel writes std::string objects, into the caller's tensor when there is one.
void Frame::bind_boxed_output(const RunRequest& request, size_t i) {
  Slot& slot = table_[plan_->outputs[i]];
  const uint32_t step = table_.producer_of(plan_->outputs[i]);
  if (step == kNever || plan_->steps[step].late || plan_->steps[step].view) return;
  Value* wanted = request.outputs[i];
  const Tensor* given = wanted ? wanted->tensor() : nullptr;
  if (given && (given->dtype() != slot.type.dtype || !(given->shape() == slot.type.shape))) {
    throw Error(ErrorCode::invalid_argument, shape_clash(i, *given, slot));
  }
  Tensor t = given ? *given : Tensor(slot.type.dtype, slot.type.shape);
  slot.data = t.mutable_data();
  slot.boxed = std::move(t);
  bound_[i] = kBound;
}

// Whether writing the output would destroy an input that is still needed. It would not when one step that can work in
// place reads that input last, writes the output, and both lie at the same place; or adds to the input what comes behind.
bool Frame::overlaps_input(const Segment& segment, size_t output, const void* data, size_t bytes) const {
  const SlotIndex out = plan_->outputs[output], root = plan_->values[out].root;
  const uint32_t writer = table_.producer_of(root);
  for (SlotIndex in : plan_->inputs) {
    const PlanValue& v = plan_->values[in];
    const Slot& s = table_[in];
    const Tensor* boxed = s.boxed.tensor();  // strings, or what a device reads: memory of its own, or pinned
    const bool elsewhere = boxed && (boxed->dtype() == DType::string || !boxed->space().host_readable());
    if (v.home != Home::input || !s.data || elsewhere) continue;
    const size_t in_bytes = dtype_bytes(s.type.dtype, s.count);
    if (!overlap(s.data, in_bytes, data, bytes)) continue;
    if (writer == kNever || s.data != data || segment.branches.is_read_beside(table_, writer, v.root)) return true;
    const Step& step = plan_->steps[writer];
    const bool replaced = in_bytes == bytes && may_write_over(*plan_, step, in, root) &&
                          plan_->values[v.root].last_use == writer && !joins_.has_guests(v.root);
    if (!replaced && !adds_behind(step, in, s, root, table_[root])) return true;
  }
  return false;
}

}  // namespace retort
