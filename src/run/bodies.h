// Keeps the frames of the bodies of steps (of If, Loop, BeamSearch, …) from run to run. Bodies read the slots of the
// step that they belong to, and copy their captures with the device run of the surrounding frame; they write nothing of
// that frame.
#pragma once
#include <memory>
#include <vector>

#include "memory/budget.h"
#include "ops/named_bodies.h"
#include "run/request.h"
#include "run/slot_table.h"

namespace retort {

class Frame;

/// What bodies use of the surrounding frame, which must outlive them.
struct BodyHost {
  const SlotTable& table;
  DeviceRun& device_run;
  MemoryBudget* budget;  ///< null: no limit
};

/// The bodies of one step.
class BodyFrames final : public NamedBodies {
 public:
  BodyFrames(const BodyHost& host, uint32_t step);
  ~BodyFrames() override;
  /// Begins the step in the run of `request`; forgets the captures of earlier runs.
  void begin(const RunRequest& request);
  void run(size_t body, std::span<const Value> inputs, std::span<Value> outputs,
           std::span<const MemorySpace> spaces) override;
  using BodyRunner::run;
  MemorySpace input_space(size_t body, size_t input) const override;
  std::optional<size_t> find(std::string_view attribute) const override;
  size_t index(std::string_view attribute) const override;
  size_t captures() const override { return step().captures; }
  size_t input_count(size_t body) const override;
  size_t output_count(size_t body) const override;
  const std::string& input_name(size_t body, size_t input) const override;
  const ValueType& input_type(size_t body, size_t input) const override;
  const ValueType& output_type(size_t body, size_t output) const override;
  /// See Frame; summed over the bodies of the step.
  size_t workspace_bytes() const;
  void trim();
  void give_back();

 private:
  struct Capture {
    Value value;
    std::vector<Value> brought;  ///< copies of it in other memories where bodies read it, made once for all iterations
  };
  const Step& step() const { return host_.table.plan().steps[step_]; }
  const Plan& plan(size_t body) const { return *step().bodies[body]; }
  void take_captures();
  const Value& capture_in(Capture& capture, const MemorySpace& space, const std::string& name);

  BodyHost host_;
  uint32_t step_;
  std::vector<std::unique_ptr<Frame>> frames_;
  std::vector<Capture> captures_;
  const RunRequest* request_ = nullptr;  ///< the run that the step is part of
};

/// The bodies of all steps of a plan.
class Bodies {
 public:
  explicit Bodies(const BodyHost& host);
  /// Null for a step without bodies.
  BodyFrames* of(uint32_t step) const { return frames_[step].get(); }
  size_t workspace_bytes() const;
  void trim();
  void give_back();

 private:
  std::vector<std::unique_ptr<BodyFrames>> frames_;  ///< per step
};

}  // namespace retort
