// Products of tensors whose axes have labels, summed over some of the labels: what Einsum does with two inputs at a time,
// as copies, sums, elementwise products and matrix products.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/parallel.h"

namespace retort::ops {

constexpr size_t kMostLabels = 16;

/// A set of labels, one bit each.
using LabelSet = uint32_t;

/// Labels in an order, outermost axis first.
struct LabelList {
  std::array<uint8_t, kMostLabels> at{};
  size_t count = 0;
  void push(size_t label) { at[count++] = uint8_t(label); }
  const uint8_t* begin() const { return at.data(); }
  const uint8_t* end() const { return at.data() + count; }
  LabelSet set() const;
  bool operator==(const LabelList& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }
};

/// A tensor in single precision, read only. Labels along which it does not vary it lacks: an axis of extent 1 has none.
struct Labelled {
  const float* data = nullptr;
  LabelSet labels = 0;
  std::array<int64_t, kMostLabels> strides{};  ///< in elements; 0 for labels that it lacks
};

/// Where results go: what comes last to `output`, everything else to scratch, one after the other. Both may be null in
/// a rehearsal, which computes nothing and tells how much scratch it takes.
struct ContractionSpace {
  float *output = nullptr, *scratch = nullptr;
  bool rehearsal = false;
};

/// The product of some factors, summed over the labels that the output lacks.
class Contraction {
 public:
  /// `extents`: of all labels; `output`: those of the result in the order of its axes.
  Contraction(std::span<const int64_t> extents, const LabelList& output, const ContractionSpace& space,
              const Parallel& parallel)
      : extents_(extents), output_(output), space_(space), parallel_(parallel) {}

  /// The product of all factors, in pairs, the pair first that leaves the least; overwrites them.
  void run(std::span<Labelled> factors);
  size_t bytes() const { return used_ * sizeof(float); }

 private:
  struct Groups;
  Labelled product(Labelled x, Labelled y, LabelSet keep);
  Labelled sum(const Labelled& x, LabelSet keep);
  void store(const Labelled& x, const LabelList& order, float* y);
  double weight(const Labelled& x, const Labelled& y, LabelSet keep) const;
  double size(LabelSet labels) const;
  int64_t extent(const LabelList& list) const;
  LabelList natural_order(const Labelled& x, LabelSet of) const;
  bool is_dense(const Labelled& x, const LabelList& order) const;
  Labelled fresh(const LabelList& order);
  Labelled result(const LabelList& order);
  Labelled dense(const Labelled& x, const LabelList& order);
  Labelled multiply_elements(const Labelled& x, const Labelled& y, const LabelList& order);
  Labelled multiply_vectors(const Labelled& x, const Labelled& y, const Groups& g);
  Labelled multiply_matrices(const Labelled& x, const Labelled& y, const Groups& g);

  std::span<const int64_t> extents_;
  LabelList output_;
  ContractionSpace space_;
  const Parallel& parallel_;
  size_t used_ = 0;    // floats of scratch
  bool last_ = false;  // what is computed now is the output
};

}  // namespace retort::ops
