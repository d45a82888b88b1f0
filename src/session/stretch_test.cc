// Batches that are run a few images at a time: the result is that of all images at once, also where the last images are
// fewer, where a value in the middle is a result of its own, and where something depends on the whole batch.
#include <gtest/gtest.h>

#include "session/session_testing.h"

namespace retort {
namespace {

using Ints = std::vector<int64_t>;

Value image(Shape shape, unsigned seed = 3) {
  std::mt19937 random(seed);
  Tensor t(DType::f32, std::move(shape));
  for (size_t i = 0; i < t.count(); ++i)
    t.mutable_data<float>()[i] = std::uniform_real_distribution<float>(-2, 2)(random);
  return t;
}

ValueId conv(TestGraph& t, ValueId x, const std::string& w, Shape shape, Attributes attributes = {}) {
  return t.add("Conv", {x, t.weight(w, shape), t.weight(w + "b", {shape[0]})}, std::move(attributes));
}

/// x + project(depthwise(expand(x))): 24 channels in between, 2 MiB an image of 150x150.
ValueId block(TestGraph& t, ValueId x, const std::string& name) {
  const ValueId wide = t.add("Relu", {conv(t, x, name + "0", {24, 6, 1, 1})});
  const ValueId deep =
      t.add("Relu", {conv(t, wide, name + "1", {24, 1, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}, {"group", int64_t(24)}})});
  return t.add("Add", {conv(t, deep, name + "2", {6, 24, 1, 1}), x});
}

/// The fast session runs on each batch, one after the other; each image's result is that of the session without
/// optimisation on the image alone.
/// Returns the session.
std::unique_ptr<Session> expect_image_by_image(const TestGraph& t, const std::vector<Value>& batches) {
  SessionOptions plain, fast;
  plain.optimization = OptimizationLevel::none;
  plain.threads.intra_threads = fast.threads.intra_threads = 1;
  const auto want = make_session(t.g, plain);
  auto got = make_session(t.g, fast);
  for (const Value& batch : batches) {
    const Tensor& x = *batch.tensor();
    SCOPED_TRACE(to_string(x.shape()));
    std::vector<Value> actual = run(*got, {batch});
    const size_t floats = x.count() / size_t(x.shape()[0]);
    for (int64_t b = 0; b < x.shape()[0]; ++b) {
      Shape one = x.shape();
      one[0] = 1;
      const auto* from = x.data<float>() + size_t(b) * floats;
      std::vector<Tensor> expected, part;
      for (const Value& v : run(*want, {Value(Tensor::of<float>(one, std::vector<float>(from, from + floats)))}))
        expected.push_back(*v.tensor());
      for (size_t i = 0; i < actual.size(); ++i) {
        const auto* y = actual[i].tensor()->data<float>() + size_t(b) * expected[i].count();
        part.push_back(Tensor::of<float>(expected[i].shape(), std::vector<float>(y, y + expected[i].count())));
      }
      expect_equal_results(expected, part);
    }
  }
  return got;
}

TEST(Stretch, ImageByImage) {
  TestGraph t;
  const ValueId x = t.input("x", {t.symbol("n"), 6, 150, 150});
  const ValueId first = block(t, x, "a"), second = block(t, first, "b");
  t.output(second, "y");
  t.output(t.add("GlobalAveragePool", {second}), "mean");
  const auto session =
      expect_image_by_image(t, {image({5, 6, 150, 150}), image({1, 6, 150, 150}), image({8, 6, 150, 150}, 4)});
  EXPECT_LT(session->workspace_bytes(), size_t(15) << 20);  // eight images of 24 channels alone have 16 MiB, twice
}

TEST(Stretch, ResultInTheMiddle) {
  TestGraph t;
  const ValueId x = t.input("x", {t.symbol("n"), 6, 150, 150});
  const ValueId first = block(t, x, "a");
  t.output(first, "middle");
  t.output(block(t, t.add("MaxPool", {block(t, first, "b")}, {{"kernel_shape", Ints{2, 2}}}), "c"), "y");
  expect_image_by_image(t, {image({7, 6, 150, 150})});
}

// What squeeze-and-excite multiplies with is one number for an image and channel; a batch of as many images as channels must
// not be taken for the channels.
TEST(Stretch, FactorsOfImages) {
  TestGraph t;
  const ValueId x = t.input("x", {t.symbol("n"), 6, 150, 150});
  const ValueId made = block(t, x, "a");
  const ValueId factor = t.add("Sigmoid", {conv(t, t.add("GlobalAveragePool", {made}), "s", {6, 6, 1, 1})});
  t.output(conv(t, t.add("Mul", {made, factor}), "p", {6, 6, 1, 1}), "y");
  expect_image_by_image(t, {image({6, 6, 150, 150}), image({3, 6, 150, 150})});
}

// A product over the batch is no matter of one image.
TEST(Stretch, ConstantsWithABatch) {
  TestGraph t;
  const ValueId x = t.input("x", {4, 6, 150, 150});
  const ValueId scaled = t.add("Mul", {block(t, x, "a"), t.weight("each", {4, 1, 1, 1})});
  t.output(block(t, scaled, "b"), "y");
  SessionOptions plain, fast;
  plain.optimization = OptimizationLevel::none;
  plain.threads.intra_threads = fast.threads.intra_threads = 1;
  const Value batch = image({4, 6, 150, 150});
  expect_equal_results({*run(*make_session(t.g, plain), {batch})[0].tensor()},
                       {*run(*make_session(t.g, fast), {batch})[0].tensor()});
}

}  // namespace
}  // namespace retort
