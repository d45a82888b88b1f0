#include "run/stretch.h"

#include <algorithm>

namespace retort {
namespace {

/// A step whose values take more than this does not find them in the caches; so much is run together.
constexpr size_t kNearBytes = size_t(4) << 20;

size_t bytes_of(const Slot& s) { return dtype_bytes(s.type.dtype, s.count); }

/// What a step of a stretch adds to it; batch 0: it cannot be in one.
struct Candidate {
  int64_t batch = 0;
  size_t bytes = 0;  ///< of its values with all images
};

bool has_batch(const Slot& s, size_t rank, int64_t batch) {
  const Shape& shape = s.type.shape;
  return shape.rank() >= 2 && shape.rank() <= rank && shape[0] == batch && s.type.dtype != DType::string;
}

Candidate look_at(const Plan& plan, std::span<const Slot> slots, const Step& step) {
  const bool elementwise = step.op->has(kElementwise);
  if (!(elementwise || step.op->has(kImagewise)) || step.late || !step.bodies.empty() || step.outputs.size() != 1)
    return {};
  const SlotIndex out = step.outputs[0];
  const Slot& y = slots[out];
  const PlanValue& value = plan.values[out];
  const size_t rank = y.type.shape.rank();
  if ((value.home != Home::arena && value.home != Home::output) || value.root != out || rank < 2) return {};
  Candidate c{y.type.shape[0], bytes_of(y)};
  size_t weights = 0;
  for (const SlotIndex in : step.inputs) {
    if (in == kNoSlot) continue;
    const Slot& x = slots[in];
    const PlanValue& v = plan.values[in];
    if (v.home == Home::constant) {
      weights += bytes_of(x);
      if (elementwise && x.type.shape.rank() == rank && x.type.shape[0] != 1) return {};
    } else if ((v.home == Home::arena || v.home == Home::input || v.home == Home::output) && !x.has_known &&
               has_batch(x, rank, c.batch) && (!elementwise || x.type.shape.rank() == rank)) {
      c.bytes += bytes_of(x);
    } else {
      return {};
    }
  }
  const bool far = c.batch > 1 && c.bytes > kNearBytes && weights < c.bytes / size_t(c.batch) / 4;
  return far ? c : Candidate();
}

// Lists what the steps of a stretch read and write.
void list_values(const Plan& plan, Stretch& s) {
  const auto add = [&](SlotIndex v) {
    if (v == kNoSlot || plan.values[v].home == Home::constant) return;
    if (std::ranges::any_of(s.values, [v](const Stretch::Batched& b) { return b.slot == v; })) return;
    s.values.push_back({v, false});
  };
  for (uint32_t i = s.begin; i < s.end; ++i) {
    if (plan.steps[i].view) continue;
    for (const SlotIndex v : plan.steps[i].inputs) add(v);
    for (const SlotIndex v : plan.steps[i].outputs) add(v);
  }
  for (uint32_t i = s.begin; i < s.end; ++i) {
    for (Stretch::Batched& b : s.values) {
      const PlanValue& v = plan.values[b.slot];
      const bool made = std::ranges::find(plan.steps[i].outputs, b.slot) != plan.steps[i].outputs.end();
      if (made && v.home == Home::arena && v.last_use < s.end) b.inside = true;
    }
  }
}

}  // namespace

std::vector<Stretch> find_stretches(const Plan& plan, std::span<const Slot> slots, uint32_t begin, uint32_t end,
                                    const std::vector<char>& runs) {
  std::vector<Stretch> found;
  Stretch now;
  size_t steps = 0, most = 0;
  const auto finish = [&] {
    now.images = most ? std::max<int64_t>(now.batch * int64_t(kNearBytes) / int64_t(most), 1) : 0;
    if (steps > 1 && now.images < now.batch) {
      list_values(plan, now);
      found.push_back(now);
    }
    now = {};
    steps = most = 0;
  };
  for (uint32_t i = begin; i < end; ++i) {
    if (!runs[i]) {
      if (plan.steps[i].view) finish();
      continue;
    }
    const Candidate c = look_at(plan, slots, plan.steps[i]);
    if (steps > 0 && c.batch != now.batch) finish();
    if (c.batch == 0) continue;
    if (steps++ == 0) now.begin = i, now.batch = c.batch;
    now.end = i + 1;
    most = std::max(most, c.bytes);
  }
  finish();
  return found;
}

StretchView::StretchView(const Stretch& stretch, std::span<Slot> slots) : batch_(stretch.batch) {
  for (const Stretch::Batched& b : stretch.values) {
    Slot& s = slots[b.slot];
    values_.push_back({&s, s.data, s.count / size_t(batch_), bytes_of(s) / size_t(batch_), b.inside});
  }
}

void StretchView::show(int64_t first, int64_t count) {
  for (const Whole& v : values_) {
    v.slot->type.shape[0] = count;
    v.slot->count = v.image_elements * size_t(count);
    if (v.data && !v.inside) v.slot->data = static_cast<std::byte*>(v.data) + size_t(first) * v.image_bytes;
  }
}

StretchView::~StretchView() { show(0, batch_); }

}  // namespace retort
