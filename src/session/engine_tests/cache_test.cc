// Caches that an operator extends: bound over the past ones, they are written in place.
#include <gtest/gtest.h>

#include "session/session_testing.h"

namespace retort {
namespace {

// One new token of a batch of one: two heads of one element, a cache of `rows`.
struct Decode : TestGraph {
  explicit Decode(bool known_total, bool inner_past = false, DType type = DType::f32) {
    const ValueId q = input("q", {1, 1, 2}, type), k = input("k", {1, 1, 1}, type), v = input("v", {1, 1, 1}, type);
    const Shape cache{1, 1, symbol("rows"), 1};
    ValueId past_k = input("past_k", cache, type), past_v = input("past_v", cache, type);
    const ValueId last = input("last", {1}, DType::i32);
    if (inner_past) past_k = add("Abs", {past_k}), past_v = add("Abs", {past_v});
    ValueId total = input("total", {1}, DType::i32);
    if (known_total) total = g.add_constant("three", Tensor::of<int32_t>({1}, {3}));
    const Node& n = g.node(g.add({.type = "GroupQueryAttention",
                                  .inputs = {q, k, v, past_k, past_v, last, total},
                                  .attributes = {{"num_heads", int64_t(2)}, {"kv_num_heads", int64_t(1)}},
                                  .domain = "com.microsoft",
                                  .outputs = 3}));
    g.outputs = n.outputs;
  }
};

template <typename T>
Tensor numbers(Shape shape, std::initializer_list<float> values) {
  return Tensor::of<T>(std::move(shape), std::vector<T>(values.begin(), values.end()));
}

/// The inputs of a step that writes the third row of caches of four.
template <typename T = float>
std::vector<Value> third_row(const Tensor& past_k, const Tensor& past_v) {
  return {numbers<T>({1, 1, 2}, {0, 0}), numbers<T>({1, 1, 1}, {0}),   numbers<T>({1, 1, 1}, {6}), past_k, past_v,
          Tensor::of<int32_t>({1}, {2}), Tensor::of<int32_t>({1}, {3})};
}

std::vector<const Value*> pointers(const std::vector<Value>& values) {
  std::vector<const Value*> result;
  for (const Value& v : values) result.push_back(&v);
  return result;
}

TEST(Cache, OfFloat16IsWrittenInPlaceAndKeepsTheRowsBehind) {
  const Decode model(true, false, DType::f16);
  const auto session = make_session(model.g, {});
  Tensor k = numbers<float16>({1, 1, 4, 1}, {0, 0, 7, 7}), v = numbers<float16>({1, 1, 4, 1}, {1, 2, 7, 7});
  const std::vector<Value> in = third_row<float16>(k, v);
  Value y, present_k = k, present_v = v;
  std::vector<Value*> outputs = {&y, &present_k, &present_v};
  session->run(pointers(in), outputs, {}, nullptr);
  EXPECT_EQ(float(y.tensor()->data<float16>()[1]), 3);
  EXPECT_EQ(present_v.tensor()->data(), v.data());
  const std::vector<float> rows(v.data<float16>(), v.data<float16>() + 4);
  EXPECT_EQ(rows, (std::vector<float>{1, 2, 6, 7}));
}

TEST(Cache, IsWrittenInPlaceIfBoundOverThePast) {
  for (const bool known_total : {true, false}) {
    SCOPED_TRACE(known_total);
    const Decode model(known_total);
    SessionOptions options;
    options.config["session.disallow_implicit_copies"] = "1";
    const auto session = make_session(model.g, options);
    Tensor k = Tensor::of<float>({1, 1, 4, 1}, {0, 0, 7, 7}), v = Tensor::of<float>({1, 1, 4, 1}, {1, 2, 7, 7});
    const std::vector<Value> in = third_row(k, v);
    const std::vector<const Value*> given = pointers(in);
    Value y, present_k = k, present_v = v;
    std::vector<Value*> outputs = {&y, &present_k, &present_v};
    session->run(given, outputs, {}, nullptr);
    EXPECT_EQ(y.tensor()->data<float>()[1], 3);
    EXPECT_EQ(present_v.tensor()->data(), v.data());
    EXPECT_EQ(std::vector<float>(v.data<float>(), v.data<float>() + 4), (std::vector<float>{1, 2, 6, 7}));
    EXPECT_EQ(k.data<float>()[2], 0);
    Value both = v;  // two caches in one memory cannot be correct
    outputs[1] = &both;
    EXPECT_THROW(session->run(given, outputs, {}, nullptr), Error);
  }
}

TEST(Cache, IsZeroAfterTheNewRowsIfThePastIsAnInnerValue) {
  const Decode model(true, true);
  const auto session = make_session(model.g, {});
  const std::vector<Value> in =
      third_row(Tensor::of<float>({1, 1, 4, 1}, {0, 0, 7, 7}), Tensor::of<float>({1, 1, 4, 1}, {1, 2, 7, 7}));
  Value y, present_k, present_v;
  std::vector<Value*> outputs = {&y, &present_k, &present_v};
  session->run(pointers(in), outputs, {}, nullptr);
  const float* v = present_v.tensor()->data<float>();
  EXPECT_EQ(std::vector<float>(v, v + 4), (std::vector<float>{1, 2, 6, 0}));
  EXPECT_EQ(present_k.tensor()->data<float>()[3], 0);
}

}  // namespace
}  // namespace retort
