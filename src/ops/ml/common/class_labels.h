// Labels of classes: integers or strings.
#pragma once
#include <string>
#include <vector>

#include "ops/ml/common/features.h"
#include "ops/op.h"

namespace retort::ops {

struct ClassLabels {
  std::vector<int64_t> int_labels;
  std::vector<std::string> string_labels;
  static constexpr std::tuple label_attributes{attr("classlabels_ints", &ClassLabels::int_labels),
                                               attr("classlabels_strings", &ClassLabels::string_labels)};

  /// If both lists are given, the strings are used.
  size_t label_count() const { return string_labels.empty() ? int_labels.size() : string_labels.size(); }
  DType label_type() const { return string_labels.empty() ? DType::i64 : DType::string; }
  /// Label and scores of each row of features: outputs 0 and 1.
  void infer_labels(InferContext& c, size_t features, size_t scores) const {
    if (c.wants(0)) c.set(0, label_type());
    if (c.wants(1)) c.set(1, DType::f32);
    const Dim rows = infer_rows(c, features);
    if (c.wants(0)) c.set(0, label_type(), {rows});
    if (c.wants(1)) c.set(1, DType::f32, {rows, Dim(scores)});
  }
  /// Writes output 0 for a row; without labels, classes are named by their numbers.
  void store_label(const RunContext& c, size_t row, size_t label) const {
    if (!c.wants(0)) return;
    if (!string_labels.empty()) {
      c.output<std::string>(0)[row] = string_labels[label];
    } else {
      c.output<int64_t>(0)[row] = int_labels.empty() ? int64_t(label) : int_labels[label];
    }
  }
};

}  // namespace retort::ops
