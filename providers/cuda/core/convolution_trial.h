// Measuring execution plans on the device.
#pragma once
#include "convolutions.h"

namespace providers::cuda {

/// Memory for one problem, and a stream of its own.
class ConvTrial {
 public:
  ConvTrial(Device& device, const ConvProblem& problem);
  ~ConvTrial();
  ConvTrial(const ConvTrial&) = delete;
  ConvTrial& operator=(const ConvTrial&) = delete;
  /// Microseconds of one run, of several that a CUDA graph submits: small convolutions take less time on the device
  /// than their submission takes. A plan that cannot be captured is measured without, and 1000 are added, since it
  /// is of use only where nothing else is supported. Throws Error if the plan fails.
  float measure(const ConvPlan& plan);

 private:
  float captured(const ConvPlan& plan, const ConvPointers& at);
  float submitted(const ConvPlan& plan, const ConvPointers& at, int times);
  float elapsed(const std::function<void()>& submit);

  Device& device_;
  CUstream stream_ = nullptr;
  CUevent begin_ = nullptr, end_ = nullptr;
  Block x_, w_, y_, bias_, residual_, workspace_;
};

}  // namespace providers::cuda
