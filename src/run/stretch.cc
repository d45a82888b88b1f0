#include "run/stretch.h"

#include <algorithm>
#include <utility>

namespace retort {
namespace {

/// If the values of a step take more bytes than this, they do not stay in the caches; this many bytes of images are run
/// together.
constexpr size_t kNearBytes = size_t(4) << 20;
/// The inputs of a kImagewise operator up to this index (weights and bias) may be constants without a batch. Operators on
/// codes have scales and zero points between them.
constexpr size_t kLastShared = 2, kLastSharedOfCodes = 8;

size_t bytes_of(const Slot& s) { return dtype_bytes(s.type.dtype, s.count); }

/// Describes a step that may be in a stretch; batch 0 means that it cannot.
struct Candidate {
  int64_t batch = 0;
  size_t bytes = 0;  ///< of its values for all images
};

/// Whether the first axis of a value is a batch, and each image takes whole bytes.
bool has_batch(const Slot& s, size_t rank, int64_t batch) {
  const Shape& shape = s.type.shape;
  return shape.rank() >= 2 && shape.rank() <= rank && shape[0] == batch && s.type.dtype != DType::string &&
         !is_packed(s.type.dtype);
}

/// Whether a constant is the same for all `batch` images of an output of this rank.
bool is_shared(const Step& step, size_t input, const Slot& constant, size_t rank, int64_t batch) {
  // Of operators on codes, inputs 0 and 3 may be images.
  const bool per_image = constant.type.shape.rank() == rank && constant.type.shape[0] == batch;
  if (step.op->has(kConverts) && (input == 0 || input == 3) && per_image) return false;
  if (!step.op->has(kElementwise))
    return input <= (step.op->has(kConverts) ? kLastSharedOfCodes : kLastShared) || constant.type.shape.rank() < 2;
  return constant.type.shape.rank() < rank || constant.type.shape[0] == 1;
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
  if (c.batch < 2 || !has_batch(y, rank, c.batch)) return {};
  size_t weights = 0;
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    if (step.inputs[i] == kNoSlot) continue;
    const Slot& x = slots[step.inputs[i]];
    const Home home = plan.values[step.inputs[i]].home;
    if (home == Home::constant) {
      if (!is_shared(step, i, x, rank, c.batch)) return {};
      weights += bytes_of(x);
    } else if ((home == Home::arena || home == Home::input || home == Home::output) && !x.has_known &&
               has_batch(x, rank, c.batch) && (!elementwise || x.type.shape.rank() == rank)) {
      c.bytes += bytes_of(x);
    } else {
      return {};
    }
  }
  const bool far = c.bytes > kNearBytes && weights < c.bytes / size_t(c.batch) / 4;
  return far ? c : Candidate();
}

// Lists the values that the active steps of a stretch read and write.
void list_values(const Plan& plan, const std::vector<char>& runs, Stretch& s) {
  std::vector<char> listed(plan.values.size());
  const auto add = [&](SlotIndex v, bool made) {
    if (v == kNoSlot || plan.values[v].home == Home::constant || std::exchange(listed[v], true)) return;
    s.values.push_back(
        {.slot = v, .inside = made && plan.values[v].home == Home::arena && plan.values[v].last_use < s.end});
  };
  for (uint32_t i = s.begin; i < s.end; ++i) {
    if (!runs[i]) continue;
    for (const SlotIndex v : plan.steps[i].inputs) add(v, false);
    for (const SlotIndex v : plan.steps[i].outputs) add(v, true);
  }
}

}  // namespace

std::vector<Stretch> find_stretches(const Plan& plan, std::span<const Slot> slots, uint32_t begin, uint32_t end,
                                    const std::vector<char>& runs) {
  std::vector<Stretch> found;
  Stretch now;
  size_t steps = 0, most = 0;
  const auto finish = [&] {
    if (steps > 1) now.images = int64_t(std::max<size_t>(kNearBytes / (most / size_t(now.batch)), 1));
    if (steps > 1 && now.images < now.batch) {
      list_values(plan, runs, now);
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

StretchView::StretchView(Stretch& stretch, std::span<Slot> slots) : stretch_(stretch), slots_(slots) {
  for (Stretch::Batched& b : stretch_.values) {
    const Slot& s = slots[b.slot];
    b.data = s.data;
    b.image_elements = s.count / size_t(stretch_.batch);
    b.image_bytes = bytes_of(s) / size_t(stretch_.batch);
    if (s.row_stride) b.image_bytes = b.image_bytes / s.row_extent() * s.row_stride;
  }
}

void StretchView::show(int64_t first, int64_t count) {
  for (const Stretch::Batched& b : stretch_.values) {
    Slot& s = slots_[b.slot];
    s.type.shape[0] = count;
    s.count = b.image_elements * size_t(count);
    if (b.data && !b.inside) s.data = static_cast<std::byte*>(b.data) + size_t(first) * b.image_bytes;
  }
}

}  // namespace retort
