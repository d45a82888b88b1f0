// Frames of the bodies of If, Loop and Scan, kept from run to run.
#pragma once
#include <memory>
#include <vector>

#include "ops/run_context.h"
#include "run/frame.h"

namespace retort {

class BodyFrames final : public BodyRunner {
 public:
  BodyFrames(Frame& parent, uint32_t step);
  void run(size_t body, std::span<const Value> inputs, std::span<Value> outputs) override;

 private:
  Frame& parent_;
  uint32_t step_;
  std::vector<std::unique_ptr<Frame>> frames_;
  std::vector<Value> captures_;
};

}  // namespace retort
