// Retort, ONNX Runtime and whatever else has that C interface, as a side of a measurement.
#include <dlfcn.h>

#include "bench/decode_run.h"
#include "bench/openvino_side.h"

namespace retort::cli {
namespace {

class OrtSide : public Side {
 public:
  explicit OrtSide(const std::string& library) : engine_(library) {}
  std::string name() const override { return engine_.name(); }
  void load(const std::string& model, const SessionSettings& settings) override {
    bound_.reset();
    steps_.reset();
    session_.reset();
    session_ = std::make_unique<EngineSession>(engine_, model, settings);
  }
  void hand_back() override { decodes_ = true; }
  void bind(HostValues& inputs) override {
    if (decodes_)
      steps_ = std::make_unique<DecodeRun>(*session_, inputs);
    else
      bound_ = std::make_unique<BoundRun>(*session_, inputs);
  }
  void run() override { steps_ ? steps_->run() : bound_->run(); }
  void restart() override {
    if (steps_) steps_->restart();
  }
  void keep_outputs() override {
    if (bound_) bound_->keep_outputs();
  }
  HostValues values(const std::vector<std::string>&) const override {
    return steps_ ? steps_->values() : bound_->values();
  }
  const EngineLibrary* library() const override { return &engine_; }

 private:
  EngineLibrary engine_;
  std::unique_ptr<EngineSession> session_;
  std::unique_ptr<BoundRun> bound_;
  std::unique_ptr<DecodeRun> steps_;  ///< in its place
  bool decodes_ = false;
};

}  // namespace

std::unique_ptr<Side> open_side(const std::string& library) {
  const std::string suffix = ":default";
  const bool has_mode = library.ends_with(suffix);
  const std::string file = library.substr(0, library.size() - (has_mode ? suffix.size() : 0));
  void* opened = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);  // never closed: engines keep threads
  if (opened && dlsym(opened, "ov_core_create")) return openvino_side(opened, file, has_mode);
  if (opened && has_mode)
    throw Failure("'" + library + "' ends in " + suffix + ", which is a mode of OpenVINO's C library, and " + file +
                  " has no ov_core_create: it is another engine; leave " + suffix + " out");
  return std::make_unique<OrtSide>(file);
}

}  // namespace retort::cli
