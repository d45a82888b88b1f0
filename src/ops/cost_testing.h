// Rows of cost_test.cc: an operator, shapes, and the numbers worked out by hand.
#pragma once
#include <algorithm>
#include <string_view>
#include <vector>

#include "ops/cost.h"
#include "ops/op_test.h"

namespace retort::ops::costs {

struct Row {
  std::string_view name;
  std::vector<Tensor> inputs;  ///< an empty one is omitted
  Cost cost;
  Attributes attributes = {};
  std::string_view domain = "";
  size_t outputs = 1;
};

inline Tensor of(Shape shape, DType type = DType::f32) {
  Tensor t(type, std::move(shape));
  std::fill_n(t.mutable_data<char>(), t.bytes(), char(0));
  return t;
}
inline const Tensor kNoInput;

std::vector<Row> products();
std::vector<Row> linear_models();
/// Of weights of few bits and of mixtures of experts.
std::vector<Row> packed_products();
std::vector<Row> convolutions();
std::vector<Row> recurrences();
std::vector<Row> attentions();

}  // namespace retort::ops::costs
