// Gates, norms and mixes that models of language have between their layers.
#include <cmath>

#include "ops/op_test.h"

namespace retort::ops {
namespace {

const OpTestOptions kMicrosoft{.domain = "com.microsoft", .tolerance = 4};

const OpTest gated_add("GatedAdd",
                       {{.about = "a gate for each row",
                         .inputs = {f32({2, 2}, {1, 2, 3, 4}), f32({2, 2}, {10, 20, 30, 40}), f32({2, 1}, {1, -2})},
                         .outputs = {f32({2, 2}, {11, 22, -57, -76})}},
                        {.about = "one axis, NaN",
                         .inputs = {f32({1}, {1}), f32({1}, {NAN}), f32({1}, {0})},
                         .outputs = {f32({1}, {NAN})}}},
                       kMicrosoft);

const OpTest scaled_silu(
    "ScaledSiLU",
    {{.about = "without a scale it is SiLU", .inputs = {f32({3}, {0, 100, -100})}, .outputs = {f32({3}, {0, 100, 0})}},
     {.about = "the input overrides the attribute",
      .attributes = {{"alpha", 3.0f}},
      .inputs = {f32({2}, {10, 0}), f32({}, {2})},
      .outputs = {f32({2}, {20, 0})}},
     {.about = "large", .attributes = {{"alpha", 0.5f}}, .inputs = {random({33, 65})}}},
    kMicrosoft);

const OpTest branchwise_rms_norm("BranchwiseRMSNorm",
                                 {{.about = "grouped, a scale for each branch",
                                   .attributes = {{"epsilon", 0.0f}},
                                   .inputs = {f32({2, 2}, {3, -3, 0.5f, 0.5f}), f32({2, 2}, {1, 2, 3, 4})},
                                   .outputs = {f32({2, 2}, {1, -2, 3, 4})}},
                                  {.about = "flattened, a scale for all branches",
                                   .attributes = {{"epsilon", 0.0f}, {"num_branches", int64_t(2)}},
                                   .inputs = {f32({4}, {3, -3, 0.5f, 0.5f}), f32({2}, {1, 2})},
                                   .outputs = {f32({4}, {1, -2, 1, 2})}},
                                  {.about = "without a scale", .inputs = {random({5, 3, 17})}}},
                                 kMicrosoft);

const OpTest gated_rms_norm("GatedRMSNorm",
                            {{.about = "two runs in a row",
                              .attributes = {{"epsilon", 0.0f}, {"activation", std::string("sigmoid")}},
                              .inputs = {f32({1, 4}, {3, -3, 5, 5}), f32({2}, {1, 2}), f32({1, 4}, {0, 0, 0, 100})},
                              .outputs = {f32({1, 4}, {0.5f, -1, 0.5f, 2})}},
                             {.about = "silu", .inputs = {random({4, 24}, 1), random({8}, 2), random({4, 24}, 3)}}},
                            kMicrosoft);

const OpTest linear_attention_gate("LinearAttentionGate",
                                   {{.about = "decay and beta",
                                     .inputs = {f32({1, 2}, {-1, 99}), f32({2}, {1, 1}), f32({2}, {-1, -2}),
                                                f32({1, 2}, {0, 100})},
                                     .outputs = {f32({1, 2}, {-0.6931472f, -200}), f32({1, 2}, {0.5f, 1})}},
                                    {.about = "decay alone",
                                     .inputs = {f32({3, 1}, {0, -200, NAN}), f32({1}, {0}), f32({1}, {1})},
                                     .outputs = {f32({3, 1}, {0.6931472f, 0, NAN})}}},
                                   kMicrosoft);

const OpTest hyper_connection_pre_mix("HyperConnectionPreMix",
                                      {{.about = "a gate for each stream",
                                        .attributes = {{"reduction_scale", 0.5f}},
                                        .inputs = {f32({1, 2, 2}, {1, 2, 3, 4}), f32({1, 2}, {2, 4})},
                                        .outputs = {f32({1, 2}, {7, 10})}},
                                       {.about = "flattened, a gate for each element",
                                        .attributes = {{"num_branches", int64_t(2)}},
                                        .inputs = {f32({1, 4}, {1, 2, 3, 4}), f32({1, 4}, {2, 0, 0, 1})},
                                        .outputs = {f32({1, 2}, {2, 4})}},
                                       {.about = "gates with an axis of one",
                                        .inputs = {f32({2, 2}, {1, 2, 3, 4}), f32({2, 1}, {2, 4})},
                                        .outputs = {f32({2}, {14, 20})}}},
                                      kMicrosoft);

const OpTest hyper_connection_post_mix("HyperConnectionPostMix",
                                       {{.about = "streams as they are, plus a block",
                                         .inputs = {f32({1, 2, 2}, {1, 2, 3, 4}), f32({1, 2}, {10, 20}),
                                                    f32({1, 2}, {1, -1})},
                                         .outputs = {f32({1, 2, 2}, {11, 22, -7, -16})}},
                                        {.about = "mixed: row c says where stream c goes",
                                         .attributes = {{"num_branches", int64_t(2)}},
                                         .inputs = {f32({1, 4}, {1, 2, 3, 4}), f32({1, 2}, {0, 0}),
                                                    f32({1, 2, 1}, {1, 1}), f32({1, 2, 2}, {0, 10, 1, 100})},
                                         .outputs = {f32({1, 4}, {3, 4, 310, 420})}}},
                                       kMicrosoft);

const OpTest engram_gate("EngramGate",
                         {{.about = "a key across the query leaves half of the value",
                           .inputs = {f32({1, 1, 1, 2}, {1, 0}), f32({1, 1, 1, 2}, {0, 1}), f32({1, 1, 2}, {4, -4}),
                                      f32({1, 2}, {1, 1}), f32({1, 2}, {1, 1}), f32({1, 2}, {3, 5})},
                           .outputs = {f32({1, 1, 1, 2}, {2, -2}), f32({1, 1, 1, 2}, {3, -5})},
                           .tolerance = 4},
                          {.about = "many",
                           .attributes = {{"epsilon", 1e-3f}},
                           .inputs = {random({2, 3, 2, 8}, 1), random({2, 3, 2, 8}, 2), random({2, 3, 8}, 3),
                                      random({2, 8}, 4), random({2, 8}, 5), random({2, 8}, 6)}}},
                         kMicrosoft);

const OpTest embed_layer_normalization(
    "EmbedLayerNormalization",
    {{.about = "words and positions",
      .inputs = {i32({1, 2}, {1, 0}), kNone, f32({2, 2}, {3, 5, 1, 3}), f32({2, 2}, {0, 2, 1, 1}), kNone,
                 f32({2}, {1, 2}), f32({2}, {10, 20})},
      .outputs = {f32({1, 2, 2}, {9, 22, 9, 22}), i32({1}, {0}), f32({1, 2, 2}, {1, 5, 4, 6})}},
     {.about = "without ids, all words are of segment 0",
      .inputs = {i32({1, 2}, {1, 0}), kNone, f32({2, 2}, {3, 5, 1, 3}), f32({2, 2}, {0, 2, 1, 1}),
                 f32({2, 2}, {0, -8, 1, 1}), f32({2}, {1, 2}), f32({2}, {10, 20})},
      .outputs = {f32({1, 2, 2}, {11, 18, 11, 18}), i32({1}, {0}), f32({1, 2, 2}, {1, -3, 4, -2})}},
     {.about = "segments, a mask, positions for all rows of the batch",
      .attributes = {{"mask_index_type", int64_t(1)}},
      .inputs = {i32({2, 1}, {1, 0}), i32({2, 1}, {0, 1}), f32({2, 2}, {3, 5, 1, 3}), f32({2, 2}, {0, 2, 1, 1}),
                 f32({2, 2}, {0, 0, 1, 1}), f32({2}, {1, 1}), f32({2}, {0, 0}), i32({2, 1}, {0, 1}), i32({1, 1}, {1})},
      .outputs = {f32({2, 1, 2}, {-1, 1, -1, 1}), i32({2}, {0, 1}), f32({2, 1, 2}, {2, 4, 5, 7})}}},
    kMicrosoft);

}  // namespace
}  // namespace retort::ops
