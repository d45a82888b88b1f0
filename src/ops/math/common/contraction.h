// Products of tensors whose axes have labels, summed over some of the labels: Einsum for pairs of inputs, as copies,
// sums, elementwise products and matrix products.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/parallel.h"
#include "tensor/dtype.h"

namespace retort::ops {

struct MatMulShape;
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

/// A read-only tensor of float or double. It does not have the labels along which it does not vary: an axis of extent
/// 1 has no label.
struct Labelled {
  const void* data = nullptr;
  LabelSet labels = 0;
  std::array<int64_t, kMostLabels> strides{};  ///< in elements; 0 for labels that it does not have
};

/// Memory for results: the last one goes to `output`, the others to scratch, one after the other. Both may be null in a
/// rehearsal, which computes nothing and determines how much scratch is needed.
struct ContractionSpace {
  void *output = nullptr, *scratch = nullptr;
  bool rehearsal = false;
  DType type = DType::f32;  ///< or f64
};

/// The product of some factors, summed over the labels that the output does not have.
class Contraction {
 public:
  /// `extents` are those of all labels; `output` lists the labels of the result in the order of its axes.
  Contraction(std::span<const int64_t> extents, const LabelList& output, const ContractionSpace& space,
              const Parallel& parallel)
      : extents_(extents), output_(output), space_(space), parallel_(parallel) {}

  /// Multiplies all factors in pairs, first the pair whose result is smallest; overwrites them.
  void run(std::span<Labelled> factors);
  size_t bytes() const { return used_ * size(); }

 private:
  struct Groups;
  Labelled product(Labelled x, Labelled y, LabelSet keep);
  Labelled sum(const Labelled& x, LabelSet keep);
  void store(const Labelled& x, const LabelList& order, void* y);
  double weight(const Labelled& x, const Labelled& y, LabelSet keep) const;
  size_t size() const { return dtype_bits(space_.type) / 8; }
  void* free_space() const { return space_.rehearsal ? nullptr : static_cast<char*>(space_.scratch) + used_ * size(); }
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
  Labelled multiply_wide_matrices(const Labelled& a, const Labelled& b, const Labelled& to, const MatMulShape& shape,
                                  bool transposed);

  std::span<const int64_t> extents_;
  LabelList output_;
  ContractionSpace space_;
  const Parallel& parallel_;
  size_t used_ = 0;    // in elements of scratch
  bool last_ = false;  // whether the current step computes the output
};

}  // namespace retort::ops
