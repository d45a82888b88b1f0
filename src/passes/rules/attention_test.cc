#include "passes/attention/operand.h"
#include "passes/passes_testing.h"

namespace retort {
namespace {

Attributes perm(std::vector<int64_t> p) { return {{"perm", std::move(p)}}; }

struct Block : TestGraph {
  Dim batch = symbol("batch"), seq = symbol("seq");
  ValueId heads(ValueId x, std::vector<int64_t> order = {0, 2, 1, 3}) {
    return add("Transpose", {add("Reshape", {x, ints({0, 0, 3, 4})})}, perm(std::move(order)));
  }
  ValueId rows(ValueId y) { return add("Reshape", {add("Transpose", {y}, perm({0, 2, 1, 3})), ints({0, 0, 12})}); }
};

TEST(Attention, BertsBlock) {
  Block t;
  const ValueId q = t.input("q", {t.batch, t.seq, 12}), k = t.input("k", {t.batch, t.seq, 12}),
                v = t.input("v", {t.batch, t.seq, 12}), mask = t.input("mask", {t.batch, 1, 1, t.seq});
  const ValueId qk = t.add("MatMul", {t.heads(q), t.heads(k, {0, 2, 3, 1})});
  const ValueId p = t.add("Softmax", {t.add("Add", {t.add("Mul", {qk, t.scalar(0.5f)}), mask})});
  t.output(t.rows(t.add("MatMul", {p, t.heads(v)})), "y");
  expect_rewrite(
      t, {"attention"},
      R"(graph(q: float32[batch,seq,12], k: float32[batch,seq,12], v: float32[batch,seq,12], mask: float32[batch,1,1,seq]) {
  Attention#1: float32[batch,seq,3,4] = retort.Attention(q, k, v, mask) {head_size=4, kv_heads=3, q_heads=3, scale=0.5, v_head_size=4}
  y: float32[batch,seq,12] = Reshape(Attention#1, i#1)
  return y
}
)");
}

TEST(Attention, PackedProjectionWithCacheAndCausalMaskAsInGpt2) {
  Block t;
  const Dim past = t.symbol("past"), total = t.g.dims().add(past, t.seq);
  const ValueId qkv = t.input("qkv", {t.batch, t.seq, 36}), hide = t.input("hide", {t.seq, total}, DType::boolean),
                past_k = t.input("past_k", {t.batch, 3, past, 4}), past_v = t.input("past_v", {t.batch, 3, past, 4});
  const auto part = [&](int64_t i) {
    return t.add("Slice", {qkv, t.ints({12 * i}), t.ints({12 * (i + 1)}), t.ints({-1})});
  };
  const ValueId k = t.add("Concat", {past_k, t.heads(part(1))}, {{"axis", int64_t(2)}});
  const ValueId v = t.add("Concat", {past_v, t.heads(part(2))}, {{"axis", int64_t(2)}});
  const ValueId qk = t.add("MatMul", {t.heads(part(0)), t.add("Transpose", {k}, perm({0, 1, 3, 2}))});
  const ValueId hidden = t.add("Where", {hide, t.scalar(-3e38f), t.add("Div", {qk, t.scalar(2)})});
  t.output(t.rows(t.add("MatMul", {t.add("Softmax", {hidden}), v})), "y");
  t.output(k, "present_k");
  t.output(v, "present_v");
  expect_rewrite(
      t, {"attention"},
      R"(graph(qkv: float32[batch,seq,36], hide: bool[seq,seq+past], past_k: float32[batch,3,past,4], past_v: float32[batch,3,past,4]) {
  Attention#1: float32[batch,seq,3,4], present_k: float32[batch,3,seq+past,4], present_v: float32[batch,3,seq+past,4] = retort.Attention(qkv, qkv, qkv, _, hide, past_k, past_v) {flag_hides=1, head_size=4, hidden=-3e+38, k_offset=12, kv_heads=3, q_heads=3, scale=0.5, v_head_size=4, v_offset=24}
  y: float32[batch,seq,12] = Reshape(Attention#1, i#1)
  return y, present_k, present_v
}
)");
}

// A step of a decoder whose mask is made by `mask` of the present keys.
template <typename F>
void decoder_step(Block& t, F&& mask) {
  const Dim past = t.symbol("past");
  const auto cache = [&](const char* name, const char* fresh) {
    return t.add("Concat", {t.input(name, {t.batch, 3, past, 4}), t.heads(t.input(fresh, {t.batch, t.seq, 12}))},
                 {{"axis", int64_t(2)}});
  };
  const ValueId q = t.heads(t.input("q", {t.batch, t.seq, 12})), k = cache("past_k", "k"), v = cache("past_v", "v");
  const ValueId qk = t.add("MatMul", {q, t.add("Transpose", {k}, perm({0, 1, 3, 2}))});
  t.output(t.rows(t.add("MatMul", {t.add("Softmax", {t.add("Add", {qk, mask(k)})}), v})), "y");
  t.output(k, "present_k");
  t.output(v, "present_v");
}

TEST(Attention, MaskThatIsCutToTheLengthOfTheKeys) {
  Block t;
  decoder_step(t, [&](ValueId k) {
    const Dim longest = t.g.dims().add(t.g.dims().add(t.symbol("past"), t.seq), 2);
    const ValueId mask = t.input("mask", {t.batch, 1, t.seq, longest});
    const ValueId shape = t.add("Shape", {t.add("Transpose", {k}, perm({0, 2, 1, 3}))});
    return t.add("Slice", {mask, t.ints({0}), t.add("Gather", {shape, t.ints({1})}), t.ints({3})});
  });
  expect_rewrite(
      t, {"attention"},
      R"(graph(q: float32[batch,seq,12], past_k: float32[batch,3,past,4], k: float32[batch,seq,12], past_v: float32[batch,3,past,4], v: float32[batch,seq,12], mask: float32[batch,1,seq,seq+past+2]) {
  Shape#1: int64[1] = Shape(past_k) {end=1, start=0}
  Shape#2: int64[1] = Shape(past_k) {end=3, start=2}
  Shape#3: int64[1] = Shape(k) {end=2, start=1}
  Add#1: int64[1] = Add(Shape#2, Shape#3)
  Concat#1: int64[4] = Concat(Shape#1, Add#1, extent#1, extent#2) {axis=0}
  Gather#1: int64[1] = Gather(Concat#1, i#1)
  Slice#1: float32[batch,1,seq,seq+past] = Slice(mask, i#2, Gather#1, i#3)
  Attention#1: float32[batch,seq,3,4], present_k: float32[batch,3,seq+past,4], present_v: float32[batch,3,seq+past,4] = retort.Attention(q, k, v, Slice#1, _, past_k, past_v) {head_size=4, kv_heads=3, q_heads=3, scale=1, v_head_size=4}
  y: float32[batch,seq,12] = Reshape(Attention#1, i#4)
  return y, present_k, present_v
}
)");
}

TEST(Attention, CacheThatTheMaskNeedsStaysOutside) {
  Block t;
  decoder_step(t, [&](ValueId k) {
    const ValueId sum = t.add("ReduceMax", {k, t.ints({3})});
    return t.add("Transpose", {t.add("ReduceMax", {sum, t.ints({1})})}, perm({0, 1, 3, 2}));
  });
  expect_rewrite(
      t, {"attention"},
      R"(graph(q: float32[batch,seq,12], past_k: float32[batch,3,past,4], k: float32[batch,seq,12], past_v: float32[batch,3,past,4], v: float32[batch,seq,12]) {
  Reshape#1: float32[batch,seq,3,4] = Reshape(k, i#1)
  Transpose#1: float32[batch,3,seq,4] = Transpose(Reshape#1) {perm=[0,2,1,3]}
  present_k: float32[batch,3,seq+past,4] = Concat(past_k, Transpose#1) {axis=2}
  Reshape#2: float32[batch,seq,3,4] = Reshape(v, i#2)
  Transpose#2: float32[batch,3,seq,4] = Transpose(Reshape#2) {perm=[0,2,1,3]}
  present_v: float32[batch,3,seq+past,4] = Concat(past_v, Transpose#2) {axis=2}
  ReduceMax#1: float32[batch,3,seq+past,1] = ReduceMax(present_k, i#3)
  ReduceMax#2: float32[batch,1,seq+past,1] = ReduceMax(ReduceMax#1, i#4)
  Transpose#3: float32[batch,1,1,seq+past] = Transpose(ReduceMax#2) {perm=[0,1,3,2]}
  Attention#1: float32[batch,seq,3,4] = retort.Attention(q, present_k, present_v, Transpose#3) {head_size=4, k_split=1, kv_heads=3, q_heads=3, scale=1, v_head_size=4, v_split=1}
  y: float32[batch,seq,12] = Reshape(Attention#1, i#5)
  return y, present_k, present_v
}
)");
}

TEST(Attention, SharedKeysRepeatedByExpandAsInLlama) {
  Block t;
  const ValueId q = t.input("q", {t.batch, t.seq, 12}), k = t.input("k", {t.batch, 1, t.seq, 4}),
                v = t.input("v", {t.batch, 1, t.seq, 4});
  const auto repeat = [&](ValueId x) {
    const ValueId shape = t.add(
        "Concat",
        {t.add("Shape", {x}, {{"end", int64_t(1)}}), t.ints({1, 3}), t.add("Shape", {x}, {{"start", int64_t(2)}})},
        {{"axis", int64_t(0)}});
    const ValueId wide = t.add("Expand", {t.add("Unsqueeze", {x, t.ints({2})}), shape});
    return t.add("Reshape", {wide, t.ints({0, 3, -1, 4})});
  };
  const ValueId qk = t.add("MatMul", {t.heads(q), t.add("Transpose", {repeat(k)}, perm({0, 1, 3, 2}))});
  t.output(t.add("MatMul", {t.add("Softmax", {qk}), repeat(v)}), "y");
  expect_rewrite(t, {"attention"},
                 R"(graph(q: float32[batch,seq,12], k: float32[batch,1,seq,4], v: float32[batch,1,seq,4]) {
  y: float32[batch,3,seq,4] = retort.Attention(q, k, v) {head_size=4, k_split=1, kv_heads=1, q_heads=3, scale=1, v_head_size=4, v_split=1, y_split=1}
  return y
}
)");
}

TEST(Attention, ScaleOnBothSidesAndMergedHeads) {
  Block t;
  const ValueId q = t.input("q", {2, 5, 12}), k = t.input("k", {2, 7, 12}), v = t.input("v", {2, 7, 12});
  const auto merged = [&](ValueId x, int64_t rows) { return t.add("Reshape", {t.heads(x), t.ints({6, rows, 4})}); };
  const ValueId kt = t.add("Transpose", {t.add("Mul", {merged(k, 7), t.scalar(0.5f)})}, perm({0, 2, 1}));
  const ValueId qk = t.add("MatMul", {t.add("Mul", {merged(q, 5), t.scalar(0.25f)}), kt});
  t.output(t.add("MatMul", {t.add("Softmax", {qk}), merged(v, 7)}), "y");
  expect_rewrite(t, {"attention"}, R"(graph(q: float32[2,5,12], k: float32[2,7,12], v: float32[2,7,12]) {
  Attention#1: float32[2,3,5,4] = retort.Attention(q, k, v) {head_size=4, kv_heads=3, q_heads=3, scale=0.125, v_head_size=4, y_split=1}
  y: float32[6,5,4] = Reshape(Attention#1, shape#1)
  return y
}
)");
}

// Heads on one axis with the batch, and a mask of the same form.
void merged_heads(TestGraph& t, int64_t heads, Dim batch, Dim items) {
  const ValueId x = t.input("x", {batch, 5, 12});
  const auto merged = [&](std::vector<int64_t> order) {
    const ValueId split =
        t.add("Transpose", {t.add("Reshape", {x, t.ints({0, 0, heads, 12 / heads})})}, perm({0, 2, 1, 3}));
    const ValueId y = t.add("Reshape", {split, t.ints({-1, 5, 12 / heads})});
    return order.empty() ? y : t.add("Transpose", {y}, perm(std::move(order)));
  };
  const ValueId qk = t.add("MatMul", {merged({}), merged({0, 2, 1})});
  const ValueId p = t.add("Softmax", {t.add("Add", {qk, t.input("mask", {items, 1, 5})})});
  t.output(t.add("MatMul", {p, merged({})}), "y");
}

TEST(Attention, MaskOfMergedHeads) {
  TestGraph t;
  merged_heads(t, 3, 2, 6);
  expect_rewrite(t, {"attention"}, R"(graph(x: float32[2,5,12], mask: float32[6,1,5]) {
  Reshape#1: float32[2,3,1,5] = Reshape(mask, shape#1)
  Attention#1: float32[2,3,5,4] = retort.Attention(x, x, x, Reshape#1) {head_size=4, kv_heads=3, q_heads=3, scale=1, v_head_size=4, y_split=1}
  y: float32[6,5,4] = Reshape(Attention#1, shape#2)
  return y
}
)");
}

// The mask that the rule makes of it is not of the graph, which is searched for what needs the caches.
TEST(Attention, MaskOfMergedHeadsBehindACache) {
  Block t;
  const auto cache = [&](const char* name, const char* fresh) {
    return t.add("Concat", {t.input(name, {2, 3, 4, 4}), t.heads(t.input(fresh, {2, 5, 12}))}, {{"axis", int64_t(2)}});
  };
  const auto merged = [&](ValueId x) { return t.add("Reshape", {x, t.ints({6, -1, 4})}); };
  const ValueId k = cache("past_k", "k"), v = cache("past_v", "v"), q = t.heads(t.input("q", {2, 5, 12}));
  const ValueId qk = t.add("MatMul", {merged(q), t.add("Transpose", {merged(k)}, perm({0, 2, 1}))});
  const ValueId p = t.add("Softmax", {t.add("Add", {qk, t.input("mask", {6, 1, 9})})});
  t.output(t.add("MatMul", {p, merged(v)}), "y");
  t.output(k, "present_k");
  t.output(v, "present_v");
  expect_rewrite(
      t, {"attention"},
      R"(graph(past_k: float32[2,3,4,4], k: float32[2,5,12], past_v: float32[2,3,4,4], v: float32[2,5,12], q: float32[2,5,12], mask: float32[6,1,9]) {
  Reshape#1: float32[2,3,1,9] = Reshape(mask, shape#1)
  Attention#1: float32[2,3,5,4], present_k: float32[2,3,9,4], present_v: float32[2,3,9,4] = retort.Attention(q, k, v, Reshape#1, _, past_k, past_v) {head_size=4, kv_heads=3, q_heads=3, scale=1, v_head_size=4, y_split=1}
  y: float32[6,5,4] = Reshape(Attention#1, shape#2)
  return y, present_k, present_v
}
)");
}

TEST(Attention, MaskThatMayBeSharedStays) {
  TestGraph t;  // six masks, or one for all heads
  const Dim more = t.symbol("more");
  t.input("unused", {more});
  merged_heads(t, 3, 2, t.g.dims().add(more, 4));
  expect_no_rewrite(t, {"attention"});
}

TEST(Attention, MaskOfEachItemWithOneHead) {
  TestGraph t;
  merged_heads(t, 1, t.symbol("batch"), t.symbol("batch"));
  expect_rewrite(t, {"attention"}, R"(graph(x: float32[batch,5,12], mask: float32[batch,1,5]) {
  Unsqueeze#1: float32[batch,1,1,5] = Unsqueeze(mask, axes#1)
  Attention#1: float32[batch,1,5,12] = retort.Attention(x, x, x, Unsqueeze#1) {head_size=12, kv_heads=1, q_heads=1, scale=1, v_head_size=12, y_split=1}
  y: float32[batch,5,12] = Reshape(Attention#1, shape#1)
  return y
}
)");
}

TEST(Attention, HeadsThatLookLikeABatch) {
  TestGraph t;  // heads come first, since rows do in a batch of one; the mask has an item for each head
  const auto head = [&](const char* name) {
    const ValueId turned = t.add("Transpose", {t.input(name, {5, 3, 4})}, perm({1, 0, 2}));
    return t.add("Reshape", {turned, t.ints({1, 3, 5, 4})});
  };
  const ValueId qk = t.add("MatMul", {head("q"), t.add("Transpose", {head("k")}, perm({0, 1, 3, 2}))});
  const ValueId p = t.add("Softmax", {t.add("Add", {qk, t.input("mask", {1, 3, 5, 5})})});
  t.output(t.add("MatMul", {p, head("v")}), "y");
  expect_rewrite(t, {"attention"},
                 R"(graph(q: float32[5,3,4], k: float32[5,3,4], mask: float32[1,3,5,5], v: float32[5,3,4]) {
  Transpose#1: float32[3,5,4] = Transpose(q) {perm=[1,0,2]}
  Reshape#1: float32[1,3,5,4] = Reshape(Transpose#1, i#1)
  Transpose#2: float32[3,5,4] = Transpose(k) {perm=[1,0,2]}
  Reshape#2: float32[1,3,5,4] = Reshape(Transpose#2, i#2)
  Transpose#3: float32[3,5,4] = Transpose(v) {perm=[1,0,2]}
  Reshape#3: float32[1,3,5,4] = Reshape(Transpose#3, i#3)
  y: float32[1,3,5,4] = retort.Attention(Reshape#1, Reshape#2, Reshape#3, mask) {head_size=4, k_split=1, kv_heads=3, q_heads=3, q_split=1, scale=1, v_head_size=4, v_split=1, y_split=1}
  return y
}
)");
}

TEST(Attention, GuardAgainstRowsThatSeeNothing) {
  Block t;
  const ValueId q = t.input("q", {2, 3, 5, 4}), mask = t.input("mask", {5, 5});
  const ValueId qk = t.add("MatMul", {q, t.add("Transpose", {q}, perm({0, 1, 3, 2}))});
  const ValueId p = t.add("Softmax", {t.add("Add", {qk, mask})});
  const ValueId guarded = t.add("Where", {t.add("IsNaN", {p}), t.scalar(0), p});
  t.output(t.add("MatMul", {guarded, q}), "y");
  expect_rewrite(t, {"attention"}, R"(graph(q: float32[2,3,5,4], mask: float32[5,5]) {
  y: float32[2,3,5,4] = retort.Attention(q, q, q, mask) {blind_zero=1, head_size=4, k_split=1, kv_heads=3, q_heads=3, q_split=1, scale=1, v_head_size=4, v_split=1, y_split=1}
  return y
}
)");
}

// ONNX's operator, whose heads are views of packed rows, after a cache.
void operator_on_views(TestGraph& t) {
  const auto heads = [&](ValueId x, int64_t count) {
    return t.add("Transpose", {t.add("Reshape", {x, t.ints({0, 0, count, 4})})}, perm({0, 2, 1, 3}));
  };
  const ValueId q = t.input("q", {2, 3, 12}), kv = t.input("kv", {2, 3, 8}), past_k = t.input("past_k", {2, 1, 4, 4}),
                past_v = t.input("past_v", {2, 1, 4, 4}), show = t.input("show", {3, 7}, DType::boolean);
  const auto joined = [&](ValueId before, int64_t i) {
    const ValueId part = t.add("Slice", {kv, t.ints({4 * i}), t.ints({4 * (i + 1)}), t.ints({-1})});
    return t.add("Concat", {before, heads(part, 1)}, {{"axis", int64_t(2)}});
  };
  const ValueId k = joined(past_k, 0), v = joined(past_v, 1);
  const ValueId y = t.add("Attention", {heads(q, 3), k, v, show}, {{"scale", 0.25f}});
  t.output(t.add("Reshape", {t.add("Transpose", {y}, perm({0, 2, 1, 3})), t.ints({0, 0, 12})}), "y");
  t.output(k, "present_k");
  t.output(v, "present_v");
}
const RuleExample example_of_an_operator_on_views(
    "attention_of_views", {"attention_of_views"}, operator_on_views,
    R"(graph(q: float32[2,3,12], kv: float32[2,3,8], past_k: float32[2,1,4,4], past_v: float32[2,1,4,4], show: bool[3,7]) {
  Attention#1: float32[2,3,3,4], present_k: float32[2,1,7,4], present_v: float32[2,1,7,4] = retort.Attention(q, kv, kv, _, show, past_k, past_v) {blind_zero=1, head_size=4, hidden=-inf, kv_heads=1, q_heads=3, scale=0.25, v_head_size=4, v_offset=4}
  y: float32[2,3,12] = Reshape(Attention#1, i#1)
  return y, present_k, present_v
}
)");

TEST(Attention, OnnxsOperatorStaysWithWhatOnlyItHas) {
  const auto stays = [](Attributes attributes, bool short_mask = false) {
    Block t;
    const ValueId x = t.input("x", {2, 5, 12}), mask = t.input("mask", {5, short_mask ? 3 : 5});
    t.output(t.rows(t.add("Attention", {t.heads(x), t.heads(x), t.heads(x), mask}, std::move(attributes))), "y");
    expect_no_rewrite(t, {"attention_of_views"});
  };
  stays({{"is_causal", int64_t(1)}});
  stays({{"softcap", 2.0f}});
  stays({}, true);
}

TEST(Attention, ScoresThatAreUsedElsewhereStay) {
  Block t;
  const ValueId q = t.input("q", {t.batch, t.seq, 12});
  const ValueId p = t.add("Softmax", {t.add("MatMul", {t.heads(q), t.heads(q, {0, 2, 3, 1})})});
  t.output(t.add("MatMul", {p, t.heads(q)}), "y");
  t.output(p, "weights");
  expect_no_rewrite(t, {"attention"});
}

TEST(Attention, SoftmaxOverAnotherAxisStays) {
  Block t;
  const ValueId q = t.input("q", {t.batch, t.seq, 12});
  const ValueId p = t.add("Softmax", {t.add("MatMul", {t.heads(q), t.heads(q, {0, 2, 3, 1})})}, {{"axis", int64_t(2)}});
  t.output(t.add("MatMul", {p, t.heads(q)}), "y");
  expect_no_rewrite(t, {"attention"});
}

// Six windows of three images, with masks, and a bias of positions that all share.
void windows(TestGraph& t, Shape masks) {
  const auto heads = [&](const char* name, std::vector<int64_t> order) {
    return t.add("Transpose", {t.add("Reshape", {t.input(name, {6, 5, 12}), t.ints({0, 0, 3, 4})})}, perm(order));
  };
  const ValueId q = heads("q", {0, 2, 1, 3}), k = heads("k", {0, 2, 3, 1}), v = heads("v", {0, 2, 1, 3});
  const ValueId scores = t.add("Add", {t.add("MatMul", {q, k}), t.weight("positions", {1, 3, 5, 5})});
  const ValueId parted = t.add("Reshape", {scores, t.ints({-1, 2, 3, 5, 5})});
  const ValueId masked =
      t.add("Reshape", {t.add("Add", {parted, t.weight("shifts", std::move(masks))}), t.ints({-1, 3, 5, 5})});
  const ValueId y = t.add("Transpose", {t.add("MatMul", {t.add("Softmax", {masked}), v})}, perm({0, 2, 1, 3}));
  t.output(t.add("Reshape", {y, t.ints({0, 0, 12})}), "y");
}
// Each window of an image has a mask.
void windows_with_masks(TestGraph& t) { windows(t, {1, 2, 1, 5, 5}); }
const RuleExample example_of_windows_with_masks("attention_in_windows", {"attention"}, windows_with_masks,
                                                R"(graph(q: float32[6,5,12], k: float32[6,5,12], v: float32[6,5,12]) {
  Add#1: float32[2,3,5,5] = Add(positions, mask#1)
  Attention#1: float32[6,5,3,4] = retort.Attention(q, k, v, Add#1) {bias_repeats=1, head_size=4, kv_heads=3, q_heads=3, scale=1, v_head_size=4}
  y: float32[6,5,12] = Reshape(Attention#1, i#1)
  return y
}
)");

TEST(Attention, WindowsWithMasksOfAnotherFormStay) {
  // One for all windows, one for each window of each image, and masks that are shared by rows or by columns.
  for (const Shape& masks :
       {Shape{1, 1, 1, 5, 5}, Shape{3, 2, 1, 5, 5}, Shape{1, 2, 1, 1, 5}, Shape{1, 2, 1, 5, 1}, Shape{2, 1, 5, 5}}) {
    TestGraph t;
    windows(t, masks);
    expect_no_rewrite(t, {"attention"});
  }
}

TEST(SinkTranspose, SequenceFirstAttentionOfTorch) {
  TestGraph t;  // the rows of ViT: [S, B, E] inside, [B, S, E] outside
  const ValueId x = t.input("x", {2, 5, 12});
  const ValueId turned = t.add("Transpose", {x}, perm({1, 0, 2}));
  const ValueId qkv = t.add("Linear", {turned, t.weight("w", {12, 36})}, {}, "retort");
  const ValueId parts =
      t.add("Transpose", {t.add("Unsqueeze", {t.add("Reshape", {qkv, t.ints({5, 2, 3, 12})}), t.ints({0})})},
            perm({3, 1, 2, 0, 4}));
  const ValueId squeezed = t.add("Squeeze", {parts, t.ints({-2})});
  const auto head = [&](int64_t i) {
    const ValueId one =
        t.add("Gather", {squeezed, t.g.add_constant(t.g.unique_name("i"), Tensor::of<int64_t>({}, {i}))},
              {{"axis", int64_t(0)}});
    const ValueId merged = t.add("Transpose", {t.add("Reshape", {one, t.ints({5, 6, 4})})}, perm({1, 0, 2}));
    return t.add("Reshape", {merged, t.ints({2, 3, 5, 4})});
  };
  const ValueId qk = t.add("MatMul", {head(0), t.add("Transpose", {head(1)}, perm({0, 1, 3, 2}))});
  const ValueId y = t.add("Transpose", {t.add("MatMul", {t.add("Softmax", {qk}), head(2)})}, perm({2, 0, 1, 3}));
  const ValueId out = t.add("Linear", {t.add("Reshape", {y, t.ints({10, 12})}), t.weight("o", {12, 12})}, {}, "retort");
  t.output(t.add("Transpose", {t.add("Reshape", {out, t.ints({5, 2, 12})})}, perm({1, 0, 2})), "y");
  const std::initializer_list<std::string_view> rules{
      "sink_transpose_linear", "sink_transpose_reshape", "unfold_linear",  "reshape_chain",
      "noop_reshape",          "transpose_chain",        "noop_transpose", "attention"};
  expect_rewrite(t, rules, R"(graph(x: float32[2,5,12]) {
  Linear#1: float32[2,5,36] = retort.Linear(x, w)
  Attention#1: float32[2,5,3,4] = retort.Attention(Linear#1, Linear#1, Linear#1) {head_size=4, k_offset=12, kv_heads=3, q_heads=3, scale=1, v_head_size=4, v_offset=24}
  Reshape#1: float32[2,5,12] = Reshape(Attention#1, shape#1)
  y: float32[2,5,12] = retort.Linear(Reshape#1, o)
  return y
}
)");
}

}  // namespace
}  // namespace retort
