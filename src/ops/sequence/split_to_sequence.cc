// SplitToSequence: parts of a tensor along an axis as a sequence: of given sizes, of one size (the last may be
// smaller), or single slices, whose axis may be removed.
#include "ops/integers.h"
#include "ops/sequence/common/sequence.h"

namespace retort::ops {
namespace {

struct SplitToSequence {
  int64_t axis = 0;
  bool keepdims = true;
  static constexpr std::tuple attributes{attr("axis", &SplitToSequence::axis),
                                         attr("keepdims", &SplitToSequence::keepdims)};

  void infer(InferContext& c) const { c.set(0, ValueType::sequence_of(ValueType::tensor(c.dtype(0)))); }

  void run(RunContext& c) const {
    const Shape& x = c.shape(0);
    const size_t at = normalize_axis(axis, x.rank());
    Sequence s{.dtype = c.dtype(0)};
    int64_t begin = 0;
    for (const int64_t n : sizes(c, x[at])) {
      Tensor part = part_of(c, 0, at, begin, n);
      begin += n;
      s.items.push_back(c.has(1) || keepdims ? std::move(part) : without_axis(part, at));
    }
    c.set_value(0, std::move(s));
  }

 private:
  static Shape sizes(const RunContext& c, int64_t extent) {
    Shape given = c.has(1) ? integers(c, 1) : Shape{1};
    if (c.has(1) && c.shape(1).rank() > 0) {
      int64_t sum = 0;
      for (const int64_t n : given) sum += n >= 0 && n <= extent ? n : extent + 1;
      require(sum == extent, ErrorCode::invalid_argument, "split {} does not add up to the {} elements of the axis",
              to_string(given), extent);
      return given;
    }
    require(given.size() == 1 && given[0] > 0, ErrorCode::invalid_argument, "split is {}", to_string(given));
    Shape all;
    for (int64_t begin = 0; begin < extent; begin += given[0]) all.push_back(std::min(given[0], extent - begin));
    return all;
  }
  static Tensor without_axis(const Tensor& t, size_t axis) {
    Shape shape;
    for (size_t d = 0; d < t.shape().rank(); ++d) {
      if (d != axis) shape.push_back(t.shape()[d]);
    }
    return t.reshaped(shape);
  }
};

}  // namespace

extern const OpDef op_split_to_sequence;
constinit const OpDef op_split_to_sequence = define<SplitToSequence>({
    .name = "SplitToSequence",
    .since = {11, 24},
    .inputs = {"input: T", "split: I?"},
    .outputs = {"output_sequence: S"},
    .traits = kBoxed,
});

}  // namespace retort::ops
