// The rules of Gradient, one example for each operator at least.
#include "session/engine_tests/gradient_testing.h"

namespace retort {
namespace {

using namespace gradient_testing;  // NOLINT(google-build-using-namespace): tables of its names

const std::vector<Shape> kMatrix = {{2, 3}}, kCube = {{2, 3, 4}};

const Case kElementwiseOperators[] = {
    {"Abs", kMatrix, plain<"Abs">},
    {"Acos", kMatrix, plain<"Acos">, -0.9, 0.9},
    {"Acosh", kMatrix, plain<"Acosh">, 1.1, 3},
    {"Asin", kMatrix, plain<"Asin">, -0.9, 0.9},
    {"Asinh", kMatrix, plain<"Asinh">},
    {"Atan", kMatrix, plain<"Atan">},
    {"Atanh", kMatrix, plain<"Atanh">, -0.9, 0.9},
    {"Celu", kMatrix, plain<"Celu">},
    {"Cos", kMatrix, plain<"Cos">},
    {"Cosh", kMatrix, plain<"Cosh">},
    {"Elu", kMatrix, plain<"Elu">},
    {"Erf", kMatrix, plain<"Erf">},
    {"Exp", kMatrix, plain<"Exp">},
    {"Floor", kMatrix,
     [](TestGraph& t, const Ids& x) {
       return t.add("Add", {x[0], t.add("Floor", {x[0]})});
     }},
    {"Gelu", kMatrix, plain<"Gelu">},
    {"Gelu by tanh", kMatrix,
     [](TestGraph& t, const Ids& x) {
       return t.add("Gelu", x, {{"approximate", std::string("tanh")}});
     }},
    {"HardSigmoid", kMatrix, plain<"HardSigmoid">, -4, 4},
    {"HardSwish", kMatrix, plain<"HardSwish">, -5, 5},
    {"Identity", kMatrix, plain<"Identity">},
    {"LeakyRelu", kMatrix, plain<"LeakyRelu">},
    {"Log", kMatrix, plain<"Log">, 0.5, 2},
    {"LogSoftmax", kMatrix, plain<"LogSoftmax">},
    {"Mish", kMatrix, plain<"Mish">},
    {"Neg", kMatrix, plain<"Neg">},
    {"Reciprocal", kMatrix, plain<"Reciprocal">, 0.5, 2},
    {"Relu", kMatrix, plain<"Relu">},
    {"Selu", kMatrix, plain<"Selu">},
    {"Sigmoid", kMatrix, plain<"Sigmoid">},
    {"Sin", kMatrix, plain<"Sin">},
    {"Sinh", kMatrix, plain<"Sinh">},
    {"Softmax", kMatrix,
     [](TestGraph& t, const Ids& x) {
       return t.add("Softmax", x, {{"axis", int64_t(0)}});
     }},
    {"Softplus", kMatrix, plain<"Softplus">},
    {"Softsign", kMatrix, plain<"Softsign">},
    {"Sqrt", kMatrix, plain<"Sqrt">, 0.5, 2},
    {"Swish", kMatrix,
     [](TestGraph& t, const Ids& x) {
       return t.add("Swish", x, {{"alpha", 0.75f}});
     }},
    {"Tan", kMatrix, plain<"Tan">, -1, 1},
    {"Tanh", kMatrix, plain<"Tanh">},
    {"ThresholdedRelu", kMatrix, plain<"ThresholdedRelu">},
    {"Clip", kMatrix,
     [](TestGraph& t, const Ids& x) {
       return t.add("Clip", {x[0], t.g.add_constant("low", Tensor::of<double>({}, {-1})),
                             t.g.add_constant("high", Tensor::of<double>({}, {1}))});
     }},
};
TEST(Gradient, OfElementwiseOperators) { expect_all(kElementwiseOperators); }

const Case kSeveralInputsThatBroadcast[] = {
    {"Add", {{2, 1, 3}, {4, 1}}, plain<"Add">},
    {"Sub", {{3}, {2, 3}}, plain<"Sub">},
    {"Mul", {{2, 3}, {}}, plain<"Mul">},
    {"Mul by itself",
     {{2, 3}},
     [](TestGraph& t, const Ids& x) {
       return t.add("Mul", {x[0], x[0]});
     }},
    {"Div", {{2, 3}, {2, 1}}, plain<"Div">, 0.5, 2},
    {"Pow", {{2, 3}, {3}}, plain<"Pow">, 0.5, 2},
    {"Max", {{2, 3}, {3}, {1}}, plain<"Max">},
    {"Min", {{2, 3}, {3}}, plain<"Min">},
    {"Sum", {{2, 3}, {3}, {2, 1}}, plain<"Sum">},
    {"Mean", {{2, 3}, {3}, {2, 1}}, plain<"Mean">},
    {"PRelu", {{2, 3}, {3}}, plain<"PRelu">},
    {"Where",
     {{2, 3}, {3}},
     [](TestGraph& t, const Ids& x) {
       return t.add("Where", {t.add("Less", {x[0], x[1]}), x[0], t.add("Exp", {x[1]})});
     }},
};
TEST(Gradient, OfSeveralInputsThatBroadcast) { expect_all(kSeveralInputsThatBroadcast); }

const Case kProducts[] = {
    {"matrices", {{2, 3}, {3, 4}}, plain<"MatMul">},
    {"batches", {{2, 1, 2, 3}, {5, 3, 2}}, plain<"MatMul">},
    {"row", {{3}, {2, 3, 2}}, plain<"MatMul">},
    {"column", {{2, 2, 3}, {3}}, plain<"MatMul">},
    {"vectors", {{3}, {3}}, plain<"MatMul">},
    {"Gemm", {{2, 3}, {3, 4}, {4}}, plain<"Gemm">},
    {"Gemm of transposes",
     {{3, 2}, {4, 3}, {2, 1}},
     [](TestGraph& t, const Ids& x) {
       return t.add("Gemm", x, {{"alpha", 0.5f}, {"beta", 2.0f}, {"transA", int64_t(1)}, {"transB", int64_t(1)}});
     }},
    {"Gemm, A transposed",
     {{3, 2}, {3, 4}},
     [](TestGraph& t, const Ids& x) {
       return t.add("Gemm", x, {{"transA", int64_t(1)}});
     }},
    {"Gemm, B transposed",
     {{2, 3}, {4, 3}},
     [](TestGraph& t, const Ids& x) {
       return t.add("Gemm", x, {{"transB", int64_t(1)}});
     }},
};
TEST(Gradient, OfProducts) { expect_all(kProducts); }

const Case kConvolutions[] = {
    {"plain", {{2, 3, 5, 4}, {4, 3, 3, 2}, {4}}, plain<"Conv">},
    {"strides that leave out rows",
     {{1, 2, 8}, {3, 2, 3}},
     [](TestGraph& t, const Ids& x) {
       return t.add("Conv", x, {{"strides", Ints{3}}, {"pads", Ints{1, 0}}});
     }},
    {"dilations and uneven pads",
     {{2, 2, 7, 6}, {2, 2, 2, 3}},
     [](TestGraph& t, const Ids& x) {
       return t.add("Conv", x, {{"dilations", Ints{3, 2}}, {"strides", Ints{2, 1}}, {"pads", Ints{1, 2, 0, 1}}});
     }},
    {"groups",
     {{2, 4, 5}, {6, 2, 2}, {6}},
     [](TestGraph& t, const Ids& x) {
       return t.add("Conv", x, {{"group", int64_t(2)}, {"strides", Ints{2}}});
     }},
    {"depthwise",
     {{1, 3, 4, 4}, {3, 1, 2, 2}},
     [](TestGraph& t, const Ids& x) {
       return t.add("Conv", x, {{"group", int64_t(3)}});
     }},
    {"ConvTranspose",
     {{2, 4, 3, 3}, {4, 2, 2, 3}, {4}},
     [](TestGraph& t, const Ids& x) {
       return t.add("ConvTranspose", x,
                    {{"group", int64_t(2)},
                     {"strides", Ints{2, 1}},
                     {"pads", Ints{1, 0, 0, 1}},
                     {"output_padding", Ints{1, 0}}});
     }},
};
TEST(Gradient, OfConvolutions) { expect_all(kConvolutions); }

template <Name name, bool keeps>
ValueId along_rows(TestGraph& t, const Ids& x) {
  return t.add(name.text, {x[0], t.ints({-1})}, {{"keepdims", int64_t(keeps)}});
}

const Case kReductions[] = {
    {"ReduceSum", kMatrix, along_rows<"ReduceSum", false>},
    {"ReduceSum of all", kMatrix, plain<"ReduceSum">},
    {"ReduceMean", kMatrix, along_rows<"ReduceMean", true>},
    {"ReduceMean of all", kMatrix,
     [](TestGraph& t, const Ids& x) {
       return t.add("ReduceMean", x, {{"keepdims", int64_t(0)}});
     }},
    {"ReduceSumSquare", kMatrix, along_rows<"ReduceSumSquare", false>},
    {"ReduceL1", kMatrix, along_rows<"ReduceL1", false>},
    {"ReduceL2", kMatrix, along_rows<"ReduceL2", false>},
    {"ReduceLogSum", kMatrix, along_rows<"ReduceLogSum", false>, 0.5, 2},
    {"ReduceLogSumExp", kMatrix, along_rows<"ReduceLogSumExp", true>},
    {"ReduceMax", kMatrix, along_rows<"ReduceMax", false>},
    {"ReduceMin", kMatrix, along_rows<"ReduceMin", true>},
    {"GlobalAveragePool", {{2, 2, 3, 2}}, plain<"GlobalAveragePool">},
};
TEST(Gradient, OfReductions) { expect_all(kReductions); }

const Case kOperatorsThatMoveElements[] = {
    {"Reshape", kCube,
     [](TestGraph& t, const Ids& x) {
       return t.add("Reshape", {x[0], t.ints({4, -1})});
     }},
    {"Flatten", kCube, plain<"Flatten">},
    {"Squeeze",
     {{2, 1, 3}},
     [](TestGraph& t, const Ids& x) {
       return t.add("Squeeze", {x[0], t.ints({1})});
     }},
    {"Unsqueeze", kCube,
     [](TestGraph& t, const Ids& x) {
       return t.add("Unsqueeze", {x[0], t.ints({0, 2})});
     }},
    {"Transpose", kCube,
     [](TestGraph& t, const Ids& x) {
       return t.add("Transpose", x, {{"perm", Ints{1, 2, 0}}});
     }},
    {"Transpose by default", kCube, plain<"Transpose">},
    {"Expand",
     {{3, 1}},
     [](TestGraph& t, const Ids& x) {
       return t.add("Expand", {x[0], t.ints({2, 3, 4})});
     }},
    {"Concat",
     {{2, 1}, {2, 3}},
     [](TestGraph& t, const Ids& x) {
       return t.add("Concat", x, {{"axis", int64_t(-1)}});
     }},
    {"Split",
     {{2, 5}},
     [](TestGraph& t, const Ids& x) {
       const auto parts = t.add_multi(
           {.type = "Split", .inputs = {x[0], t.ints({2, 3})}, .attributes = {{"axis", int64_t(1)}}, .outputs = 2});
       return t.add("ReduceSum",
                    {t.add("Mul", {parts[1], t.add("Slice", {parts[0], t.ints({0}), t.ints({1}), t.ints({1})})})});
     }},
    {"Slice", kCube,
     [](TestGraph& t, const Ids& x) {
       return t.add("Slice", {x[0], t.ints({-1, 0}), t.ints({-9, 4}), t.ints({1, 2}), t.ints({-2, 3})});
     }},
    {"Gather", kCube,
     [](TestGraph& t, const Ids& x) {
       return t.add("Gather", {x[0], t.ints({2, 0, 2})}, {{"axis", int64_t(1)}});
     }},
    {"GatherElements",
     {{2, 2}},
     [](TestGraph& t, const Ids& x) {
       const ValueId at = t.g.add_constant("at", Tensor::of<int64_t>({1, 2}, {1, 1}));
       return t.add("GatherElements", {x[0], at});
     }},
    {"GatherND", kCube,
     [](TestGraph& t, const Ids& x) {
       const ValueId at = t.g.add_constant("at", Tensor::of<int64_t>({2, 2}, {1, 2, 1, 2}));
       return t.add("GatherND", {x[0], at});
     }},
    {"Tile",
     {{2, 2}},
     [](TestGraph& t, const Ids& x) {
       return t.add("Tile", {x[0], t.ints({2, 3})});
     }},
    {"Pad",
     {{2, 2}},
     [](TestGraph& t, const Ids& x) {
       return t.add("Pad", {x[0], t.ints({1, 0, 0, 2})});
     }},
    {"Pad by reflection",
     {{2, 3}},
     [](TestGraph& t, const Ids& x) {
       return t.add("Pad", {x[0], t.ints({1, 2, 0, 1})}, {{"mode", std::string("reflect")}});
     }},
    {"DepthToSpace",
     {{1, 4, 2, 1}},
     [](TestGraph& t, const Ids& x) {
       return t.add("DepthToSpace", x, {{"blocksize", int64_t(2)}});
     }},
    {"Trilu", {{3, 3}}, plain<"Trilu">},
    {"used twice",
     {{3}},
     [](TestGraph& t, const Ids& x) {
       return t.add("Mul", {t.add("Exp", x), t.add("Neg", x)});
     }},
};
TEST(Gradient, OfOperatorsThatMoveElements) { expect_all(kOperatorsThatMoveElements); }

}  // namespace
}  // namespace retort
