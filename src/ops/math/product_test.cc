// Products along axes, over labels, of matrices; and bits as they are.
#include "ops/op_test.h"

namespace retort::ops {
namespace {

const Tensor kRows = f32({2, 3}, {1, 2, 3, 4, 5, 6});

const OpTest cum_prod("CumProd", {{.about = "along rows",
                                   .inputs = {kRows, i64({}, {1})},
                                   .outputs = {f32({2, 3}, {1, 2, 6, 4, 20, 120})}},
                                  {.about = "along columns, from the end",
                                   .attributes = {{"reverse", int64_t(1)}},
                                   .inputs = {kRows, i32({}, {-2})},
                                   .outputs = {f32({2, 3}, {4, 10, 18, 4, 5, 6})}},
                                  {.about = "without the element itself",
                                   .attributes = {{"exclusive", int64_t(1)}},
                                   .inputs = {kRows, i64({}, {1})},
                                   .outputs = {f32({2, 3}, {1, 1, 2, 1, 4, 20})}}});

Attributes of(const char* equation) { return {{"equation", std::string(equation)}}; }
const OpTest einsum(
    "Einsum",
    {{.about = "a product of matrices",
      .attributes = of("ij, jk -> ik"),
      .inputs = {kRows, f32({3, 1}, {1, 0, 2})},
      .outputs = {f32({2, 1}, {7, 16})}},
     {.about = "labels in order of the alphabet, capitals first",
      .attributes = of("bA"),
      .inputs = {kRows},
      .outputs = {f32({3, 2}, {1, 4, 2, 5, 3, 6})}},
     {.about = "the trace", .attributes = of("ii"), .inputs = {f32({2, 2}, {1, 2, 3, 4})}, .outputs = {f32({}, {5})}},
     {.about = "the diagonal",
      .attributes = of("ii->i"),
      .inputs = {f32({2, 2}, {1, 2, 3, 4})},
      .outputs = {f32({2}, {1, 4})}},
     {.about = "axes behind ... broadcast",
      .attributes = of("...i,i...->i..."),
      .inputs = {f32({2, 1, 2}, {1, 2, 3, 4}), f32({2, 3}, {1, 10, 100, 2, 20, 200})},
      .outputs = {f32({2, 2, 3}, {1, 10, 100, 3, 30, 300, 4, 40, 400, 8, 80, 800})}},
     {.about = "three inputs, one of them a scalar",
      .attributes = of("i,,j->ji"),
      .inputs = {f32({2}, {1, 2}), f32({}, {3}), f32({2}, {1, 10})},
      .outputs = {f32({2, 2}, {3, 6, 30, 60})}},
     {.about = "sums over nothing are 0",
      .attributes = of("ij->j"),
      .inputs = {f32({0, 2}, {})},
      .outputs = {f32({2}, {0, 0})}},
     {.about = "large",
      .attributes = of("bhid,bhjd->bhij"),
      .inputs = {random({2, 3, 9, 7}), random({2, 3, 5, 7}, 2)}}});

const OpTest det("Det", {{.about = "signs of exchanged rows",
                          .inputs = {f32({3, 2, 2}, {1, 2, 3, 4, 0, 1, 1, 0, 2, 4, 1, 2})},
                          .outputs = {f32({3}, {-2, -1, 0})}},
                         {.about = "three by three",
                          .inputs = {f32({3, 3}, {2, 0, 1, 1, 3, 2, 1, 1, 4})},
                          .outputs = {f32({}, {18})}},
                         {.about = "of no rows", .inputs = {f32({2, 0, 0}, {})}, .outputs = {f32({2}, {1, 1})}}});

const OpTest bit_cast("BitCast", {{.about = "float to int32",
                                   .attributes = {{"to", int64_t(DType::i32)}},
                                   .inputs = {f32({2}, {1, -0.0f})},
                                   .outputs = {i32({2}, {0x3f800000, INT32_MIN})}},
                                  {.about = "bool to uint8",
                                   .attributes = {{"to", int64_t(DType::u8)}},
                                   .inputs = {booleans({2}, {true, false})},
                                   .outputs = {u8({2}, {1, 0})}}});

}  // namespace
}  // namespace retort::ops
