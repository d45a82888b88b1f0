// Fourier transforms of float lines by kernels/fft: plans made before any run where the length is known by then, else in
// every run.
#pragma once
#include <memory>

#include "kernels/fft/fft.h"
#include "ops/integers.h"
#include "ops/op.h"

namespace retort::ops {

struct PreparedFft : State {
  PreparedFft(size_t length, bool real) : plan(length, real) {}
  kernels::FftPlan plan;
  std::shared_ptr<const void> table;
};
/// Null where the length is not known. `real`: as for FftPlan.
std::unique_ptr<State> prepare_fft(PrepareContext& c, std::optional<int64_t> length, bool real);

/// The only element of a constant integer input; nullopt: not constant.
std::optional<int64_t> constant_integer(PrepareContext& c, size_t i);
/// integer(), also before the run has come to input i.
int64_t known_integer(const RunContext& c, size_t i);

/// One step. The caller fills in `args` but for plan and table.
class FloatFft {
 public:
  FloatFft(const RunContext& c, size_t length, bool real);
  kernels::FftArgs args;
  size_t scratch_bytes(const RunContext& c) const;
  void run(const RunContext& c) const;

 private:
  const PreparedFft* prepared_;  ///< or null
  kernels::FftPlan plan_;
  kernels::FftArgs planned() const;
  size_t table_floats() const;  ///< at the begin of the scratch
};

}  // namespace retort::ops
