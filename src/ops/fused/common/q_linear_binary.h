// Shared by retort.QLinearAdd and retort.QLinearMul: codes of f(a, b), where a, b and the result are codes of 8 bits, each
// tensor with one scale and zero point. The result has the same bits as DequantizeLinear, f and QuantizeLinear.
#pragma once
#include "kernels/elementwise/chunks.h"
#include "kernels/elementwise/codes.h"
#include "ops/op.h"
#include "ops/quant/common/quantization.h"

namespace retort::ops {

using CodesFunction = void (*)(const kernels::CodeRun& a, const kernels::CodeRun& b, const kernels::CodeRun& y,
                               size_t n) noexcept;

template <CodesFunction kFunction>
struct QLinearBinary {
  enum Input : size_t { kA, kAScale, kAZero, kB, kBScale, kBZero, kYScale, kYZero };

  void infer(InferContext& c) const { c.set(0, c.dtype(kYZero), c.shape(kA)); }
  Cost cost(const CostContext& c) const { return {.operations = 8 * c.out_count()}; }

  void run(RunContext& c) const {
    require(c.shape(kA) == c.shape(kB), ErrorCode::invalid_argument, "shapes {} and {}, expected equal ones",
            c.shape(kA), c.shape(kB));
    const kernels::CodeRun a = codes(c, c.data(kA), kA), b = codes(c, c.data(kB), kB);
    const kernels::CodeRun y = codes(c, c.out_data(), kYScale - 1);
    const auto from = [](kernels::CodeRun run, size_t first) {
      run.codes = static_cast<const uint8_t*>(run.codes) + first;
      return run;
    };
    kernels::for_chunks(c.parallel(), c.out_count(), [&](size_t begin, size_t end) {
      kFunction(from(a, begin), from(b, begin), from(y, begin), end - begin);
    });
  }

 private:
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
