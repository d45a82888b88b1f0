#include "passes/passes_testing.h"

namespace retort {
namespace {

using Ints = std::vector<int64_t>;

// Conv1D of TensorFlow over rows, with its bias behind the Squeeze.
void a_column_of_tensorflow(TestGraph& t) {
  const ValueId image = t.add("Unsqueeze", {t.input("x", {2, 9, 3}), t.ints({3})});
  const ValueId turned = t.add("Transpose", {image}, {{"perm", Ints{0, 2, 1, 3}}});
  const Attributes attributes{{"strides", Ints{2, 1}}, {"pads", Ints{1, 0, 2, 0}}, {"kernel_shape", Ints{3, 1}}};
  const ValueId y = t.add("Conv", {turned, t.weight("w", {4, 3, 3, 1})}, attributes);
  t.output(t.add("Add", {t.add("Squeeze", {y, t.ints({-1})}), t.floats({4, 1}, {1, 2, 3, 4})}), "y");
}
const RuleExample column("a_column_of_tensorflow", {"conv_line"}, a_column_of_tensorflow,
                         R"(graph(x: float32[2,9,3]) {
  Unsqueeze#1: float32[2,9,3,1] = Unsqueeze(x, i#1)
  Squeeze#1: float32[2,9,3] = Squeeze(Unsqueeze#1, axes#1)
  Transpose#1: float32[2,3,9] = Transpose(Squeeze#1) {perm=[0,2,1]}
  Conv#1: float32[2,4,5] = Conv(Transpose#1, weights#1) {kernel_shape=[3], pads=[1,2], strides=[2]}
  y: float32[2,4,5] = Add(Conv#1, w#1)
  return y
}
)");

void a_line_in_groups(TestGraph& t) {
  const ValueId w = t.weight("w", {4, 1, 1, 3}), b = t.weight("b", {4});
  const Attributes attributes{
      {"dilations", Ints{1, 2}}, {"auto_pad", std::string("SAME_UPPER")}, {"group", int64_t(2)}};
  const ValueId y = t.add("Conv", {t.input("x", {2, 2, 1, 9}), w, b}, attributes);
  t.output(t.add("Squeeze", {y, t.ints({2})}), "y");
}
const RuleExample line("a_line_in_groups", {"conv_line"}, a_line_in_groups,
                       R"(graph(x: float32[2,2,1,9]) {
  Squeeze#1: float32[2,2,9] = Squeeze(x, axes#1)
  y: float32[2,4,9] = Conv(Squeeze#1, weights#1, b) {auto_pad="SAME_UPPER", dilations=[2], group=2}
  return y
}
)");

ValueId convolved(TestGraph& t, Shape x, Shape w, Ints pads) {
  return t.add("Conv", {t.input("x", std::move(x)), t.weight("w", std::move(w))},
               {{"pads", std::move(pads)}, {"strides", Ints{1, 2}}});
}

TEST(ConvLine, OtherImagesStay) {
  TestGraph wide;  // the kernel makes one pixel of two
  wide.output(wide.add("Squeeze", {convolved(wide, {1, 2, 7, 2}, {4, 2, 3, 2}, {0, 0, 0, 0}), wide.ints({3})}), "y");
  expect_no_rewrite(wide, {"conv_line"});
  TestGraph padded;  // the stride leaves the padding out
  padded.output(padded.add("Squeeze", {convolved(padded, {1, 2, 7, 1}, {4, 2, 3, 1}, {0, 0, 0, 1}), padded.ints({3})}),
                "y");
  expect_no_rewrite(padded, {"conv_line"});
  TestGraph images;  // the batch is squeezed
  images.output(images.add("Squeeze", {convolved(images, {1, 2, 7, 1}, {4, 2, 3, 1}, {0, 0, 0, 0}), images.ints({0})}),
                "y");
  expect_no_rewrite(images, {"conv_line"});
  TestGraph twice;  // the image is used as it is, too
  const ValueId y = convolved(twice, {1, 2, 7, 1}, {4, 2, 3, 1}, {0, 0, 0, 0});
  twice.output(y, "image");
  twice.output(twice.add("Squeeze", {y, twice.ints({3})}), "y");
  expect_no_rewrite(twice, {"conv_line"});
}

}  // namespace
}  // namespace retort
