// NonMaxSuppression: of boxes [B, N, 4] that overlap by more than iou_threshold, keeps the one with the best of scores
// [B, C, N], for each batch and class; the result lists (batch, class, box).
#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <vector>

#include "ops/op.h"

namespace retort::ops {
namespace {

struct Box {
  float y1, x1, y2, x2;
  float area() const { return (y2 - y1) * (x2 - x1); }
};

// Boxes, some at a time as arrays of their numbers, so that one vector instruction serves several of them. Detectors
// compare millions of pairs.
class Boxes {
 public:
  void add(const Box& box) {
    if (count_ % kSome == 0) blocks_.emplace_back();
    Block& b = blocks_.back();
    const size_t i = count_++ % kSome;
    b.y1[i] = box.y1, b.x1[i] = box.x1, b.y2[i] = box.y2, b.x2[i] = box.x2, b.area[i] = box.area();
  }

  /// Whether any of them and `box` overlap by more than `limit`.
  bool any_overlaps(const Box& box, float limit) const {
    const float area = box.area();
    if (!(area > 0)) return false;  // also NaN
    return std::ranges::any_of(blocks_, [&](const Block& b) {
      int found = 0;
      for (size_t i = 0; i < kSome; ++i) {
        const float height = std::min(b.y2[i], box.y2) - std::max(b.y1[i], box.y1);
        const float width = std::min(b.x2[i], box.x2) - std::max(b.x1[i], box.x1), common = height * width;
        found |=
            int(height > 0) & int(width > 0) & int(b.area[i] > 0) & int(common / (b.area[i] + area - common) > limit);
      }
      return found != 0;
    });
  }

 private:
  static constexpr size_t kSome = 16;
  struct Block {  // boxes without an area overlap nothing
    float y1[kSome] = {}, x1[kSome] = {}, y2[kSome] = {}, x2[kSome] = {}, area[kSome] = {};
  };
  std::vector<Block> blocks_;
  size_t count_ = 0;
};

struct NonMaxSuppression {
  bool center_point_box = false;
  static constexpr std::tuple attributes{attr("center_point_box", &NonMaxSuppression::center_point_box)};
  enum Input : size_t { kBoxes, kScores, kMost, kOverlap, kScore };

  static bool fit(const Shape& boxes, const Shape& scores) {
    return boxes.rank() == 3 && scores.rank() == 3 && may_equal(boxes[2], 4) && may_equal(boxes[0], scores[0]) &&
           may_equal(boxes[1], scores[2]);
  }
  [[noreturn]] static void fail_to_fit(const std::string& boxes, const std::string& scores) {
    fail(ErrorCode::invalid_argument, "boxes have shape {} and scores {}, expected [B, N, 4] and [B, C, N]", boxes,
         scores);
  }

  void infer(InferContext& c) const {
    c.set(0, DType::i64);
    const Shape &boxes = c.shape(kBoxes), &scores = c.shape(kScores);
    if (!fit(boxes, scores)) fail_to_fit(c.dims().text(boxes), c.dims().text(scores));
    c.set(0, DType::i64, {c.unknown_extent(), 3});
  }

  void run(RunContext& c) const {
    const auto one = [&]<typename T>(size_t input, T otherwise) {
      require(c.count(input) <= 1, ErrorCode::invalid_argument, "input {} has shape {}, expected one element", input,
              c.has(input) ? to_string(c.shape(input)) : "");
      return c.count(input) ? c.input<T>(input)[0] : otherwise;
    };
    const Limits limits{.most = size_t(std::max<int64_t>(one(kMost, int64_t(0)), 0)),
                        .overlap = one(kOverlap, 0.0f),
                        .least = one(kScore, -std::numeric_limits<float>::infinity()),
                        .has_least = c.has(kScore)};
    require(limits.overlap >= 0 && limits.overlap <= 1, ErrorCode::invalid_argument,
            "iou_threshold is {}, expected 0 to 1", limits.overlap);
    const Shape &b = c.shape(kBoxes), &s = c.shape(kScores);
    if (!fit(b, s)) fail_to_fit(to_string(b), to_string(s));  // they were symbols during inference
    const auto batches = size_t(b[0]), n = size_t(b[1]), classes = size_t(s[1]);
    std::vector<std::vector<uint32_t>> kept(limits.most > 0 ? batches * classes : 0);
    c.parallel().for_each(kept.size(), [&](size_t i, int) {
      kept[i] = best(c.input<float>(kBoxes).data() + i / classes * n * 4, c.input<float>(kScores).subspan(i * n, n),
                     limits, c.parallel());
    });
    std::vector<int64_t> chosen;
    for (size_t i = 0; i < kept.size(); ++i) {
      for (const uint32_t box : kept[i])
        chosen.insert(chosen.end(), {int64_t(i / classes), int64_t(i % classes), int64_t(box)});
    }
    void* y = c.allocate(0, DType::i64, {int64_t(chosen.size() / 3), 3});
    std::ranges::copy(chosen, static_cast<int64_t*>(y));
  }

