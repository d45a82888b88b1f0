// NonMaxSuppression: of boxes [B, N, 4] that overlap by more than iou_threshold, keeps the one with the best of scores
// [B, C, N], for each batch and class; the result lists (batch, class, box).
#include <algorithm>
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
    std::vector<int64_t> chosen;
    std::vector<Box> boxes(n);
    for (size_t batch = 0; batch < batches && limits.most > 0; ++batch) {
      for (size_t i = 0; i < n; ++i) boxes[i] = corners(c.input<float>(kBoxes).data() + (batch * n + i) * 4);
      for (size_t k = 0; k < classes; ++k) {
        const float* scores = c.input<float>(kScores).data() + (batch * classes + k) * n;
        for (const uint32_t box : best(boxes, {scores, n}, limits, c.parallel()))
          chosen.insert(chosen.end(), {int64_t(batch), int64_t(k), int64_t(box)});
      }
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
  };
  // Sorts by score, best first; of equal scores, the earlier box comes first.
  static std::vector<uint32_t> best(const std::vector<Box>& boxes, std::span<const float> scores, const Limits& limits,
                                    const Parallel& run) {
    std::vector<uint32_t> order, kept;
    Boxes chosen;
    for (uint32_t i = 0; i < scores.size(); ++i)
      if (scores[i] > limits.least || (!limits.has_least && scores[i] == limits.least))
        order.push_back(i);  // false for NaN
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return scores[a] > scores[b]; });
    for (const uint32_t i : order) {
      if (kept.size() == limits.most || run.cancelled()) break;
      if (chosen.any_overlaps(boxes[i], limits.overlap)) continue;
      chosen.add(boxes[i]);
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
