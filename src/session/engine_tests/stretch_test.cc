// Batches that run a few images at a time: the result is that of all images at once, also if the last group is smaller,
// if a value inside the stretch is an output, and if something depends on the whole batch.
#include <gtest/gtest.h>

#include <cstring>

#include "session/session_testing.h"

namespace retort {
namespace {

using Ints = std::vector<int64_t>;

/// x + project(depthwise(expand(x))): 24 channels inside, 2 MiB per image of 150x150.
ValueId block(TestGraph& t, ValueId x, const std::string& name) {
  const ValueId wide = t.add("Relu", {conv(t, x, name + "0", {24, 6, 1, 1})});
  const ValueId deep =
      t.add("Relu", {conv(t, wide, name + "1", {24, 1, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}, {"group", int64_t(24)}})});
  return t.add("Add", {conv(t, deep, name + "2", {6, 24, 1, 1}), x});
}

/// Runs the fast session on each batch, one after the other, and compares each image's result with that of a session
/// without optimisation on the image alone. Returns the fast session.
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
  // Eight images of 24 channels alone would take 16 MiB, twice.
  EXPECT_LT(session->idle_bytes().workspaces, size_t(15) << 20);
}

/// Convolutions of codes, and their sum with the input's codes.
ValueId block_of_codes(TestGraph& t, ValueId x) {
  const ValueId scale = t.floats({}, {0.05f}), zero = t.g.add_constant("zero", Tensor::of<uint8_t>({}, {128}));
  const auto coded = [&](ValueId v) {
    return t.add("DequantizeLinear", {t.add("QuantizeLinear", {v, scale, zero}), scale, zero});
  };
  const auto filters = [&](Shape shape) {
    Tensor w(DType::i8, std::move(shape));
    for (size_t i = 0; i < w.count(); ++i) w.mutable_data<int8_t>()[i] = int8_t(int(i * 7 % 255) - 127);
    const ValueId codes = t.g.add_constant(t.g.unique_name("w"), w);
    return t.add("DequantizeLinear",
                 {codes, t.floats({}, {0.002f}), t.g.add_constant(t.g.unique_name("z"), Tensor::of<int8_t>({}, {0}))});
  };
  const ValueId codes = coded(x), wide = coded(t.add("Conv", {codes, filters({192, 16, 1, 1})}));
  const ValueId deep =
      coded(t.add("Conv", {wide, filters({192, 1, 3, 3})}, {{"pads", Ints{1, 1, 1, 1}}, {"group", int64_t(192)}}));
  const ValueId narrow = coded(t.add("Conv", {deep, filters({16, 192, 1, 1})}));
  return coded(t.add("Add", {narrow, codes}));
}

TEST(Stretch, CodesImageByImage) {
  TestGraph t;
  t.output(block_of_codes(t, t.input("x", {t.symbol("n"), 16, 150, 150})), "y");
  SessionOptions options;
  options.threads.intra_threads = 1;
  const auto session = make_session(t.g, options);
  const Value batch = image({5, 16, 150, 150});
  const Tensor all = *run(*session, {batch})[0].tensor();
  // Five images of 192 channels take 21 MiB, twice.
  EXPECT_LT(session->idle_bytes().workspaces, size_t(20) << 20);
  const size_t count = all.count() / 5;
  for (size_t b = 0; b < 5; ++b) {
    const auto part = [&](const Tensor& of) {
      const auto* from = of.data<float>() + b * count;
      return Tensor::of<float>({1, 16, 150, 150}, std::vector<float>(from, from + count));
    };
    const Tensor one = *run(*session, {Value(part(*batch.tensor()))})[0].tensor();
    EXPECT_EQ(std::memcmp(one.data(), part(all).data(), one.bytes()), 0) << "image " << b;
  }
}

TEST(Stretch, ResultInTheMiddle) {
  TestGraph t;
  const ValueId x = t.input("x", {t.symbol("n"), 6, 150, 150});
  const ValueId first = block(t, x, "a");
  t.output(first, "middle");
  t.output(block(t, t.add("MaxPool", {block(t, first, "b")}, {{"kernel_shape", Ints{2, 2}}}), "c"), "y");
  expect_image_by_image(t, {image({7, 6, 150, 150})});
}