 private:
  Box corners(const float* v) const {
    if (center_point_box) return {v[1] - v[3] / 2, v[0] - v[2] / 2, v[1] + v[3] / 2, v[0] + v[2] / 2};
    return {std::min(v[0], v[2]), std::min(v[1], v[3]), std::max(v[0], v[2]), std::max(v[1], v[3])};
  }

  /// Chosen boxes: how many per class, by how much two may overlap, and their least score, which is exclusive if given.
  struct Limits {
    size_t most;
    float overlap, least;
    bool has_least;
    bool above(float score) const { return has_least ? score > least : score >= least; }  // false for NaN
  };

  // Unsigned numbers in the order of boxes: the best score first, of equal scores the earlier box.
  static uint64_t place_of(float score, uint32_t box) {
    const auto bits = std::bit_cast<uint32_t>(score + 0.0f);  // there is one 0
    const uint32_t falling = bits >> 31 ? bits : ~bits & 0x7fffffff;
    return uint64_t{falling} << 32 | box;
  }
  // Of detectors' scores, most are too low: some are compared at a time.
  static std::vector<uint64_t> candidates(std::span<const float> scores, const Limits& limits) {
    constexpr size_t kSome = 16;
    std::vector<uint64_t> places;
    for (size_t first = 0; first < scores.size(); first += kSome) {
      const size_t count = std::min(kSome, scores.size() - first);
      int any = 0;
      for (size_t i = 0; i < count; ++i) any |= int(limits.above(scores[first + i]));
      if (!any) continue;
      const size_t before = places.size();
      places.resize(before + count);
      uint64_t* to = places.data() + before;
      for (size_t i = first; i < first + count; ++i) {  // without a branch, which processors mispredict
        *to = place_of(scores[i], uint32_t(i));
        to += limits.above(scores[i]);
      }
      places.resize(size_t(to - places.data()));
    }
    return places;
  }

  // Candidates come in order one by one: mostly, a small part of them is looked at.
  std::vector<uint32_t> best(const float* boxes, std::span<const float> scores, const Limits& limits,
                             const Parallel& run) const {
    std::vector<uint64_t> places = candidates(scores, limits);
    std::ranges::make_heap(places, std::greater());
    std::vector<uint32_t> kept;
    Boxes chosen;
    while (!places.empty() && kept.size() < limits.most && !run.cancelled()) {
      std::ranges::pop_heap(places, std::greater());
      const auto i = uint32_t(places.back());
      places.pop_back();
      const Box box = corners(boxes + size_t{i} * 4);
      if (chosen.any_overlaps(box, limits.overlap)) continue;
      chosen.add(box);
      kept.push_back(i);
    }
    return kept;
  }
};

}  // namespace

extern const OpDef op_non_max_suppression;
constinit const OpDef op_non_max_suppression = define<NonMaxSuppression>({
    .name = "NonMaxSuppression",
    .since = {10, 11},
    .inputs = {"boxes: float", "scores: float", "max_output_boxes_per_class: int64?", "iou_threshold: float?",
               "score_threshold: float?"},
    .outputs = {"selected_indices: int64"},
    .traits = kDynamicOutput,
});

}  // namespace retort::ops
