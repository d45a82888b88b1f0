#include "kernels.h"

#include <cstring>
#include <memory>
#include <vector>

#include "control_flow.h"
#include "device.h"
#include "memory.h"
#include "part.h"

namespace loopback {
namespace {

/// Reads a string that a function of the host writes to a buffer, in two calls: the first returns the size.
template <typename Ask>
std::string asked(const Host& host, Ask&& ask) {
  size_t size = 0;
  host.api->ReleaseStatus(ask(nullptr, &size));
  std::string text(size, '\0');
  check(host, ask(text.data(), &size));
  text.resize(std::strlen(text.c_str()));
  return text;
}

/// Copies its input to its output. The definition of the kernel says which of them lies on the host.
struct Memcpy : OrtKernelImpl {
  const Host host;
  explicit Memcpy(const Host& host) : OrtKernelImpl{}, host(host) {
    ort_version_supported = ORT_API_VERSION;
    OrtKernelImpl::Release = [](OrtKernelImpl* k) noexcept { delete static_cast<Memcpy*>(k); };
    OrtKernelImpl::Compute = [](OrtKernelImpl* k, OrtKernelContext* context) noexcept {
      const Host& host = static_cast<Memcpy*>(k)->host;
      return entry(host, "Memcpy", [&] {
        const OrtValue* from = nullptr;
        OrtValue* to = nullptr;
        check(host, host.api->KernelContext_GetInput(context, 0, &from));
        const Tensor t = tensor_of(host, from);
        check(host, host.api->KernelContext_GetOutput(context, 0, t.shape.data(), t.shape.size(), &to));
        copy_tensor(host, from, to, Stream::of(host, context));
      });
    };
  }
};

/// One node. Constant second operands of MatMul and Gemm are packed when the session is made (PrePackWeight): this
/// kernel keeps its own copy, as a kernel with another layout would, and the host frees the original.
class Kernel : public OrtKernelImpl {
 public:
  Kernel(const KernelState& state, const OrtKernelInfo* info)
      : OrtKernelImpl{},
        host_(state.host),
        device_(Device::get(state.device)),
        operation_(std::make_shared<Operation>()) {
    read(info);
    ort_version_supported = ORT_API_VERSION;
    OrtKernelImpl::Release = [](OrtKernelImpl* k) noexcept { delete static_cast<Kernel*>(k); };
    OrtKernelImpl::Compute = [](OrtKernelImpl* k, OrtKernelContext* context) noexcept {
      auto& self = *static_cast<Kernel*>(k);
      return entry(self.host_, "Compute", [&] { self.run(context); });
    };
    OrtKernelImpl::PrePackWeight = [](OrtKernelImpl* k, const OrtValue* weight, int input, OrtAllocator* allocator,
                                      OrtSharedPrePackedWeightCache* cache, bool* packed) noexcept {
      auto& self = *static_cast<Kernel*>(k);
      return entry(self.host_, "PrePackWeight", [&] { *packed = self.pack(weight, size_t(input), allocator, cache); });
    };
    OrtKernelImpl::SetSharedPrePackedWeight = [](OrtKernelImpl* k, const void* const* buffers, const size_t*,
                                                 size_t count, int) noexcept {
      auto& self = *static_cast<Kernel*>(k);
      return entry(self.host_, "SetSharedPrePackedWeight", [&] {
        if (count != 1) throw Error("a packed weight has one buffer");
        self.packed_.data = const_cast<void*>(buffers[0]);
        self.has_packed_ = true;
      });
    };
  }

