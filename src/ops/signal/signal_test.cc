#include <cmath>

#include "ops/op_test.h"

namespace retort::ops {
namespace {

const Attributes kSymmetric{{"periodic", int64_t(0)}};
const OpTest hann(
    "HannWindow",
    {{.about = "periodic", .inputs = {i64({}, {4})}, .outputs = {f32({4}, {0, 0.5f, 1, 0.5f})}},
     {.about = "symmetric", .attributes = kSymmetric, .inputs = {i32({}, {3})}, .outputs = {f32({3}, {0, 1, 0})}},
     {.about = "of doubles, empty",
      .attributes = {{"output_datatype", int64_t(DType::f64)}},
      .inputs = {i64({}, {0})},
      .outputs = {f64({0}, {})}}},
    {.weights = {0}});
const OpTest hamming("HammingWindow",
                     {{.about = "symmetric",
                       .attributes = kSymmetric,
                       .inputs = {i64({}, {3})},
                       .outputs = {f32({3}, {4.0f / 46, 1, 4.0f / 46})}}},
                     {.weights = {0}});
const OpTest blackman("BlackmanWindow",
                      {{.about = "periodic", .inputs = {i64({}, {4})}, .outputs = {f32({4}, {0, 0.34f, 1, 0.34f})}}},
                      {.weights = {0}});

const Tensor kStep = f32({1, 4, 1}, {1, 1, 0, 0});
const OpTest dft(
    "DFT",
    {{.about = "of real numbers", .inputs = {kStep}, .outputs = {f32({1, 4, 2}, {2, 0, 1, -1, 0, 0, 1, 1})}},
     {.about = "one half of it",
      .attributes = {{"onesided", int64_t(1)}},
      .inputs = {kStep},
      .outputs = {f32({1, 3, 2}, {2, 0, 1, -1, 0, 0})}},
     {.about = "and back",
      .attributes = {{"inverse", int64_t(1)}},
      .inputs = {f32({1, 4, 2}, {2, 0, 1, -1, 0, 0, 1, 1})},
      .outputs = {f32({1, 4, 2}, {1, 0, 1, 0, 0, 0, 0, 0})}},
     {.about = "back from one half to real numbers",
      .attributes = {{"inverse", int64_t(1)}, {"onesided", int64_t(1)}},
      .inputs = {f32({1, 3, 2}, {2, 0, 1, -1, 0, 0})},
      .outputs = {f32({1, 4, 1}, {1, 1, 0, 0})}},
     {.about = "zero-padded, along another axis, a length that is not a power of two",
      .inputs = {f32({2, 1, 1}, {1, 1}), i64({}, {3}), i64({}, {0})},
      .outputs = {f32({3, 1, 2}, {2, 0, 0.5f, -std::sqrt(0.75f), 0.5f, std::sqrt(0.75f)})}},
     {.about = "cut off", .inputs = {kStep, i64({}, {1})}, .outputs = {f32({1, 1, 2}, {1, 0})}},
     {.about = "lengths of both kinds", .inputs = {random({2, 16, 3, 2}), kNone, i64({}, {1})}},
     {.about = "lengths of both kinds", .inputs = {random({2, 16, 7, 2}), kNone, i64({}, {2})}},
     {.about = "a length that splits, of real numbers", .inputs = {random({3, 150, 1})}},
     {.about = "strided lines", .inputs = {random({2, 80, 19, 2}), kNone, i64({}, {1})}},
     {.about = "a large prime, zero-padded", .inputs = {random({2, 90, 2}), i64({}, {101})}},
     {.about = "half of an odd length",
      .attributes = {{"onesided", int64_t(1)}},
      .inputs = {random({2, 75, 1}), kNone, i64({}, {1})}},
     {.about = "back from truncated halves",
      .attributes = {{"inverse", int64_t(1)}, {"onesided", int64_t(1)}},
      .inputs = {random({2, 75, 2}), i64({}, {130})}},
     {.about = "back from a half to an odd length",
      .attributes = {{"inverse", int64_t(1)}, {"onesided", int64_t(1)}},
      .inputs = {random({2, 20, 5, 2}), i64({}, {45}), i64({}, {1})}}},
    {.weights = {1, 2}});

const OpTest stft("STFT",
                  {{.about = "two frames of two samples",
                    .inputs = {f32({1, 4, 1}, {1, 2, 3, 5}), i64({}, {2}), kNone, i64({}, {2})},
                    .outputs = {f32({1, 2, 2, 2}, {3, 0, -1, 0, 8, 0, -2, 0})}},
                   {.about = "weights, which determine the length; all frequencies; overlap",
                    .attributes = {{"onesided", int64_t(0)}},
                    .inputs = {f32({1, 3}, {1, 2, 3}), i64({}, {1}), f32({2}, {1, 2})},
                    .outputs = {f32({1, 2, 2, 2}, {5, 0, -3, 0, 8, 0, -4, 0})}},
                   {.about = "many frames", .inputs = {random({2, 700, 1}), i64({}, {40}), random({160}, 2)}},
                   {.about = "of complex numbers, an odd length",
                    .attributes = {{"onesided", int64_t(0)}},
                    .inputs = {random({2, 200, 2}), i64({}, {10}), random({33}, 2)}}},
                  {.weights = {1, 3}});

const OpTest mel("MelWeightMatrix",
                 {{.about = "two bands; corners fall on bins 0, 0, 1 and 2",
                   .inputs = {i64({}, {2}), i64({}, {8}), i64({}, {8000}), f32({}, {0}), f32({}, {4000})},
                   .outputs = {f32({5, 2}, {1, 0, 0, 1, 0, 0, 0, 0, 0, 0})}},
                  {.about = "slopes",
                   .inputs = {i64({}, {1}), i64({}, {16}), i64({}, {16}), f32({}, {0}), f32({}, {8})},
                   .outputs = {f32({9, 1}, {0, 0.5f, 1, 2.0f / 3, 1.0f / 3, 0, 0, 0, 0})}}},
                 {.weights = {0, 1}});

}  // namespace
}  // namespace retort::ops
