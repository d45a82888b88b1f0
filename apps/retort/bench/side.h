// One side of a comparison: an engine with a model, whatever interface the engine has.
#pragma once
#include "engine/engine.h"

namespace retort::cli {

/// An engine that loads a model and runs it on inputs that are used in place. Every function throws Failure.
class Side {
 public:
  virtual ~Side() = default;
  /// For example "Retort 0.1.0" or "OpenVINO 2026.4.1 f32".
  virtual std::string name() const = 0;
  /// Replaces the model that was loaded before.
  virtual void load(const std::string& model, const SessionSettings& settings) = 0;
  /// `inputs` must outlive the next load; tensors of numbers are not copied.
  virtual void bind(HostValues& inputs) = 0;
  virtual void run() = 0;
  /// Call it before bind(): runs become steps of a decoder (decode_run.h), and restart() returns to the first. Throws
  /// if the engine does not support this.
  virtual void hand_back() { throw Failure("--hand-back is for engines with the C interface of ONNX Runtime"); }
  virtual void restart() {}
  /// Call it after a run: the next runs write to the same outputs, for engines that need a call for this.
  virtual void keep_outputs() {}
  /// The given outputs of the last run.
  virtual HostValues values(const std::vector<std::string>& outputs) const = 0;
  /// The engine's C interface if it is that of ONNX Runtime; otherwise null.
  virtual const EngineLibrary* library() const { return nullptr; }
};

/// Opens a library with the C interface of ONNX Runtime, or OpenVINO's C library. The latter computes in float32 if the
/// model does, and in a precision of its own choice if ":default" follows the library's name.
std::unique_ptr<Side> open_side(const std::string& library);

}  // namespace retort::cli