 private:
  void read(const OrtKernelInfo* info) {
    const OrtApi& api = *host_.api;
    operation_->type = asked(host_, [&](char* to, size_t* n) { return api.KernelInfo_GetOperatorType(info, to, n); });
    if (asked(host_, [&](char* to, size_t* n) { return api.KernelInfo_GetOperatorDomain(info, to, n); }) ==
        kChannelsLastDomain)
      operation_->type = kChannelsLast + operation_->type;
    for (const char* name : {"transA", "transB", "axis", "keepdims", "allowzero", "noop_with_empty_axes"}) {
      int64_t value = 0;
      if (OrtStatus* missing = api.KernelInfoGetAttribute_int64(info, name, &value))
        api.ReleaseStatus(missing);
      else
        operation_->numbers[name] = double(value);
    }
    for (const char* name : {"alpha", "beta"}) {
      float value = 0;
      if (OrtStatus* missing = api.KernelInfoGetAttribute_float(info, name, &value))
        api.ReleaseStatus(missing);
      else
        operation_->numbers[name] = double(value);
    }
    const size_t input = operator_of(operation_->type).constant_input;
    int constant = 0;
    const OrtValue* value = nullptr;
    size_t inputs = 0;
    check(host_, api.KernelInfo_GetInputCount(info, &inputs));
    for (size_t i = 0; i < inputs; ++i) {
      check(host_, api.KernelInfoGetConstantInput_tensor(info, i, &constant, &value));
      if (constant && (!value || tensor_of(host_, value).type == ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED))
        throw Error("the host calls input " + std::to_string(i) + " of " + operation_->type +
                    " constant, but has no value for it");
    }
    if (!input || input >= inputs) return;
    check(host_, api.KernelInfoGetConstantInput_tensor(info, input, &constant, &value));
    if (!constant || !value)
      throw Error("input " + std::to_string(input) + " of " + operation_->type + " is not a constant");
    const Tensor t = tensor_of(host_, value);
    const auto* data = static_cast<const int64_t*>(t.data);
    operation_->constants[input].assign(data, data + t.elements());
  }

  bool pack(const OrtValue* weight, size_t input, OrtAllocator* allocator, OrtSharedPrePackedWeightCache* cache) {
    const bool wanted = input == 1 && (operation_->type == "MatMul" || operation_->type == "Gemm");
    if (!wanted) return false;
    size_t size = bytes_of(host_, weight);
    void* memory = allocator->Alloc(allocator, size);
    if (!memory) throw Error("no " + std::to_string(size) + " bytes for a packed weight");
    packed_ = tensor_of(host_, weight);
    const Place from{device_of(host_, weight) < 0 ? nullptr : &device_, packed_.data}, to{&device_, memory};
    count_copy(from, to, size);
    copy(from, to, size, 0);
    if (cache) {  // shared by all sessions: it takes the memory, and calls SetSharedPrePackedWeight with the one to use
      check(host_, host_.ep->SharedPrePackedWeightCache_StoreWeightData(cache, &memory, &size, 1));
    } else {
      memory_ = {memory, [allocator](void* p) { allocator->Free(allocator, p); }};
      packed_.data = memory;
      has_packed_ = true;
    }
    return true;
  }

  void run(OrtKernelContext* context) {
    Control::get().count(kRuns);
    Stream* const stream = Stream::of(host_, context);
    const Operator& kind = operator_of(operation_->type);
    size_t inputs = 0;
    check(host_, host_.api->KernelContext_GetInputCount(context, &inputs));
    std::vector<Tensor> in;
    for (size_t i = 0; i < inputs; ++i) {
      const OrtValue* value = nullptr;
      if (kind.constant_input && i == kind.constant_input) continue;
      if (i == 1 && has_packed_) {  // the host has freed this input
        in.push_back(packed_);
        continue;
      }
      check(host_, host_.api->KernelContext_GetInput(context, i, &value));
      in.push_back(tensor_of(host_, value));
    }
    Tensor out = result_of(device_, stream, *operation_, in);
    OrtValue* value = nullptr;
    check(host_, host_.api->KernelContext_GetOutput(context, 0, out.shape.data(), out.shape.size(), &value));
    out.data = tensor_of(host_, value).data;
    launch(device_, stream, *operation_, std::move(in), out, {operation_, memory_});
  }

