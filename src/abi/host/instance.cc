#include "abi/host/instance.h"

#include "abi/host/kernel_def.h"
#include "abi/host/weightless.h"

namespace retort::abi {

Instance::Instance(std::shared_ptr<Plugin> p, const ProviderSpec& spec, const Logger& log)
    : plugin(std::move(p)), logger(log) {
  OrtEpFactory& factory = plugin->factory();
  std::vector<std::unique_ptr<OrtKeyValuePairs>> metadata;
  std::vector<const OrtKeyValuePairs*> pointers;
  for (const ProviderDevice* d : spec.devices)
    pointers.push_back(metadata.emplace_back(std::make_unique<OrtKeyValuePairs>(d->metadata)).get());
  check_weightless_devices(*plugin, spec.devices, spec.config);
  options.options.config = spec.config;
  decide_weightless(options.options.config);
  if (spec.caller) options.ep_context = spec.caller->ep_context;
  plugin->call("CreateEp", factory.CreateEp, &factory, spec.hardware.data(), pointers.data(), spec.devices.size(),
               &options, &logger, &made_);
  require(made_ != nullptr, ErrorCode::ep_fail, "{} made nothing", plugin->who());
  ++plugin->in_use;
  try {
    if (since(24) && made_->GetKernelRegistry) call("GetKernelRegistry", made_->GetKernelRegistry, &kernels);
    check();
  } catch (...) {
    plugin->give_back("ReleaseEp", factory.ReleaseEp, &factory, made_);
    --plugin->in_use;
    throw;
  }
}

void Instance::check_compiles() const {
  std::call_once(checked_compiles_, [&] { check_weightless_provider(*this); });
}

void Instance::check() const {
  require(made_->GetCapability != nullptr, ErrorCode::ep_fail, "{} has no GetCapability", plugin->who());
  require(made_->Compile || kernels, ErrorCode::ep_fail, "{} neither compiles parts of models nor has kernels",
          plugin->who());
  if (kernels) handle(kernels, "GetKernelRegistry()");
  constexpr uint32_t kReads = 1, kWrites = 2;
  uint32_t does = 0;
  if (since(31) && made_->GetEpContextDataCallbackSupport)
    call("GetEpContextDataCallbackSupport", made_->GetEpContextDataCallbackSupport, &does);
  require((does & ~(kReads | kWrites)) == 0, ErrorCode::ep_fail,
          "{} set flags {:#x} for the data of EPContext nodes; flags {:#x} do not exist", plugin->who(), does,
          does & ~(kReads | kWrites));
  require(
      !options.ep_context.read || (does & kReads), ErrorCode::ep_fail,
      "{} does not read the data of EPContext nodes by a function; leave SessionOptionsSetEpContextDataReadFunc out",
      plugin->who());
  require(!options.ep_context.write || (does & kWrites), ErrorCode::ep_fail,
          "{} does not write the data of EPContext nodes by a function; leave "
          "ModelCompilationOptions_SetEpContextDataWriteFunc out",
          plugin->who());
}

Instance::~Instance() {
  plugin->give_back("ReleaseEp", plugin->factory().ReleaseEp, &plugin->factory(), made_);
  --plugin->in_use;
}

}  // namespace retort::abi
