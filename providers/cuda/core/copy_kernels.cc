#include "copy_kernels.h"

#include "common/graph.h"
#include "transfer.h"

namespace providers::cuda {
namespace {

/// Copies its input to its output. The definition of the kernel says which of them lies on the host.
struct CopyKernel : OrtKernelImpl {
  const CopyState& state;
  explicit CopyKernel(const CopyState& s) : OrtKernelImpl{}, state(s) {
    ort_version_supported = ORT_API_VERSION;
    OrtKernelImpl::Release = [](OrtKernelImpl* k) noexcept { delete static_cast<CopyKernel*>(k); };
    OrtKernelImpl::Compute = [](OrtKernelImpl* k, OrtKernelContext* context) noexcept {
      return entry([&] { static_cast<CopyKernel*>(k)->run(context); });
    };
  }

  void run(OrtKernelContext* context) const {
    if (state.captures)
      state.captures->refuse_copy(
          "a run that is captured as a CUDA graph copies a value between host and device, since some nodes run "
          "elsewhere; turn enable_cuda_graph off for this model");
    const OrtValue* from = nullptr;
    OrtValue* to = nullptr;
    void* stream = nullptr;
    cuda::check(api().KernelContext_GetInput(context, 0, &from));
    const TensorView view = view_of(from);
    cuda::check(api().KernelContext_GetOutput(context, 0, view.dims.data(), view.dims.size(), &to));
    cuda::check(api().KernelContext_GetGPUComputeStream(context, &stream));
    copy_tensor(from, to, {state.device, static_cast<CUstream>(stream)});
  }
};

OrtStatus* make_kernel(void* state, const OrtKernelInfo*, OrtKernelImpl** made) {
  return entry([&] { *made = new CopyKernel(*static_cast<const CopyState*>(state)); });
}

void add(OrtKernelRegistry* registry, const char* type, bool to_host, const CopyState* state) {
  OrtKernelDefBuilder* raw = nullptr;
  check(ep_api().CreateKernelDefBuilder(&raw));
  const Owned<OrtKernelDefBuilder> builder(raw, ep_api().ReleaseKernelDefBuilder);
  check(ep_api().KernelDefBuilder_SetOperatorType(raw, type));
  check(ep_api().KernelDefBuilder_SetDomain(raw, ""));
  check(ep_api().KernelDefBuilder_SetSinceVersion(raw, 1, 1 << 30));
  check(ep_api().KernelDefBuilder_SetExecutionProvider(raw, kName));
  check(to_host ? ep_api().KernelDefBuilder_SetOutputMemType(raw, 0, OrtMemTypeCPUOutput)
                : ep_api().KernelDefBuilder_SetInputMemType(raw, 0, OrtMemTypeCPUInput));
  std::vector<const OrtDataType*> types;
  for (const auto element :
       {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16, ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8, ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64, ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16, ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL})
    check(ep_api().GetTensorDataType(element, &types.emplace_back()));
  check(ep_api().KernelDefBuilder_AddTypeConstraint(raw, "T", types.data(), types.size()));
  OrtKernelDef* made = nullptr;
  check(ep_api().KernelDefBuilder_Build(raw, &made));
  const Owned<OrtKernelDef> definition(made, ep_api().ReleaseKernelDef);
  check(ep_api().KernelRegistry_AddKernel(registry, made, make_kernel, const_cast<CopyState*>(state)));
}

}  // namespace

OrtKernelRegistry* make_copy_kernels(const CopyState* state) {
  OrtKernelRegistry* raw = nullptr;
  check(ep_api().CreateKernelRegistry(&raw));
  Owned<OrtKernelRegistry> registry(raw, ep_api().ReleaseKernelRegistry);
  add(raw, "MemcpyToHost", true, state);
  add(raw, "MemcpyFromHost", false, state);
  return registry.release();
}

}  // namespace providers::cuda
