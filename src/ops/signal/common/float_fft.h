// Fourier transforms of float lines by kernels/fft. The plan is made before any run if the length is known by then,
// otherwise in every run.
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
/// Null if the length is not known. `real` has the meaning that it has for FftPlan.
std::unique_ptr<State> prepare_fft(PrepareContext& c, std::optional<int64_t> length, bool real);

/// The only element of a constant integer input; nullopt if it is not constant.
std::optional<int64_t> constant_integer(PrepareContext& c, size_t i);
/// Like integer(), but also works before input i has its value in the run.
int64_t known_integer(const RunContext& c, size_t i);

/// One step. The caller sets all members of `args` except plan and table.
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
  size_t table_floats() const;  ///< of the table at the beginning of scratch
};

}  // namespace retort::ops
