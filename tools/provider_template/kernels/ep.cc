// Nodes run one by one, each by a kernel that the host looks up in the provider's registry.
#include "ep.h"

#include "graph.h"
#include "operators.h"
#include "registry.h"

namespace sample_provider {
namespace {

/// One node. It lives as long as the session; runs may call it in several threads at once.
class Kernel : public OrtKernelImpl {
 public:
  Kernel(const Host& host, const OrtKernelInfo* info) : OrtKernelImpl{}, host_(host) {
    size_t size = 0;
    host.api->ReleaseStatus(host.api->KernelInfo_GetOperatorType(info, nullptr, &size));  // the size, as an error
    type_.resize(size);
    check(host, host.api->KernelInfo_GetOperatorType(info, type_.data(), &size));
    type_ = type_.c_str();  // the size counts the zero at the end
    ort_version_supported = ORT_API_VERSION;
    OrtKernelImpl::Release = [](OrtKernelImpl* k) noexcept { delete static_cast<Kernel*>(k); };
    OrtKernelImpl::Compute = [](OrtKernelImpl* k, OrtKernelContext* context) noexcept {
      const Kernel& self = *static_cast<Kernel*>(k);
      return entry(self.host_, [&] { self.run(context); });
    };
  }

 private:
  void run(OrtKernelContext* context) const {
    const Operator& op = operators().at(type_);
    std::vector<Tensor> in;
    for (size_t i = 0; i < op.inputs; ++i) in.push_back(input_of(host_, context, i));
    op.compute(in, output_of(host_, context, 0, result_shape(type_, in)));
  }

  const Host host_;
  std::string type_;
};

void claim(const Ep& ep, const OrtGraph* graph, OrtEpGraphSupportInfo* info) {
  if (is_body(ep.host, graph)) return;
  for (const OrtNode* node : nodes_of(ep.host, graph)) {
    if (!ep.takes(node)) continue;
    const OrtKernelDef* found = nullptr;  // is there a kernel for these types and this version?
    check(ep.host, ep.host.ep->EpGraphSupportInfo_LookUpKernel(info, node, &found));
    if (found) check(ep.host, ep.host.ep->EpGraphSupportInfo_AddSingleNode(info, node));
  }
}

}  // namespace

void Ep::add_kernels() {
  for (const auto& [type, op] : operators())
    add_kernel(host, registry_, {type, op.since, op.until, {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT}},
               create_kernel<Kernel>);
}

void Ep::set_functions() {
  GetCapability = [](OrtEp* ep, const OrtGraph* graph, OrtEpGraphSupportInfo* info) noexcept {
    const Ep& self = *static_cast<Ep*>(ep);
    return entry(self.host, [&] { claim(self, graph, info); });
  };
}

}  // namespace sample_provider
