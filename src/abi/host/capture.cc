// Captured runs of plug-ins.
#include "abi/host/instance.h"
#include "ep/run_capture.h"

namespace retort::abi {
namespace {

constexpr uint32_t kSince = 26, kReleaseSince = 27;

class PluginCapture : public RunCapture {
 public:
  explicit PluginCapture(std::shared_ptr<const Instance> provider) : provider_(std::move(provider)) {}

  bool allows_shapes_on_cpu() const override {
    const auto ask = ep().GetGraphCaptureNodeAssignmentPolicy;
    return ask && provider_->call("GetGraphCaptureNodeAssignmentPolicy", ask) ==
                      OrtGraphCaptureNodeAssignmentPolicy_ALLOW_CPU_FOR_SHAPES;
  }
  bool has(int id) const override { return provider_->call("IsGraphCaptured", ep().IsGraphCaptured, id); }
  void replay(int id) override { provider_->call("ReplayGraph", ep().ReplayGraph, id); }
  void release(int id) override {
    const auto forget = ep().ReleaseCapturedGraph;
    if (provider_->since(kReleaseSince) && forget) provider_->call("ReleaseCapturedGraph", forget, id);
  }

 private:
  OrtEp& ep() const { return provider_->ep(); }
  const std::shared_ptr<const Instance> provider_;
};

}  // namespace

std::unique_ptr<RunCapture> plugin_capture(std::shared_ptr<const Instance> provider) {
  const OrtEp& ep = provider->ep();
  const auto enabled = ep.IsGraphCaptureEnabled;
  if (!provider->since(kSince) || !enabled || !provider->call("IsGraphCaptureEnabled", enabled)) return nullptr;
  if (!ep.IsGraphCaptured || !ep.ReplayGraph) {
    provider->logger.logger.warn("{} declares that it captures runs, but has no {}; its runs are not captured",
                                 provider->plugin->who(), ep.IsGraphCaptured ? "ReplayGraph" : "IsGraphCaptured");
    return nullptr;
  }
  return std::make_unique<PluginCapture>(std::move(provider));
}

}  // namespace retort::abi
