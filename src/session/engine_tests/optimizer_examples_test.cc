#include <cmath>

#include "session/engine_tests/optimizer_examples_testing.h"
#include "session/session_testing.h"

namespace retort {
namespace {

using Ints = std::vector<int64_t>;

Attributes perm(Ints p) { return {{"perm", std::move(p)}}; }

ValueId positive(TestGraph& t, const std::string& name, int64_t count) {
  std::vector<float> v;
  for (int64_t i = 0; i < count; ++i) v.push_back(0.5f + float(i % 7) / 8);
  return t.g.add_constant(name, Tensor::of<float>({count}, v));
}
ValueId batch_norm(TestGraph& t, ValueId x, const std::string& name, int64_t channels) {
  return t.add("BatchNormalization", {x, t.weight(name + "s", {channels}), t.weight(name + "b", {channels}),
                                      t.weight(name + "m", {channels}), positive(t, name + "v", channels)});
}
Attributes same(int64_t group = 1) { return {{"pads", Ints{1, 1, 1, 1}}, {"group", group}}; }

// A stem, separate padding, arithmetic after convolutions, a residual, a depthwise block with squeeze and excitation,
// and two outputs of each channel.
void mobile_network(TestGraph& t) {
  ValueId x = t.input("x", {t.symbol("n"), 3, 17, 19});
  x = conv(t, x, "w0", {16, 3, 3, 3}, {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}});
  const ValueId stem = t.add("Relu", {batch_norm(t, x, "n0", 16)});
  x = t.add("Pad", {stem, t.ints({0, 0, 1, 1, 0, 0, 1, 1})});
  x = conv(t, x, "w1", {16, 16, 3, 3});
  x = t.add("Mul", {x, t.weight("k0", {16, 1, 1})});
  x = t.add("Sub", {x, t.weight("k1", {16, 1, 1})});
  x = t.add("Div", {t.add("Add", {x, t.weight("k2", {16, 1, 1})}), t.scalar(4)});
  x = t.add("Clip", {t.add("Add", {x, stem}), t.scalar(0), t.scalar(6)});
  x = conv(t, x, "w2", {16, 1, 3, 3}, same(16));
  const ValueId clip = t.add("Clip", {t.add("Add", {x, t.scalar(3)}), t.scalar(0), t.scalar(6)});
  x = t.add("Div", {t.add("Mul", {x, clip}), t.scalar(6)});
  ValueId gate = t.add("ReduceMean", {x, t.ints({2, 3})});
  gate = t.add("Relu", {conv(t, gate, "w3", {4, 16, 1, 1})});
  gate = t.add("HardSigmoid", {conv(t, gate, "w4", {16, 4, 1, 1})});
  x = conv(t, t.add("Mul", {x, gate}), "w5", {24, 16, 1, 1});
  x = conv(t, x, "w7", {48, 1, 3, 3}, same(24));
  const ValueId pooled = t.add("Flatten", {t.add("GlobalAveragePool", {x})});
  t.output(t.add("Gemm", {pooled, t.weight("w6", {10, 48}), t.weight("b6", {10})}, {{"transB", int64_t(1)}}), "y");
}

// Branches that join, resampling in both directions, axes that follow the layout, a pre-activation normalisation.
void image_to_image(TestGraph& t) {
  ValueId x = batch_norm(t, t.input("x", {2, 8, 12, 10}), "n0", 8);
  x = t.add("LeakyRelu", {conv(t, x, "w0", {12, 8, 3, 3}, same())}, {{"alpha", 0.125f}});
  const Attributes two{{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}};
  const ValueId down =
      t.add("Concat", {t.add("MaxPool", {x}, two), t.add("AveragePool", {x}, two)}, {{"axis", int64_t(1)}});
  ValueId y = t.add("Tanh", {conv(t, down, "w1", {16, 24, 3, 3}, same())});
  const auto halves = t.add_multi(
      {.type = "Split", .inputs = {y, t.ints({6, 10})}, .attributes = {{"axis", int64_t(1)}}, .outputs = 2});
  const ValueId sliced = t.add("Slice", {halves[1], t.ints({2}), t.ints({10}), t.ints({1})});
  y = t.add("ConvTranspose", {sliced, t.weight("w2", {8, 12, 2, 2}), t.weight("b2", {12})}, {{"strides", Ints{2, 2}}});
  y = t.add("Relu", {t.add("Add", {y, x})});
  const ValueId wide =
      t.add("Resize", {halves[0], ValueId::none, t.floats({4}, {1, 1, 2, 2})},
            {{"mode", std::string("linear")}, {"coordinate_transformation_mode", std::string("half_pixel")}});
  y = conv(t, t.add("Concat", {y, wide}, {{"axis", int64_t(-3)}}), "w3", {5, 18, 1, 1});
  t.output(t.add("Softmax", {y}, {{"axis", int64_t(1)}}), "classes");
  t.output(t.add("ReduceMax", {y, t.ints({1})}), "best");
}

void convolution_of_a_signal(TestGraph& t) {
  ValueId x = t.input("x", {2, 6, t.symbol("samples")});
  x = conv(t, x, "w0", {16, 6, 3}, {{"pads", Ints{1, 1}}});
  x = t.add("ConvTranspose", {t.add("LeakyRelu", {x}), t.weight("w1", {16, 8, 4})},
            {{"strides", Ints{2}}, {"pads", Ints{1, 1}}});
  t.output(t.add("Tanh", {conv(t, x, "w2", {1, 8, 7}, {{"pads", Ints{3, 3}}})}), "y");
}

// Every activation after a convolution and after a matrix product.
void epilogues(TestGraph& t) {
  const ValueId x = t.input("x", {1, 4, 5, 6}), r = t.input("r", {3, 7});
  const auto finish = [&](const std::string& name, const std::string& type, const Attributes& a,
                          std::vector<ValueId> more = {}) {
    for (const bool image : {true, false}) {
      const ValueId v =
          image ? conv(t, x, "w" + name, {8, 4, 3, 3}, same()) : t.add("MatMul", {r, t.weight("m" + name, {7, 9})});
      std::vector<ValueId> inputs{v};
      inputs.insert(inputs.end(), more.begin(), more.end());
      t.output(t.add(type, inputs, a), name + (image ? "_image" : "_rows"));
    }
  };
  for (const char* type : {"Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSigmoid", "HardSwish", "Gelu", "Swish"})
    finish(type, type, {});
  finish("Gelu tanh", "Gelu", {{"approximate", std::string("tanh")}});
  finish("Swish twice", "Swish", {{"alpha", 2.0f}});
  finish("Clip", "Clip", {}, {t.scalar(-0.5f), t.scalar(0.75f)});
  const ValueId y = t.add("MatMul", {r, t.weight("q", {7, 7})});
  t.output(t.add("Relu", {t.add("Add", {r, t.add("Mul", {t.add("Add", {y, t.weight("qb", {7})}), t.scalar(0.25f)})})}),
           "residual");
}

void spelled_out(TestGraph& t) {
  const ValueId x = t.input("x", {t.symbol("n"), 6});
  const ValueId erf = t.add("Erf", {t.add("Div", {x, t.scalar(std::sqrt(2.0f))})});
  t.output(t.add("Mul", {t.add("Mul", {x, t.add("Add", {erf, t.scalar(1)})}), t.scalar(0.5f)}), "gelu");
  t.output(t.add("Mul", {x, t.add("Sigmoid", {x})}), "silu");
  const auto clip = [&](ValueId v) {
    return t.add("Clip", {t.add("Add", {v, t.scalar(3)}), t.scalar(0), t.scalar(6)});
  };
  const ValueId a = t.add("Abs", {x}), b = t.add("Neg", {x});  // different, since equal parts would be merged
  t.output(t.add("Div", {t.add("Mul", {x, clip(x)}), t.scalar(6)}), "outer");
  t.output(t.add("Mul", {t.add("Mul", {a, clip(a)}), t.scalar(1.0f / 6)}), "outer_mul");
  t.output(t.add("Mul", {b, t.add("Div", {clip(b), t.scalar(6)})}), "inner");
  t.output(t.add("Mul", {x, t.add("HardSigmoid", {x}, {{"alpha", 1.0f / 6}})}), "hard_swish");
  const ValueId off = t.add("Sub", {x, t.add("ReduceMean", {x, t.ints({-1})})});
  const ValueId variance = t.add("ReduceMean", {t.add("Pow", {off, t.scalar(2)}), t.ints({-1})});
  const ValueId unit = t.add("Div", {off, t.add("Sqrt", {t.add("Add", {variance, t.scalar(1e-5f)})})});
  t.output(t.add("Add", {t.add("Mul", {unit, t.weight("g", {6})}), t.weight("b", {6})}), "layer_norm");
  const auto root = [&] {
    return t.add("Sqrt", {t.add("Add", {t.add("ReduceMean", {t.add("Mul", {x, x}), t.ints({-1})}), t.scalar(1e-5f)})});
  };
  t.output(t.add("Mul", {t.add("Div", {x, root()}), t.weight("g2", {6})}), "rms_div");
  t.output(t.add("Mul", {x, t.add("Div", {t.scalar(1), root()})}), "rms_mul");
}

// Nodes that have no effect, or a constant result.
void idle_work(TestGraph& t) {
  const Dim n = t.symbol("n");
  const ValueId x = t.input("x", {n, 4, 6}), unit = t.input("u", {2, 1, 5});
  ValueId y = t.add("Add", {x, t.scalar(0)});
  y = t.add("Div", {t.add("Mul", {t.add("Sub", {y, t.scalar(0)}), t.scalar(1)}), t.scalar(1)});
  y = t.add("Identity", {y});
  y = t.add("Transpose",
            {
                t.add("Transpose", {y}, perm({0, 2, 1})),
            },
            perm({0, 2, 1}));
  y = t.add("Transpose", {t.add("Transpose", {y}, perm({1, 0, 2}))}, perm({2, 1, 0}));
  y = t.add("Transpose", {y}, perm({0, 1, 2}));
  t.output(t.add("Abs", {y}), "turned");
  y = t.add("Reshape", {t.add("Reshape", {x, t.ints({0, 24})}), t.ints({0, 3, 8})});
  y = t.add("Reshape", {y, t.ints({0, 3, 8})});
  y = t.add("Cast", {t.add("Cast", {y}, {{"to", int64_t(DType::f64)}})}, {{"to", int64_t(DType::f32)}});
  y = t.add("Cast", {y}, {{"to", int64_t(DType::f32)}});
  y = t.add("Expand", {y, t.ints({1, 3, 8})});
  y = t.add("Concat", {y}, {{"axis", int64_t(1)}});
  y = t.add("Slice", {y, t.ints({0}), t.ints({8}), t.ints({2})});
  t.output(t.add("Neg", {y}), "same");
  t.output(t.add("Abs", {t.add("Transpose", {unit}, perm({1, 0, 2}))}), "unit");
  const ValueId shape = t.add("Shape", {x});
  const ValueId first = t.add("Gather", {shape, t.ints({0})});
  const ValueId target = t.add("Concat", {first, t.ints({-1})}, {{"axis", int64_t(0)}});
  t.output(t.add("Abs", {t.add("Reshape", {x, target})}), "flat");
  const ValueId same_shape = t.add("Reshape", {t.add("Exp", {x}), t.ints({0, 4, -1})});
  t.output(t.add("Expand", {same_shape, t.add("Shape", {x}, {{"start", int64_t(1)}})}), "grown");
  const ValueId constant = t.add("Mul", {t.weight("k1", {6}), t.add("Exp", {t.weight("k2", {6})})});
  t.output(t.add("Add", {t.add("Add", {x, constant}), t.add("Add", {x, constant})}), "twice");
  const auto parts =
      t.add_multi({.type = "Split", .inputs = {x, t.ints({1, 3})}, .attributes = {{"axis", int64_t(1)}}, .outputs = 2});
  t.output(t.add("Abs", {parts[1]}), "part");
}

ValueId heads(TestGraph& t, ValueId x, Ints order = {0, 2, 1, 3}) {
  return t.add("Transpose", {t.add("Reshape", {x, t.ints({0, 0, 3, 4})})}, perm(std::move(order)));
}
ValueId rows(TestGraph& t, ValueId y) {
  return t.add("Reshape", {t.add("Transpose", {y}, perm({0, 2, 1, 3})), t.ints({0, 0, 12})});
}
ValueId projected(TestGraph& t, ValueId x, const std::string& name, int64_t from = 12, int64_t to = 12) {
  return t.add("Add", {t.add("MatMul", {x, t.weight(name, {from, to})}), t.weight(name + "b", {to})});
}

void encoder_block(TestGraph& t) {
  const Dim batch = t.symbol("batch"), seq = t.symbol("seq");
  const ValueId x = t.input("x", {batch, seq, 12}), mask = t.input("mask", {batch, 1, 1, seq});
  const ValueId qk = t.add("MatMul", {heads(t, projected(t, x, "q")), heads(t, projected(t, x, "k"), {0, 2, 3, 1})});
  const ValueId p = t.add("Softmax", {t.add("Add", {t.add("Mul", {qk, t.scalar(0.5f)}), mask})});
  ValueId y = rows(t, t.add("MatMul", {p, heads(t, projected(t, x, "v"))}));
  y = t.add("Add", {projected(t, y, "o"), x});
  y = t.add("LayerNormalization", {y, t.weight("g", {12}), t.weight("b", {12})});
  const ValueId wide = t.add("Gelu", {projected(t, y, "f1", 12, 20)});
  t.output(t.add("LayerNormalization", {t.add("Add", {projected(t, wide, "f2", 20, 12), y}), t.weight("g2", {12})}),
           "y");
}

void decoder_block_with_cache(TestGraph& t) {
  const Dim batch = t.symbol("batch"), seq = t.symbol("seq"), past = t.symbol("past"),
            total = t.g.dims().add(past, seq);
  const ValueId x = t.input("x", {batch, seq, 12}), hide = t.input("hide", {seq, total}, DType::boolean),
                past_k = t.input("past_k", {batch, 3, past, 4}), past_v = t.input("past_v", {batch, 3, past, 4});
  const ValueId qkv = projected(t, x, "qkv", 12, 36);
  const auto part = [&](int64_t i) {
    return t.add("Slice", {qkv, t.ints({12 * i}), t.ints({12 * (i + 1)}), t.ints({-1})});
  };
  const ValueId k = t.add("Concat", {past_k, heads(t, part(1))}, {{"axis", int64_t(2)}});
  const ValueId v = t.add("Concat", {past_v, heads(t, part(2))}, {{"axis", int64_t(2)}});
  const ValueId qk = t.add("MatMul", {heads(t, part(0)), t.add("Transpose", {k}, perm({0, 1, 3, 2}))});
  const ValueId hidden = t.add("Where", {hide, t.scalar(-1e4f), t.add("Div", {qk, t.scalar(2)})});
  t.output(rows(t, t.add("MatMul", {t.add("Softmax", {hidden}), v})), "y");
  t.output(k, "present_k");
  t.output(v, "present_v");
}

// Keys that several heads share; the sum before a normalisation has no matrix product near it.
void grouped_heads(TestGraph& t) {
  const Dim batch = t.symbol("batch"), seq = t.symbol("seq");
  const ValueId q = t.input("q", {batch, seq, 12}), k = t.input("k", {batch, 1, seq, 4}),
                v = t.input("v", {batch, 1, seq, 4});
  const auto repeat = [&](ValueId x) {
    const ValueId shape = t.add(
        "Concat",
        {t.add("Shape", {x}, {{"end", int64_t(1)}}), t.ints({1, 3}), t.add("Shape", {x}, {{"start", int64_t(2)}})},
        {{"axis", int64_t(0)}});
    return t.add("Reshape", {t.add("Expand", {t.add("Unsqueeze", {x, t.ints({2})}), shape}), t.ints({0, 3, -1, 4})});
  };
  const ValueId sum = t.add("Add", {q, t.add("Abs", {q})});
  const ValueId unit = t.add("RMSNormalization", {sum, positive(t, "g", 12)});
  const ValueId qk = t.add("MatMul", {heads(t, unit), t.add("Transpose", {repeat(k)}, perm({0, 1, 3, 2}))});
  const ValueId y = rows(t, t.add("MatMul", {t.add("Softmax", {qk}), repeat(v)}));
  t.output(t.add("LayerNormalization", {t.add("Add", {y, sum}), positive(t, "g2", 12)}), "y");
}

// Sequence first inside, batch first outside.
void sequence_first(TestGraph& t) {
  const ValueId turned = t.add("Transpose", {t.input("x", {2, 5, 12})}, perm({1, 0, 2}));
  const ValueId qkv = projected(t, turned, "w", 12, 36);
  const ValueId five = t.add("Unsqueeze", {t.add("Reshape", {qkv, t.ints({5, 2, 3, 12})}), t.ints({0})});
  const ValueId squeezed = t.add("Squeeze", {t.add("Transpose", {five}, perm({3, 1, 2, 0, 4})), t.ints({-2})});
  const auto head = [&](int64_t i) {
    const ValueId index = t.g.add_constant(t.g.unique_name("i"), Tensor::of<int64_t>({}, {i}));
    const ValueId one = t.add("Gather", {squeezed, index}, {{"axis", int64_t(0)}});
    return t.add("Reshape", {t.add("Transpose", {t.add("Reshape", {one, t.ints({5, 6, 4})})}, perm({1, 0, 2})),
                             t.ints({2, 3, 5, 4})});
  };
  const ValueId qk = t.add("MatMul", {head(0), t.add("Transpose", {head(1)}, perm({0, 1, 3, 2}))});
  const ValueId y = t.add("Transpose", {t.add("MatMul", {t.add("Softmax", {qk}), head(2)})}, perm({2, 0, 1, 3}));
  const ValueId out =
      t.add("Gemm", {t.add("Reshape", {y, t.ints({10, 12})}), t.weight("o", {12, 12}), t.weight("ob", {12})});
  t.output(t.add("Transpose", {t.add("Reshape", {out, t.ints({5, 2, 12})})}, perm({1, 0, 2})), "y");
}

// As in ConvNeXt: channels-last normalisation inside a channels-first network.
void turned_normalisation(TestGraph& t) {
  const ValueId x = t.input("x", {1, 8, 5, 5});
  ValueId y = t.add("Transpose", {conv(t, x, "w", {8, 1, 3, 3}, same(8))}, perm({0, 2, 3, 1}));
  y = t.add("LayerNormalization", {y, t.weight("s", {8}), t.weight("b", {8})});
  y = projected(t, t.add("Gelu", {projected(t, y, "f1", 8, 16)}), "f2", 16, 8);
  y = t.add("Transpose", {t.add("Mul", {y, t.weight("gamma", {8})})}, perm({0, 3, 1, 2}));
  t.output(t.add("Add", {y, x}), "y");
}

// As torch writes scatter_reduce: branches for scalars, which a value of known rank is not. The second condition follows
// from the rank of the first result.
void known_branches(TestGraph& t) {
  const ValueId weight = t.weight("w", {6});
  ValueId x = t.input("x", {t.symbol("n"), 6});
  for (const char* zero : {"zero", "nought"}) {
    const auto branch = [&](const char* type) {
      TestGraph b(t.g.shared_dims());
      const ValueId own = b.input("x", {t.symbol("n"), 6}), k = b.input("k", {6});
      b.output(b.add(type, {b.add("Mul", {own, k})}), "y");
      return b.g.clone();
    };
    const ValueId rank = t.add("Size", {t.add("Shape", {x})});
    const ValueId scalar = t.add("Equal", {rank, t.g.add_constant(zero, Tensor::of<int64_t>({}, {0}))});
    x = t.add_with_bodies("If", {scalar, x, weight}, 2,
                          {{"then_branch", branch("Abs")}, {"else_branch", branch("Neg")}}, 1)[0];
  }
  t.output(x, "y");
}

// A branch that can be optimised and captures a constant, which belongs inside.
void branches(TestGraph& t) {
  const ValueId x = t.input("x", {t.symbol("n"), 6}), flag = t.input("flag", {}, DType::boolean),
                k = t.weight("k", {6});
  const auto branch = [&](float factor) {
    TestGraph b(t.g.shared_dims());
    const ValueId own = b.input("x", {t.symbol("n"), 6}), constant = b.input("k", {6});
    const ValueId y = b.add("MatMul", {b.add("Add", {own, b.scalar(0)}), b.weight("w", {6, 4})});
    const ValueId shift = b.add("ReduceSum", {constant, b.ints({0})}, {{"keepdims", int64_t(0)}});
    b.output(b.add("Relu", {b.add("Add", {b.add("Mul", {y, b.scalar(factor)}), shift})}), "y");
    return b.g.clone();
  };
  const std::vector<ValueId> y =
      t.add_with_bodies("If", {flag, x, k}, 2, {{"then_branch", branch(1)}, {"else_branch", branch(-2)}}, 1);
  t.output(t.add("Neg", {y[0]}), "y");
}

// A loop that carries its weights.
void carried_weights(TestGraph& t) {
  const ValueId x = t.input("x", {3, 6}), go = t.g.add_constant("go", Tensor::of<bool>({}, {true}));
  TestGraph b(t.g.shared_dims());
  b.input("i", {}, DType::i64);
  b.output(b.input("go", {}, DType::boolean), "again");
  const ValueId w = b.input("w", {6, 6}), own = b.input("x", {3, 6});
  b.output(b.add("Identity", {w}), "same");
  b.output(b.add("Tanh", {b.add("MatMul", {own, w})}), "next");
  const ValueId count = t.g.add_constant("count", Tensor::of<int64_t>({}, {2}));
  t.output(t.add_with_bodies("Loop", {count, go, t.weight("w", {6, 6}), x}, 0, {{"body", b.g.clone()}}, 2)[1], "y");
}

// 16-bit floats throughout, with products and sums that are rounded only in the first Cast.
void half_precision(TestGraph& t) {
  const auto half = [&](ValueId v) { return t.add("Cast", {v}, {{"to", int64_t(DType::f16)}}); };
  const ValueId y = t.add("MatMul", {half(t.input("x", {t.symbol("n"), 1})), half(t.floats({1, 3}, {1, -2, 0.5f}))});
  const ValueId z = t.add("Mul", {t.add("Transpose", {t.add("Relu", {y})}), half(t.scalar(4))});
  t.output(t.add("Cast", {z}, {{"to", int64_t(DType::f32)}}), "y");
}

// A convolution, a pool, a sum and two products between the nodes of a quantiser, and a dynamically quantised product.
void quantised(TestGraph& t) {
  const ValueId zero = t.g.add_constant("zero", Tensor::of<uint8_t>({}, {3})), scale = t.scalar(0.25f);
  const auto real = [&](ValueId codes) { return t.add("DequantizeLinear", {codes, scale, zero}); };
  const auto rounded = [&](ValueId v) { return real(t.add("QuantizeLinear", {v, scale, zero})); };
  const auto weights = [&](const char* name, Shape shape, int64_t axis) {
    Tensor codes(DType::i8, shape);
    for (size_t i = 0; i < codes.count(); ++i) codes.mutable_data<int8_t>()[i] = int8_t(int(i * 37 % 255) - 127);
    const int64_t channels = shape[size_t(axis)];
    return t.add(
        "DequantizeLinear",
        {t.g.add_constant(name, std::move(codes)), t.floats({channels}, std::vector<float>(size_t(channels), 0.125f))},
        {{"axis", axis}});
  };
  const ValueId x = rounded(t.input("x", {1, 2, 6, 6}));
  const ValueId conv = rounded(t.add("Conv", {x, weights("w", {2, 2, 3, 3}, 0)}, {{"pads", Ints{1, 1, 1, 1}}}));
  const ValueId sum = rounded(t.add("Add", {conv, x}));
  const ValueId pool = rounded(t.add("MaxPool", {sum}, {{"kernel_shape", Ints{6, 6}}}));
  const ValueId flat = rounded(t.add("Flatten", {pool}));
  const ValueId gemm = rounded(t.add("Gemm", {flat, weights("g", {2, 3}, 1)}));
  const ValueId product = t.add("MatMul", {gemm, weights("m", {3, 4}, 1)});
  const auto codes = t.add_multi({.type = "DynamicQuantizeLinear", .inputs = {product}, .outputs = 3});
  const ValueId b = t.g.add_constant("b", Tensor::of<int8_t>({4, 2}, {1, -2, 3, -4, 5, -6, 7, -8}));
  const ValueId sums = t.add("MatMulInteger", {codes[0], b, codes[2]});
  const ValueId numbers = t.add("Cast", {sums}, {{"to", int64_t(DType::f32)}});
  const ValueId y = t.add("Mul", {numbers, t.add("Mul", {codes[1], t.scalar(0.5f)})});
  t.output(t.add("Add", {y, t.weight("bias", {2})}), "y");
}

/// A dynamically quantised image, whose convolutions become floats with biases, an activation and a residual.
void dynamically_quantised(TestGraph& t) {
  const auto numbers = [&](ValueId x, const std::string& name, Shape shape, int64_t group) {
    Tensor codes(DType::u8, std::move(shape));
    for (size_t i = 0; i < codes.count(); ++i) codes.mutable_data<uint8_t>()[i] = uint8_t(i * 53 % 251);
    const int64_t channels = codes.shape()[0];
    const auto q = t.add_multi({.type = "DynamicQuantizeLinear", .inputs = {x}, .outputs = 3});
    const ValueId w = t.g.add_constant(name, std::move(codes));
    const ValueId zero = t.g.add_constant(name + "z", Tensor::of<uint8_t>({}, {117}));
    const ValueId sums = t.add("ConvInteger", {q[0], w, q[2], zero}, same(group));
    const ValueId cast = t.add("Cast", {sums}, {{"to", int64_t(DType::f32)}});
    const ValueId scaled = t.add("Mul", {cast, t.add("Mul", {q[1], t.scalar(0.005f)})});
    return t.add("Add", {scaled, t.weight(name + "b", {1, channels, 1, 1})});
  };
  const ValueId x = t.add("Relu", {numbers(t.input("x", {1, 3, 12, 10}), "w0", {16, 3, 3, 3}, 1)});
  const ValueId y = numbers(x, "w1", {16, 1, 3, 3}, 16);
  const ValueId z = t.add("Add", {numbers(y, "w2", {16, 16, 3, 3}, 1), x});
  t.output(t.add("Relu", {z}), "y");
}

constexpr OptimizerExample kExamples[] = {
    {"mobile_network", mobile_network},
    {"image_to_image", image_to_image},
    {"convolution_of_a_signal", convolution_of_a_signal},
    {"epilogues", epilogues},
    {"spelled_out", spelled_out},
    {"idle_work", idle_work},
    {"encoder_block", encoder_block},
    {"decoder_block_with_cache", decoder_block_with_cache},
    {"grouped_heads", grouped_heads},
    {"sequence_first", sequence_first},
    {"turned_normalisation", turned_normalisation},
    {"branches", branches},
    {"known_branches", known_branches},
    {"carried_weights", carried_weights},
    {"half_precision", half_precision},
    {"quantised", quantised},
    {"dynamically_quantised", dynamically_quantised},
};

}  // namespace

std::span<const OptimizerExample> optimizer_examples() {
  static const std::vector<OptimizerExample> all = [] {
    std::vector<OptimizerExample> list(std::begin(kExamples), std::end(kExamples));
    for (const RuleExample* e : RuleExample::all()) list.push_back({e->name, e->build});
    return list;
  }();
  return all;
}

}  // namespace retort
