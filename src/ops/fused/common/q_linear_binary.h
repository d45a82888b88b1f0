// Shared by retort.QLinearAdd and retort.QLinearMul: codes of f(a, b), where a, b and the result are codes of 8 bits,
// each tensor with one scale and zero point, with numpy broadcasting. The result has the same bits as DequantizeLinear,
// f and QuantizeLinear.
#pragma once
#include <cstring>

#include "kernels/elementwise/broadcast.h"
#include "kernels/elementwise/chunks.h"
#include "kernels/elementwise/codes.h"
#include "ops/elementwise.h"
#include "ops/op.h"
#include "ops/quant/common/quantization.h"

namespace retort::ops {

using CodesFunction = void (*)(const kernels::CodeRun& a, const kernels::CodeRun& b, const kernels::CodeRun& y,
                               kernels::CodeRows rows) noexcept;

template <CodesFunction kFunction>
struct QLinearBinary {
  enum Input : size_t { kA, kAScale, kAZero, kB, kBScale, kBZero, kYScale, kYZero };

  void infer(InferContext& c) const { c.set(0, c.dtype(kYZero), c.broadcast({kA, kB})); }
  Cost cost(const CostContext& c) const { return {.operations = 8 * c.out_count()}; }

  void run(RunContext& c) const {
    const Operands o{codes(c, c.data(kA), kA), codes(c, c.data(kB), kB), codes(c, c.out_data(), kYScale - 1)};
    const Shape &a = c.shape(kA), &b = c.shape(kB);
    const auto plan = kernels::BroadcastPlan<2>::make({a, b});
    if (!plan) {
      for_each_broadcast(c.out_shape(), a, b, [&](size_t i, size_t ia, size_t ib) { row(o, {i, ia, ib, 1, 1, 1}); });
    } else if (plan->rank == 1) {
      const size_t a_step = plan->step(0), b_step = plan->step(1);
      kernels::for_chunks(c.parallel(), plan->count, [&](size_t begin, size_t end) {
        row(o, {begin, begin * a_step, begin * b_step, end - begin, a_step, b_step});
      });
    } else {
      const auto some = [&](const kernels::PairRows& r) { rows(o, r, plan->step(0), plan->step(1)); };
      kernels::for_pair_rows(*plan, some, c.parallel());
    }
  }

 private:
  struct Operands {
    kernels::CodeRun a, b, y;
  };
  static kernels::CodeRun from(kernels::CodeRun run, size_t first) {
    run.codes = static_cast<const uint8_t*>(run.codes) + first;
    return run;
  }

  static void rows(const Operands& o, const kernels::PairRows& r, size_t a_step, size_t b_step) {
    const size_t a = r.starts[0], b = r.starts[1];
    if (a_step && b_step)
      return kFunction(
          from(o.a, a), from(o.b, b), from(o.y, r.out),
          {.rows = r.rows, .columns = r.n, .a_stride = r.strides[0], .b_stride = r.strides[1], .y_stride = r.n});
    // The repeated codes are copied for some rows at once: a call of the function costs as much as many elements.
    const kernels::CodeRun &many = a_step ? o.a : o.b, &one = a_step ? o.b : o.a;
    const size_t m = a_step ? a : b, k = a_step ? b : a, m_stride = r.strides[a_step ? 0 : 1];
    const size_t k_stride = r.strides[a_step ? 1 : 0], most = std::max<size_t>(1, kPart / r.n);
    for (size_t i = 0; i < r.rows; i += most)
      repeat(from(many, m + i * m_stride), from(one, k + i * k_stride), from(o.y, r.out + i * r.n),
             {.rows = std::min(most, r.rows - i),
              .columns = r.n,
              .a_stride = m_stride,
              .b_stride = k_stride,
              .y_stride = r.n});
  }

  static void row(const Operands& o, const PairRun& r) {
    const kernels::CodeRun a = from(o.a, r.a), b = from(o.b, r.b), y = from(o.y, r.out);
    if (r.n == 1 || (r.a_step && r.b_step)) return kFunction(a, b, y, {.columns = r.n});
    repeat(r.a_step ? a : b, r.a_step ? b : a, y, {.columns = r.n});
  }

  static constexpr size_t kPart = 4096;  ///< codes that are copied at once, in the first-level cache
  /// Each row of `many` with one code. The functions are symmetric.
  static void repeat(kernels::CodeRun many, kernels::CodeRun one, kernels::CodeRun y, kernels::CodeRows r) {
    uint8_t copies[kPart];
    const size_t columns = std::min(r.columns, kPart);
    const auto* code = static_cast<const uint8_t*>(one.codes);
    for (size_t i = 0; i < r.rows; ++i) std::memset(copies + i * columns, code[i * r.b_stride], columns);
    one.codes = copies;
    r.b_stride = columns;
    for (size_t done = 0, all = r.columns; done < all; done += kPart) {  // of several rows, all are done at once
      r.columns = std::min(kPart, all - done);
      kFunction(from(many, done), one, from(y, done), r);
    }
  }

  // Scale and zero point are the two inputs after `input`.
  static kernels::CodeRun codes(const RunContext& c, const void* data, size_t input) {
    const size_t scale = input + 1, zero = input + 2;
    require(c.count(scale) == 1 && c.count(zero) == 1, ErrorCode::invalid_argument,
            "scale has shape {}, zero point {}, expected one element", c.shape(scale), c.shape(zero));
    return {.codes = data,
            .is_signed = c.dtype(zero) == DType::i8,
            .zero = integer_code(c.data(zero), c.dtype(zero), 0),
            .scale = c.input<float>(scale)[0]};
  }
};

}  // namespace retort::ops
