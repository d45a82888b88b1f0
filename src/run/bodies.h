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
  void run(size_t body, std::span<const Value> inputs, std::span<Value> outputs,
           std::span<const MemorySpace> spaces) override;
  using BodyRunner::run;
  MemorySpace input_space(size_t body, size_t input) const override;
  /// The step begins: what its bodies read from outside may have changed.
  void begin() { captures_.clear(); }
  size_t index(std::string_view attribute) const override;
  size_t input_count(size_t body) const override;
  size_t output_count(size_t body) const override;
  /// As Frame has them, for all bodies.
  size_t workspace_bytes() const;
  void trim();
  void give_back();
  const ValueType& output_type(size_t body, size_t output) const override;

 private:
  const Step& step() const;
  const Plan& plan(size_t body) const { return *step().bodies[body]; }

  Frame& parent_;
  uint32_t step_;
  std::vector<std::unique_ptr<Frame>> frames_;
  struct Capture {
    Value value;
    std::vector<Value> brought;  ///< the same in other memories that bodies read it in, once for all iterations
  };
  void take_captures();
  const Value& capture_in(Capture& capture, const MemorySpace& space, const std::string& name);
  std::vector<Capture> captures_;
};

}  // namespace retort
