// What is measured beside what: one engine with one model, whatever interface the engine has.
#pragma once
#include "engine/engine.h"

namespace retort::cli {

/// An engine that loads a model and runs it on inputs that stay where they are. Every function throws Failure.
class Side {
 public:
  virtual ~Side() = default;
  /// "Retort 0.1.0", "OpenVINO 2026.4.1 f32".
  virtual std::string name() const = 0;
  /// In place of what was loaded before.
  virtual void load(const std::string& model, const SessionSettings& settings) = 0;
  /// `inputs` must outlive the next load; tensors of numbers are not copied.
  virtual void bind(HostValues& inputs) = 0;
  virtual void run() = 0;
  /// Before bind(): runs are steps of a decoder (decode_run.h), which restart() takes back to the first. Throws where the
  /// engine cannot be measured so.
  virtual void hand_back() { throw Failure("--hand-back is for engines with the C interface of ONNX Runtime"); }
  virtual void restart() {}
  /// After a run: the next ones write where it wrote, where the engine has to be told so.
  virtual void keep_outputs() {}
  /// Those outputs of the last run.
  virtual HostValues values(const std::vector<std::string>& outputs) const = 0;
  /// Where the engine has the C interface of ONNX Runtime: that interface; else null.
  virtual const EngineLibrary* library() const { return nullptr; }
};

/// Opens a library with the C interface of ONNX Runtime, or OpenVINO's C library: that one computes in float32 where the
/// model does, and in a precision of its own choice where ":default" follows its name.
std::unique_ptr<Side> open_side(const std::string& library);

}  // namespace retort::cli
