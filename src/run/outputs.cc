#include "run/outputs.h"

#include <algorithm>

#include "base/error.h"
#include "run/overlaps.h"
#include "run/results.h"

namespace retort {
namespace {

/// Whether a result of that shape goes into the caller's tensor. One element fits a scalar and the other way round, as
/// in ONNX Runtime; the tensor then gets the shape of the result.
bool takes(const Tensor& given, const Shape& shape, int64_t count) {
  const bool one = given.count() == 1 && count == 1 && (given.shape().rank() == 0 || shape.rank() == 0);
  return one || given.shape() == shape;
}

/// A result that a step made, counted.
Tensor counted(const ResultMemory& results, const Tensor& made) {
  return Tensor(made.dtype(), made.shape(), const_cast<void*>(made.data()), results.count(made.owner(), made.bytes()),
                made.space());
}

/// Whether this is the memory of the host that malloc allocates.
bool is_plain(const MemorySpace& space) { return space.host_readable() && space.device == DeviceType::cpu; }

}  // namespace

Outputs::Outputs(SlotTable& table, Joins& joins, const Inputs& inputs, GrowingCaches& caches, DeviceRun& device_run)
    : plan_(table.plan()),
      table_(table),
      joins_(joins),
      inputs_(inputs),
      caches_(caches),
      device_run_(device_run),
      made_(plan_.outputs.size()),
      bound_(plan_.outputs.size()),
      is_given_(plan_.outputs.size()) {}

void Outputs::begin(const RunRequest& request) {
  std::ranges::fill(bound_, kUnbound);
  for (size_t i = 0; i < request.outputs.size(); ++i) is_given_[i] = request.outputs[i] && !request.outputs[i]->empty();
}

void Outputs::abandon(const RunRequest& request) {
  take_offers_back();
  for (size_t i = 0; i < request.outputs.size(); ++i) {
    if (request.outputs[i] && !is_given_[i]) *request.outputs[i] = Value();
  }
}

size_t Outputs::bytes() const {
  size_t bytes = 0;
  for (const Spare& s : spares_) bytes += s.capacity;
  return bytes;
}

void Outputs::offer(const RunRequest& request) {
  const auto is_sized_late = [&](SlotIndex out) {
    return out != kNoSlot && table_.producer_of(out) != kNever && plan_.steps[table_.producer_of(out)].late;
  };
  for (const SlotIndex out : plan_.outputs) {
    if (is_sized_late(out)) table_[out].offered = nullptr;
  }
  for (size_t i = 0; i < plan_.outputs.size(); ++i) {
    const SlotIndex out = plan_.outputs[i];
    const Tensor* given = request.outputs[i] ? request.outputs[i]->tensor() : nullptr;
    if (!given || !is_sized_late(out) || table_[out].offered) continue;
    const auto is_needed = [&](SlotIndex in) {
      return lies_in_input(table_, *given, in) && !may_replace(table_, in, out, *given);
    };
    if (std::ranges::none_of(plan_.inputs, is_needed)) table_[out].offered = given;
  }
}

// An output may be a view whose shape only a later segment determines. The value under the view is written earlier, so
// the output gets its memory as soon as that value is laid out.
void Outputs::bind(const RunRequest& request, const Branches& branches) {
  for (size_t i = 0; i < plan_.outputs.size(); ++i) {
    if (bound_[i]) continue;
    const SlotIndex out = plan_.outputs[i], root = plan_.values[out].root;
    const Home home = plan_.values[out].home;
    if (is_laid_out(table_[out].type)) {
      if (home == Home::output) bind_one(request, branches, i, table_[out]);
      if (home == Home::boxed) bind_boxed(request, i);
    } else if (home == Home::output && is_laid_out(table_[root].type)) {
      bind_one(request, branches, i, table_[root]);
    }
  }
}

std::string Outputs::shape_clash(size_t output, const Tensor& bound, const Slot& s) const {
  return cat(
      "output '{}': the given buffer is {}{}, the run produces {}{}; bind a buffer of that shape or let the run "
      "allocate it",
      plan_.values[plan_.outputs[output]].name, dtype_name(bound.dtype()), to_string(bound.shape()),
      dtype_name(s.type.dtype), to_string(s.type.shape));
}

// Gives an output that is a cache a block that already holds the past rows, or a block with spare rows.
bool Outputs::bind_grown(const RunRequest& request, size_t i) {
  if (!caches_.is_output(i)) return false;
  Slot& slot = table_[plan_.outputs[i]];
  Value* wanted = request.outputs[i];
  slot.room = 0;
  if (!request.caches_grow || !wanted || !wanted->empty() || !request.output_space(i).host_readable()) return false;
  const std::shared_ptr<GrownRows> rows = caches_.present(i, slot);
  if (!rows) return false;
  if (!request.spares.empty()) request.spares[i] = Spare();
  slot.room = rows->room();
  joins_.put(plan_.outputs[i], rows->block());
  made_[i] = Tensor(slot.type.dtype, slot.type.shape, rows);
  bound_[i] = kBound;
  return true;
}

// The first of several outputs that share memory gets the caller's buffer; the others are copied at the end.
bool Outputs::shares_bound(size_t i) const {
  const SlotIndex root = plan_.values[plan_.outputs[i]].root;
  if (!table_[root].data) return false;
  for (size_t j = 0; j < i; ++j) {
    if (bound_[j] && plan_.values[plan_.outputs[j]].root == root) return true;
  }
  return false;
}

void Outputs::bind_one(const RunRequest& request, const Branches& branches, size_t i, const Slot& slot) {
  const SlotIndex out = plan_.outputs[i], root = plan_.values[out].root;
  if (shares_bound(i) || bind_grown(request, i)) return;
  Value* wanted = request.outputs[i];
  Tensor* given = wanted ? wanted->get<Tensor>() : nullptr;
  const bool final_shape = &slot == &table_[out];
  if (given && (given->dtype() != slot.type.dtype ||
                (final_shape ? !takes(*given, slot.type.shape, slot.count) : given->count() != slot.count))) {
    throw Error(ErrorCode::invalid_argument, shape_clash(i, *given, slot));
  }
  void* data = given ? given->mutable_data() : nullptr;
  // A buffer whose shape may prove wrong is not written before that is known.
  const bool on_host = given ? given->space().host_readable() : request.output_space(i).host_readable();
  const bool overlaps = given && on_host && destroys_input(table_, joins_, branches, out, data, given->bytes());
  const bool staged = overlaps || !on_host || (given && (!final_shape || !is_aligned(given->dtype(), data)));
  if (overlaps && request.disallow_copies) {
    fail(ErrorCode::invalid_argument,
         "output '{}' overlaps an input and would have to be copied, which session.disallow_implicit_copies forbids; "
         "bind it elsewhere",
         plan_.values[out].name);
  }
  if (!given || staged) {
    const bool reusable =
        made_[i] && made_[i].dtype() == slot.type.dtype && made_[i].shape() == slot.type.shape && (staged || !wanted);
    if (!reusable) made_[i] = make(request, i, slot);
    data = made_[i].mutable_data();
  }
  joins_.put(root, data);
  bound_[i] = final_shape ? kBound : kBoundEarly;
}

Tensor Outputs::make(const RunRequest& request, size_t i, const Slot& slot) {
  const SlotIndex out = plan_.outputs[i];
  const bool for_caller =
      request.outputs[i] && !request.outputs[i]->tensor() && request.output_space(i).host_readable();
  try {
    return for_caller ? take_spare(request, i, slot, request.output_space(i))
                      : Tensor(slot.type.dtype, slot.type.shape);
  } catch (Error& e) {
    e.add_context(cat("output '{}'", plan_.values[out].name));
    if (table_.producer_of(out) != kNever) e.add_context(plan_.steps[table_.producer_of(out)].name);
    throw;
  }
}

// Returns memory for a result: that of the last result if nothing holds it any more, otherwise new memory. Bindings
// keep that memory; for runs by name in sessions with devices the frame does, because a copy into fresh pages takes
// several times as long.
Tensor Outputs::take_spare(const RunRequest& request, size_t i, const Slot& slot, const MemorySpace& space) {
  const auto make = [&](size_t bytes) {
    return is_plain(space) && request.results ? request.results->allocate(bytes) : device_run_.allocate(space, bytes);
  };
  const size_t bytes = dtype_bytes(slot.type.dtype, slot.count);
  const bool keeps = request.spares.empty() && request.devices && !request.devices->providers.empty();
  if (keeps) spares_.resize(plan_.outputs.size());
  const std::span<Spare> spares = keeps ? std::span(spares_) : request.spares;
  const std::shared_ptr<void> memory = spares.empty() ? make(bytes) : spares[i].take(space, bytes, make);
  return Tensor(slot.type.dtype, slot.type.shape, memory.get(), memory, space);
}

// For strings: the kernel writes std::string objects, into the caller's tensor if there is one.
void Outputs::bind_boxed(const RunRequest& request, size_t i) {
  Slot& slot = table_[plan_.outputs[i]];
  const uint32_t step = table_.producer_of(plan_.outputs[i]);
  if (step == kNever || plan_.steps[step].late || plan_.steps[step].view) return;
  Value* wanted = request.outputs[i];
  const Tensor* given = wanted ? wanted->tensor() : nullptr;
  if (given && (given->dtype() != slot.type.dtype || !takes(*given, slot.type.shape, slot.count))) {
    throw Error(ErrorCode::invalid_argument, shape_clash(i, *given, slot));
  }
  Tensor t = given ? given->reshaped(slot.type.shape) : Tensor(slot.type.dtype, slot.type.shape);
  slot.data = t.mutable_data();
  slot.boxed = std::move(t);
  bound_[i] = kBound;
}

void Outputs::finish(const RunRequest& request) {
  for (size_t i = 0; i < request.outputs.size(); ++i) finish_one(request, i);
  take_offers_back();
}

// The frame must not keep references to memory of the caller.
void Outputs::take_offers_back() {
  for (const SlotIndex out : plan_.outputs) {
    if (out == kNoSlot || !table_[out].offered) continue;
    table_[out].offered = nullptr;
    table_[out].boxed = Value();
  }
}

// Whether the memory that the run made for output i also belongs to another output or to the caller.
bool Outputs::is_taken(const RunRequest& request, size_t i) const {
  const SlotIndex out = plan_.outputs[i];
  for (size_t j = 0; j < request.outputs.size(); ++j) {
    if (j != i && plan_.outputs[j] == out && request.outputs[j] && !request.outputs[j]->empty()) return true;
  }
  return false;
}

void Outputs::finish_one(const RunRequest& request, size_t i) {
  Value* wanted = request.outputs[i];
  if (!wanted) return;
  const SlotIndex out = plan_.outputs[i];
  Slot& slot = table_[out];
  if (!slot.type.is_tensor() || (slot.boxed.tensor() == nullptr && !slot.boxed.empty())) {
    *wanted = slot.boxed;
    return;
  }
  if (Tensor* given = wanted->get<Tensor>()) return finish_given(request, i, *given);
  const MemorySpace& space = request.output_space(i);
  // An input on a device is returned without a copy. Host memory may belong to the caller, who may overwrite it at any
  // time.
  const bool passes = plan_.values[out].home == Home::input && !space.host_readable();
  // A step makes a result of unknown size in memory of the frame.
  const bool is_counted = request.results && is_plain(space) && slot.type.dtype != DType::string;
  const bool boxed = plan_.values[out].home == Home::boxed && !(is_counted && request.results->is_elsewhere());
  const bool moves = passes || boxed || (bound_[i] && made_[i]);
  if (bound_[i] && made_[i] && space.host_readable()) {
    if (caches_.is_output(i)) caches_.remember(i, made_[i]);
    *wanted = made_[i].shape() == slot.type.shape ? std::move(made_[i]) : made_[i].reshaped(slot.type.shape);
    made_[i] = Tensor();
    return;
  }
  const Tensor made = result_of(table_, inputs_, request, i, space);
  if (moves && made.owner() && made.space().readable_as(space) && !is_taken(request, i)) {
    *wanted = boxed && is_counted && request.results->counts() ? counted(*request.results, made) : made;
    return;
  }
  Tensor copy =
      made.dtype() == DType::string ? Tensor(made.dtype(), made.shape()) : take_spare(request, i, slot, space);
  if (made.space().serves(space)) {
    // the output is an input, a constant or the same value as another output
    device_run_.move_bytes(made, copy, false);
  } else {
    require(!request.disallow_copies, ErrorCode::invalid_argument,
            "output '{}' is made in {} and requested in {}: it would have to be copied, which "
            "session.disallow_implicit_copies forbids; bind it to {}",
            plan_.values[out].name, to_string(made.space()), to_string(space), to_string(made.space()));
    device_run_.copy(CopyCause::output, plan_.values[out].name, made, copy, !made.space().host_readable());
  }
  *wanted = std::move(copy);
}

// Completes an output in the caller's own memory: copies the result unless it is already there.
void Outputs::finish_given(const RunRequest& request, size_t i, Tensor& given) {
  const SlotIndex out = plan_.outputs[i];
  const Slot& slot = table_[out];
  if (given.dtype() != slot.type.dtype || !takes(given, slot.type.shape, slot.count))
    throw Error(ErrorCode::invalid_argument, shape_clash(i, given, slot));
  if (!(given.shape() == slot.type.shape)) given = given.reshaped(slot.type.shape);
  if (given.data() == slot.data) return;
  const Tensor made = result_of(table_, inputs_, request, i, given.space());
  if (made.data() == given.data()) return;
  const bool elsewhere = !made.space().serves(given.space());
  if (request.disallow_copies) {
    fail(ErrorCode::invalid_argument,
         "output '{}' would have to be copied{}, which session.disallow_implicit_copies forbids; {}",
         plan_.values[out].name,
         elsewhere ? cat(" from {} to {}", to_string(made.space()), to_string(given.space())) : "",
         elsewhere ? "bind it to the memory it is made in" : "let the run allocate it");
  }
  // Devices read pinned inputs in place, and may still be reading one that this copy overwrites.
  const auto overwrites = [&](SlotIndex in) { return lies_in_input(table_, given, in); };
  if (given.space().host_readable() && request.devices && std::ranges::any_of(plan_.inputs, overwrites))
    device_run_.wait();
  const CopyCause cause = elsewhere ? CopyCause::output : bound_[i] == kBound ? CopyCause::alias : CopyCause::dynamic;
  device_run_.copy(cause, plan_.values[out].name, made, given, !made.space().host_readable());
}

}  // namespace retort
