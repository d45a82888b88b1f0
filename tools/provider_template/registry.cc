#include "registry.h"

namespace sample_provider {
namespace {

/// The description of a kernel: a builder that is filled, built (the registry copies that) and released.
class Definition {
 public:
  explicit Definition(const Host& host) : host_(host) { check(host, host.ep->CreateKernelDefBuilder(&builder_)); }
  ~Definition() {
    host_.ep->ReleaseKernelDef(built_);
    host_.ep->ReleaseKernelDefBuilder(builder_);
  }
  Definition(const Definition&) = delete;

  const OrtKernelDef* build(const KernelSpec& spec) {
    std::vector<const OrtDataType*> elements;
    for (const auto e : spec.elements) check(host_, host_.ep->GetTensorDataType(e, &elements.emplace_back()));
    check(host_, host_.ep->KernelDefBuilder_SetOperatorType(builder_, spec.type.c_str()));
    check(host_, host_.ep->KernelDefBuilder_SetDomain(builder_, ""));
    check(host_, host_.ep->KernelDefBuilder_SetSinceVersion(builder_, spec.since, spec.until));
    check(host_, host_.ep->KernelDefBuilder_SetExecutionProvider(builder_, kName));
    check(host_, host_.ep->KernelDefBuilder_AddTypeConstraint(builder_, "T", elements.data(), elements.size()));
    if (spec.on_host == Side::input)
      check(host_, host_.ep->KernelDefBuilder_SetInputMemType(builder_, 0, OrtMemTypeCPUInput));
    if (spec.on_host == Side::output)
      check(host_, host_.ep->KernelDefBuilder_SetOutputMemType(builder_, 0, OrtMemTypeCPUOutput));
    check(host_, host_.ep->KernelDefBuilder_Build(builder_, &built_));
    return built_;
  }

 private:
  const Host& host_;
  OrtKernelDefBuilder* builder_ = nullptr;
  OrtKernelDef* built_ = nullptr;
};

}  // namespace

void add_kernel(const Host& host, OrtKernelRegistry* registry, const KernelSpec& spec, OrtKernelCreateFunc create) {
  Definition definition(host);
  check(host, host.ep->KernelRegistry_AddKernel(registry, definition.build(spec), create, const_cast<Host*>(&host)));
}

}  // namespace sample_provider