  const Host host_;
  Device& device_;
  const std::shared_ptr<Operation> operation_;
  Tensor packed_;
  bool has_packed_ = false;
  std::shared_ptr<void> memory_;  // of the packed weight, if it is this kernel's own
};

OrtStatus* make_memcpy(void* state, const OrtKernelInfo*, OrtKernelImpl** made) {
  const Host& host = static_cast<const KernelState*>(state)->host;
  return entry(host, "CreateKernel", [&] { *made = new Memcpy(host); });
}
OrtStatus* make_kernel(void* state, const OrtKernelInfo* info, OrtKernelImpl** made) {
  const auto& kernels = *static_cast<const KernelState*>(state);
  return entry(kernels.host, "CreateKernel", [&] { *made = new Kernel(kernels, info); });
}

/// Describes a kernel: the builder is filled, built, registered (the registry copies) and released.
class Definition {
 public:
  Definition(const Host& host, const char* provider, const char* type, int since, int until, const char* domain = "")
      : host_(host) {
    check(host, host.ep->CreateKernelDefBuilder(&builder_));
    check(host, host.ep->KernelDefBuilder_SetOperatorType(builder_, type));
    check(host, host.ep->KernelDefBuilder_SetDomain(builder_, domain));
    check(host, host.ep->KernelDefBuilder_SetSinceVersion(builder_, since, until));
    check(host, host.ep->KernelDefBuilder_SetExecutionProvider(builder_, provider));
  }
  ~Definition() {
    host_.ep->ReleaseKernelDef(built_);
    host_.ep->ReleaseKernelDefBuilder(builder_);
  }
  Definition(const Definition&) = delete;
  OrtKernelDefBuilder* builder() { return builder_; }
  void types(const char* parameter, const std::vector<ONNXTensorElementDataType>& elements) {
    std::vector<const OrtDataType*> all;
    for (const auto e : elements) check(host_, host_.ep->GetTensorDataType(e, &all.emplace_back()));
    check(host_, host_.ep->KernelDefBuilder_AddTypeConstraint(builder_, parameter, all.data(), all.size()));
  }
  void add_to(OrtKernelRegistry* registry, OrtKernelCreateFunc create, const KernelState* state) {
    check(host_, host_.ep->KernelDefBuilder_Build(builder_, &built_));
    check(host_, host_.ep->KernelRegistry_AddKernel(registry, built_, create, const_cast<KernelState*>(state)));
  }

 private:
  const Host host_;
  OrtKernelDefBuilder* builder_ = nullptr;
  OrtKernelDef* built_ = nullptr;
};

constexpr int kOpen = 1 << 30;

const std::vector<ONNXTensorElementDataType>& all_types() {
  static const std::vector<ONNXTensorElementDataType> all{
      ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE,  ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64,
      ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8,
      ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL};
  return all;
}

void add_copies(const Host& host, const char* provider, const KernelState* state, OrtKernelRegistry* registry) {
  for (const bool to_host : {false, true}) {
    Definition copies(host, provider, to_host ? "MemcpyToHost" : "MemcpyFromHost", 1, kOpen);
    copies.types("T", all_types());
    check(host, to_host ? host.ep->KernelDefBuilder_SetOutputMemType(copies.builder(), 0, OrtMemTypeCPUOutput)
                        : host.ep->KernelDefBuilder_SetInputMemType(copies.builder(), 0, OrtMemTypeCPUInput));
    copies.add_to(registry, make_memcpy, state);
  }
}

void add_control_flow(const Host& host, const char* provider, const KernelState* state, OrtKernelRegistry* registry) {
  for (const auto& [type, flow] : control_flow()) {
    Definition kernel(host, provider, type.c_str(), flow.since, kOpen);
    for (const std::string& parameter : flow.types) kernel.types(parameter.c_str(), all_types());
    for (const size_t input : flow.host_inputs)
      check(host, host.ep->KernelDefBuilder_SetInputMemType(kernel.builder(), input, OrtMemTypeCPUInput));
    kernel.add_to(registry, flow.create, state);
  }
}

}  // namespace

OrtKernelRegistry* make_registry(const Host& host, const char* provider, const KernelState* state, bool all) {
  OrtKernelRegistry* registry = nullptr;
  check(host, host.ep->CreateKernelRegistry(&registry));
  try {
    add_copies(host, provider, state, registry);
    if (all) add_control_flow(host, provider, state, registry);
    for (const auto& [name, op] : operators()) {
      if (!all) break;
      const bool last = name.rfind(kChannelsLast, 0) == 0;
      const std::string type = last ? name.substr(kChannelsLast.size()) : name;
      Definition kernel(host, provider, type.c_str(), op.since, op.until, last ? kChannelsLastDomain.c_str() : "");
      kernel.types(type == "Identity" ? "V" : "T", {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT});
      // The host reads it when the kernel is made.
      if (op.constant_input)
        check(host, host.ep->KernelDefBuilder_SetInputMemType(kernel.builder(), op.constant_input, OrtMemTypeCPUInput));
      kernel.add_to(registry, make_kernel, state);
    }
  } catch (...) {
    host.ep->ReleaseKernelRegistry(registry);
    throw;
  }
  return registry;
}

}  // namespace loopback
