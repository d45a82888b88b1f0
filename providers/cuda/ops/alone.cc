// NonZero, Compress, NonMaxSuppression: the host reads how many results there are, and makes the output for them.
#include "cuda/core/alone.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "common/sizes.h"
#include "moves.h"

namespace providers::cuda {
namespace {

constexpr int64_t kChunk = 4096;  // elements of a block of kernels/select.cu

// The arguments of kernels/select.cu and kernels/suppress.cu.
struct Axes {
  int32_t rank = 0;
  int64_t extent[kMostAxes] = {};
};
struct Limits {
  int32_t boxes = 0, classes = 0, most = 0;
  float overlap = 0, least = 0;
  int32_t has_least = 0, is_center = 0;
};

Grid blocks_of(int64_t blocks, unsigned threads) {
  if (blocks >= kNarrow) throw Error(text(blocks, " blocks, more than a launch can have"));
  Grid grid;
  grid.blocks.x = unsigned(blocks);
  grid.threads.x = threads;
  return grid;
}

/// Finds elements that are not 0.
class Selection {
 public:
  /// Counts the first `count` elements of the input.
  Selection(AloneRun& run, const AloneInput& input, int64_t count)
      : run_(run),
        x_(input.address),
        count_(count),
        blocks_(ceil_div(count, kChunk)),
        defines_{{"ELEMENT", kernel_type(input.operand.type)}} {
    if (count == 0) return;
    const Address counts = run.scratch(size_t(blocks_) * 4);
    begins_ = run.scratch(size_t(blocks_ + 1) * 8);
    run.launch(kernel("count_set"), blocks_of(blocks_, 256), {run.at(x_), count_, run.at(counts)});
    run.launch(kernel("sum_counts"), blocks_of(1, 1024), {run.at(counts), run.at(begins_), blocks_});
    run.read_back(&total_, begins_ + size_t(blocks_) * 8, sizeof total_);
  }
  int64_t total() const { return total_; }
  /// Writes the places along the axes.
  void write(Address to, const Dims& dims) {
    if (total_ == 0) return;
    Axes axes;
    for (const int64_t d : dims) axes.extent[axes.rank++] = d;
    run_.launch(kernel("write_places"), blocks_of(blocks_, 256),
                {run_.at(x_), count_, run_.at(begins_), run_.at(to), total_, Argument::of(axes)});
  }

 private:
  Kernel kernel(const char* entry) const { return run_.device.kernels().get("select.cu", entry, defines_); }

  AloneRun& run_;
  const Address x_;
  const int64_t count_, blocks_;
  const Defines defines_;
  Address begins_ = 0;
  int64_t total_ = 0;
};

class NonZero : public AloneOp {
 public:
  explicit NonZero(const Node&) {}
  void run(AloneRun& run) const override {
    const Operand& x = run.in.at(0).operand;
    const Dims dims = x.dims.empty() ? Dims{1} : x.dims;  // a number counts as a list of one
    if (dims.size() > kMostAxes) throw Error(text("at most ", kMostAxes, " axes"));
    Selection found(run, run.in[0], int64_t(x.count()));
    const Address to = run.out(0, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, {int64_t(dims.size()), found.total()});
    found.write(to, dims);
  }
};

class Compress : public AloneOp {
 public:
  explicit Compress(const Node& node) : has_axis_(node.has("axis")), axis_(node.integer("axis", 0)) {}
  void run(AloneRun& run) const override {
    const Operand &x = run.in.at(0).operand, &condition = run.in.at(1).operand;
    Dims dims = has_axis_ ? x.dims : Dims{int64_t(x.count())};
    const int64_t axis = axis_ < 0 ? axis_ + int64_t(dims.size()) : axis_;
    if (axis < 0 || axis >= int64_t(dims.size())) throw Error(text("axis ", axis_, " of ", dims.size(), " axes"));
    if (condition.rank() != 1) throw Error("the condition is not a list");
    const auto along = size_t(axis);
    const int64_t extent = dims[along];
    Selection found(run, run.in[1], std::min(extent, condition.dims[0]));
    const Address places = run.scratch(size_t(found.total()) * 8);
    found.write(places, {extent});
    dims[along] = found.total();
    const Address to = run.out(0, x.type, dims);
    const size_t unit = size_of(x.type);
    const int64_t bytes = product(dims, along + 1, dims.size()) * int64_t(unit);
    const int64_t all = product(dims, 0, dims.size()) * int64_t(unit);
    if (all == 0) return;
    const size_t word = word_for(unit, {bytes});
    const int64_t count = all / int64_t(word);
    const bool narrow = count < kNarrow;
    run.launch(move_kernel(run.device, {"gather.cu", "gather_rows"}, word, unit, narrow),
               flat_grid(size_t(count), 256, 4),
               {run.at(run.in[0].address), run.at(places), run.at(to), count,
                rows_of({bytes / int64_t(word), found.total(), extent, true}, narrow)});
  }