// Squeeze-and-excite multiplies with one number per image and channel; a batch with as many images as channels must not
// be mistaken for the channels.
TEST(Stretch, FactorsOfImages) {
  TestGraph t;
  const ValueId x = t.input("x", {t.symbol("n"), 6, 150, 150});
  const ValueId made = block(t, x, "a");
  const ValueId factor = t.add("Sigmoid", {conv(t, t.add("GlobalAveragePool", {made}), "s", {6, 6, 1, 1})});
  t.output(conv(t, t.add("Mul", {made, factor}), "p", {6, 6, 1, 1}), "y");
  expect_image_by_image(t, {image({6, 6, 150, 150}), image({3, 6, 150, 150})});
}

void expect_as_plain(const TestGraph& t, const Value& batch) {
  SessionOptions plain, fast;
  plain.optimization = OptimizationLevel::none;
  plain.threads.intra_threads = fast.threads.intra_threads = 1;
  std::vector<Tensor> expected, actual;
  for (const Value& v : run(*make_session(t.g, plain), {batch})) expected.push_back(*v.tensor());
  for (const Value& v : run(*make_session(t.g, fast), {batch})) actual.push_back(*v.tensor());
  expect_equal_results(expected, actual);
}

// A product over the batch cannot run image by image, and constants may have a batch: as factors, and as addends of a
// convolution.
TEST(Stretch, ConstantsWithABatch) {
  TestGraph t;
  const ValueId x = t.input("x", {4, 6, 150, 150});
  const ValueId scaled = t.add("Mul", {block(t, x, "a"), t.weight("each", {4, 1, 1, 1})});
  const ValueId made = block(t, scaled, "b");
  t.output(t.add("Relu", {t.add("Add", {conv(t, made, "c", {6, 6, 1, 1}), t.weight("map", {4, 6, 150, 150})})}), "y");
  expect_as_plain(t, image({4, 6, 150, 150}));
}

// Values that follow from shapes are computed between the steps of a stretch, and are not part of it.
TEST(Stretch, ShapesInBetween) {
  TestGraph t;
  const ValueId x = t.input("x", {t.symbol("n"), 300001});
  const ValueId a = t.add("Sin", {x});
  const Attributes to_float{{"to", int64_t(1)}};
  const ValueId shape = t.add("Shape", {a}), size = t.add("Size", {a});
  t.output(t.add("Sigmoid", {t.add("Sin", {a})}), "y");
  t.output(t.add("Cast", {shape}, to_float), "shape");
  t.output(t.add("Cast", {size}, to_float), "size");
  expect_as_plain(t, image({8, 300001}));
}

// Two elements of four bits share a byte, so an image may begin inside a byte.
TEST(Stretch, PackedElements) {
  TestGraph t;
  const ValueId x = t.input("x", {8, 1500001});
  const ValueId codes = t.add("Cast", {t.add("Sin", {x})}, {{"to", int64_t(22)}});
  t.output(t.add("Sin", {t.add("Cast", {codes}, {{"to", int64_t(1)}})}), "y");
  expect_as_plain(t, image({8, 1500001}));
}

TEST(Stretch, ErrorsSayWhichImages) {
  TestGraph t;
  const ValueId x = t.input("x", {4, 1200000}, DType::i32), zero = t.input("zero", {4, 1200000}, DType::i32);
  t.output(t.add("Add", {t.add("Div", {x, zero}), x}), "y");
  SessionOptions options;
  const auto session = make_session(t.g, options);
  try {
    run(*session, {Tensor(DType::i32, {4, 1200000}), Tensor(DType::i32, {4, 1200000})});
    FAIL() << "a division by zero passed";
  } catch (const Error& e) {
    EXPECT_CONTAINS(std::string(e.what()), "images 0 to 0 of a batch of 4");
  }
}

}  // namespace
}  // namespace retort
