#include "run/layout.h"

#include <algorithm>

#include "base/error.h"
#include "memory/host.h"
#include "plan/in_step.h"

namespace retort {

Layout::Layout(const Parts& parts)
    : plan_(parts.table.plan()),
      parts_(parts),
      inference_(parts.table),
      requests_(parts.table, parts.joins),
      images_of_(plan_.values.size()) {}

void Layout::begin(std::span<const Value* const> inputs) {
  if (inference_.take_types(inputs) && holds_) {
    if (is_last(*segments_[0])) return;
    inference_.forget_content();
    inference_.forget_from(segments_[0]->end);
    return;
  }
  holds_ = false;
  inference_.forget_content();
  for (const SlotIndex in : plan_.inputs) {
    if (in != kNoSlot && plan_.values[in].home == Home::input) parts_.joins.put(in, nullptr);
  }
  lay_out(0, 0);
  holds_ = true;
}

Segment& Layout::segment(size_t index) {
  return index == 0 ? *segments_[0] : lay_out(index, segments_[index - 1]->end);
}

// Lays out as many steps as possible, starting with `begin`.
Segment& Layout::lay_out(size_t index, uint32_t begin) {
  if (index == segments_.size()) segments_.push_back(std::make_unique<Segment>());
  Segment& segment = *segments_[index];
  inference_.forget_from(begin);
  const uint32_t end = inference_.infer_from(begin);
  // The first segment is laid out before the content of the inputs may be read, and may be empty.
  if (end == begin && index > 0 && begin < plan_.steps.size()) {
    fail(ErrorCode::fail, "{}: the shape of its output cannot be derived from its inputs", plan_.steps[end].name);
  }
  segment.begin = begin;
  segment.end = end;
  std::vector<char> runs(plan_.steps.size());
  for (uint32_t i = begin; i < end; ++i) runs[i] = !inference_.is_settled(i);
  find_stretches(segment, runs);
  segment.branches.find(parts_.table, {.begin = begin,
                                       .end = end,
                                       .runs = runs,
                                       .stretches = segment.stretches,
                                       .inside = parts_.threads.inside.workers(),
                                       .between = parts_.threads.between.workers()});
  try {
    settle(segment, runs);
  } catch (const Error&) {
    if (segment.branches.empty()) throw;
    segment.branches.clear();  // running the steps one after the other needs less memory
    settle(segment, runs);
  }
  return segment;
}

void Layout::settle(Segment& segment, const std::vector<char>& runs) {
  find_joins(segment, runs);
  give_memory(segment);
  reserve_scratch(segment);
  activate(segment);
}

// Finds the steps that run a few images at a time.
void Layout::find_stretches(Segment& segment, const std::vector<char>& runs) {
  segment.stretches = retort::find_stretches(plan_, parts_.table.all(), segment.begin, segment.end, runs);
  std::ranges::fill(images_of_, 0);
  for (const Stretch& s : segment.stretches) {
    for (const Stretch::Batched& b : s.values) images_of_[b.slot] = b.inside ? uint32_t(s.images) : 0;
  }
}

// Branches that run at the same time may not write to the memory of one value, so a segment with forks has no joins.
void Layout::find_joins(const Segment& segment, const std::vector<char>& runs) {
  const std::vector<char> none(segment.branches.empty() ? 0 : runs.size());
  const auto context = [&](uint32_t i) {
    return RunContext(parts_.table.inputs_of(i), parts_.table.outputs_of(i), plan_.steps[i].state.get(), nullptr,
                      parts_.threads.inside);
  };
  parts_.joins.find({segment.begin, segment.end, segment.branches.empty() ? runs : none, images_of_, context});
}

std::shared_ptr<void> Layout::allocate(size_t bytes) const {
  return parts_.budget ? parts_.budget->allocate(bytes) : allocate_block(bytes);
}

void Layout::give_memory(Segment& segment) {
  requests_.collect({segment.begin, segment.end, segment.stretches, segment.branches, images_of_}, segment.memory);
  const auto allocate_workspace = [&](size_t bytes) {
    try {
      return allocate(bytes);
    } catch (Error& e) {
      e.add_context(cat("a workspace for {} outputs, the largest that of {}", segment.memory.requests.size(),
                        requests_.largest(segment.memory)));
      throw;
    }
  };
  segment.block.fit(segment.memory.requests, parts_.budget ? parts_.budget->limit() : SIZE_MAX, allocate_workspace);
  for (const auto& [root, request] : segment.memory.occupants) parts_.joins.put(root, segment.block.at(request));
}

RunContext Layout::context_of(const Segment& segment, uint32_t step, void* scratch) const {
  const Parallel& threads = segment.branches.seat(step).branch == 0 ? parts_.threads.inside : parts_.threads.alone;
  return {parts_.table.inputs_of(step), parts_.table.outputs_of(step), plan_.steps[step].state.get(), scratch, threads,
          parts_.bodies.of(step)};
}

size_t Layout::scratch_of(const Segment& segment, uint32_t index) const {
  const Step& step = plan_.steps[index];
  if (!step.op->scratch || step.view || step.late) return 0;
  const RunContext probe = context_of(segment, index, nullptr);
  const auto ask = [&] { return step.op->scratch(step.params.get(), probe); };
  return in_step(step, [&] { return parts_.table.with_inputs(index, ask); });
}

void Layout::reserve_scratch(Segment& segment) {
  uint32_t largest = segment.begin;
  size_t most = 0;  // of any single step
  const auto bytes_of = [&](uint32_t i) {
    const size_t bytes = scratch_of(segment, i);
    if (bytes > most) largest = i;
    most = std::max(most, bytes);
    return bytes;
  };
  size_t need = segment.branches.seat_scratch(bytes_of);
  const auto ask = [&](uint32_t i) { need = std::max(need, bytes_of(i)); };
  for (uint32_t i = segment.begin; i < segment.end; ++i) {
    if (segment.branches.seat(i).branch == 0) ask(i);
  }
  for (Stretch& s : segment.stretches) {
    StretchView view(s, parts_.table.all());
    for (const int64_t images : {s.images, s.batch % s.images}) {
      if (images > 0) view.show(0, images);
      for (uint32_t i = s.begin; i < s.end; ++i) ask(i);
    }
  }
  segment.scratch.set(need);
  if (need <= scratch_.bytes()) return;
  holds_ = false;  // the contexts of other segments have the old pointer
  in_step(plan_.steps[largest], [&] { scratch_.grow(need, [&](size_t bytes) { return allocate(bytes); }); });
}

void Layout::activate(Segment& segment) {
  segment.active.clear();
  for (uint32_t i = segment.begin; i < segment.end; ++i) {
    if (inference_.is_settled(i) || parts_.joins.is_in_place(i)) continue;
    const Branches::Seat& seat = segment.branches.seat(i);
    void* const scratch = scratch_.data() ? scratch_.data() + seat.scratch : nullptr;
    if (seat.branch != 0) segment.branches.set_active(i, uint32_t(segment.active.size()));
    segment.active.push_back({plan_.steps[i].kernel.fn, i, context_of(segment, i, scratch)});
    segment.active.back().context.set_devices(&parts_.device_run);
  }
}

size_t Layout::bytes() const {
  size_t bytes = scratch_.bytes();
  for (const auto& s : segments_) bytes += s->block.bytes();
  return bytes;
}

void Layout::trim() {
  size_t scratch = 0;
  for (const auto& s : segments_) {
    scratch = std::max(scratch, s->scratch.forget_most());
    if (s->block.trim()) holds_ = false;
  }
  if (scratch_.trim(scratch)) holds_ = false;
}

void Layout::give_back() {
  for (const auto& s : segments_) s->block.give_back();
  scratch_.give_back();
  holds_ = false;
}

void Layout::guard(const Segment& segment, const Active& active) const {
  const Step& step = plan_.steps[active.step];
  segment.block.guard(active.step);
  scratch_.guard(step.op->scratch && !step.late ? step.op->scratch(step.params.get(), active.context) : 0);
}

void Layout::guard(const Segment& segment, const Fork& fork) const {
  segment.block.guard(fork.branches[0][0]);
  scratch_.guard(scratch_.bytes());
}

}  // namespace retort