 private:
  const bool has_axis_;
  const int64_t axis_;
};

class NonMaxSuppression : public AloneOp {
 public:
  explicit NonMaxSuppression(const Node& node) : is_center_(node.integer("center_point_box", 0) != 0) {}

  void run(AloneRun& run) const override {
    const Dims &boxes = run.in.at(0).operand.dims, &scores = run.in.at(1).operand.dims;
    if (boxes.size() != 3 || scores.size() != 3 || boxes[2] != 4 || boxes[0] != scores[0] || boxes[1] != scores[2])
      throw Error("boxes and scores have shapes that do not fit, expected [B, N, 4] and [B, C, N]");
    const double most = std::clamp(run.number(2, 0), 0.0, double(boxes[1]));
    Limits limits;
    limits.overlap = float(run.number(3, 0));
    limits.least = float(run.number(4, -std::numeric_limits<double>::infinity()));
    limits.has_least = run.has(4);
    limits.is_center = is_center_;
    if (!(limits.overlap >= 0 && limits.overlap <= 1))
      throw Error(text("iou_threshold is ", limits.overlap, ", expected 0 to 1"));
    if (boxes[1] >= kNarrow / 4) throw Error(text(boxes[1], " boxes, at most ", kNarrow / 4 - 1));
    limits.boxes = int32_t(boxes[1]);
    limits.classes = int32_t(scores[1]);
    limits.most = int32_t(most);
    const int64_t blocks = scores[0] * scores[1];
    if (blocks == 0 || limits.most == 0) {
      run.out(0, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, {0, 3});
      return;
    }
    suppress(run, limits, blocks);
  }

 private:
  static void suppress(AloneRun& run, const Limits& limits, int64_t blocks) {
    const Address room = run.scratch(size_t(blocks) * round_up(size_t(limits.boxes), 256) * 4);
    const Address chosen = run.scratch(size_t(blocks) * size_t(limits.most) * 4);
    const Address counts = run.scratch(size_t(blocks) * 4);
    Kernels& kernels = run.device.kernels();
    run.launch(kernels.get("suppress.cu", "suppress"), blocks_of(blocks, 256),
               {run.at(run.in[0].address), run.at(run.in[1].address), run.at(room), run.at(chosen), run.at(counts),
                Argument::of(limits)});
    std::vector<int32_t> taken(static_cast<size_t>(blocks));
    run.read_back(taken.data(), counts, taken.size() * 4);
    const int64_t total = std::accumulate(taken.begin(), taken.end(), int64_t(0));
    const Address to = run.out(0, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, {total, 3});
    if (total == 0) return;
    run.launch(kernels.get("suppress.cu", "list_chosen"), blocks_of(blocks, 256),
               {run.at(chosen), run.at(counts), run.at(to), limits.classes, limits.most});
  }

  const bool is_center_;
};

std::string refuses_first(const Node& node, const Claiming&) { return refuses_type(node.input(0)); }

std::string refuses_suppression(const Node& node, const Claiming&) {
  for (const size_t i : {0, 1})
    if (!node.input(i) || node.in[i]->type != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) return "boxes or scores of no float";
  return "";
}

}  // namespace

void add_alone(Kinds& kinds) {
  kinds[{"", "NonZero"}] = kind_of<NonZero>(refuses_first);
  kinds[{"", "Compress"}] = kind_of<Compress>(refuses_first);
  kinds[{"", "NonMaxSuppression"}] = kind_of<NonMaxSuppression>(refuses_suppression);
  for (const char* const type : {"NonZero", "Compress", "NonMaxSuppression"}) kinds[{"", type}].alone = true;
}

}  // namespace providers::cuda
