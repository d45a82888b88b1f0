#include "ops/op_test.h"

namespace retort::ops {
namespace {

using Floats = std::vector<float>;

const OpTest binarizer("Binarizer",
                       {{.about = "above the threshold",
                         .attributes = {{"threshold", 1.0f}},
                         .inputs = {f32({4}, {1, 2, 0, -3})},
                         .outputs = {f32({4}, {0, 1, 0, 0})}}},
                       {.domain = "ai.onnx.ml"});

const OpTest extractor("ArrayFeatureExtractor",
                       {{.about = "columns in any order",
                         .inputs = {f32({2, 3}, {1, 2, 3, 4, 5, 6}), i64({1, 3}, {2, 0, 2})},
                         .outputs = {f32({2, 3}, {3, 1, 3, 6, 4, 6})}},
                        {.about = "a vector gives one row, of strings",
                         .inputs = {strings({2}, {"a", "b"}), i64({1}, {1})},
                         .outputs = {strings({1, 1}, {"b"})}}},
                       {.domain = "ai.onnx.ml"});

const OpTest scaler("Scaler",
                    {{.about = "one for each feature",
                      .attributes = {{"offset", Floats{1, 2}}, {"scale", Floats{2, -1}}},
                      .inputs = {f32({2, 2}, {1, 2, 3, 4})},
                      .outputs = {f32({2, 2}, {0, 0, 4, -2})}},
                     {.about = "one for all",
                      .attributes = {{"offset", Floats{1}}, {"scale", Floats{3}}},
                      .inputs = {i64({3}, {1, 2, 3})},
                      .outputs = {f32({3}, {0, 3, 6})}}},
                    {.domain = "ai.onnx.ml"});

const OpTest regressor("LinearRegressor",
                       {{.about = "two targets",
                         .attributes = {{"targets", int64_t(2)},
                                        {"coefficients", Floats{1, 2, 3, 0, 0, 1}},
                                        {"intercepts", Floats{10, 20}}},
                         .inputs = {f32({2, 3}, {1, 1, 1, 1, 2, 3})},
                         .outputs = {f32({2, 2}, {16, 21, 24, 23})}},
                        {.about = "one row, no intercepts",
                         .attributes = {{"coefficients", Floats{1, 2}}},
                         .inputs = {f32({2}, {3, 4})},
                         .outputs = {f32({1, 1}, {11})}}},
                       {.domain = "ai.onnx.ml"});

}  // namespace
}  // namespace retort::ops
