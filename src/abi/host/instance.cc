#include "abi/host/instance.h"

#include "abi/host/kernel_def.h"

namespace retort::abi {

Instance::Instance(std::shared_ptr<Plugin> p, const std::vector<const ProviderDevice*>& devices,
                   const std::vector<const OrtHardwareDevice*>& hardware,
                   const std::map<std::string, std::string>& config, const Logger& log)
    : plugin(std::move(p)), logger(log) {
  OrtEpFactory& factory = plugin->factory();
  std::vector<std::unique_ptr<OrtKeyValuePairs>> metadata;
  std::vector<const OrtKeyValuePairs*> pointers;
  for (const ProviderDevice* d : devices)
    pointers.push_back(metadata.emplace_back(std::make_unique<OrtKeyValuePairs>(d->metadata)).get());
  options.options.config = config;
  plugin->call("CreateEp", factory.CreateEp, &factory, hardware.data(), pointers.data(), devices.size(), &options,
               &logger, &made_);
  require(made_ != nullptr, ErrorCode::ep_fail, "{} made nothing", plugin->who());
  ++plugin->in_use;
  try {
    require(made_->GetCapability != nullptr, ErrorCode::ep_fail, "{} has no GetCapability", plugin->who());
    if (since(24) && made_->GetKernelRegistry) call("GetKernelRegistry", made_->GetKernelRegistry, &kernels);
    require(made_->Compile || kernels, ErrorCode::ep_fail, "{} neither compiles parts of models nor has kernels",
            plugin->who());
    if (kernels) handle(kernels, "GetKernelRegistry()");
  } catch (...) {
    factory.ReleaseEp(&factory, made_);
    --plugin->in_use;
    throw;
  }
}

Instance::~Instance() {
  plugin->factory().ReleaseEp(&plugin->factory(), made_);
  --plugin->in_use;
}

}  // namespace retort::abi
