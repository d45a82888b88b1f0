// Tensors lie in memory of the device. Here that is ordinary memory under another name; a real device has its own
// functions in place of the three below. They do their work before they return: streams come later
// (docs/write_a_provider.md of Retort).
#include "memory.h"

#include <cstdlib>
#include <cstring>

#include "registry.h"

namespace sample_provider {
namespace {

void* device_allocate(size_t bytes) { return std::malloc(bytes ? bytes : 1); }
void device_release(void* p) { std::free(p); }
/// Either side may be the host's.
void device_copy(void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); }

constexpr uint32_t kVendor = 0x5a3e;  // take yours, of PCI: memory is known by its kind, vendor and number
constexpr int kDevice = 0;

bool is_ours(const Host& host, const OrtMemoryDevice* where) {
  return host.ep->MemoryDevice_GetDeviceType(where) == OrtMemoryInfoDeviceType_GPU &&
         host.ep->MemoryDevice_GetVendorId(where) == kVendor;
}

struct Allocator : OrtAllocator {
  const OrtMemoryInfo* info;

  explicit Allocator(const OrtMemoryInfo* info) : OrtAllocator{}, info(info) {
    version = ORT_API_VERSION;
    // The function returns no status: null means that the allocation failed.
    Alloc = [](OrtAllocator*, size_t size) -> void* { return device_allocate(size); };
    Reserve = Alloc;
    Free = [](OrtAllocator*, void* p) { device_release(p); };
    Info = [](const OrtAllocator* a) { return static_cast<const Allocator*>(a)->info; };
  }
};

void copy_tensor(const Host& host, const OrtValue* from, OrtValue* to) {
  size_t bytes = 0, room = 0;
  const void* source = nullptr;
  void* target = nullptr;
  check(host, host.api->GetTensorSizeInBytes(from, &bytes));
  check(host, host.api->GetTensorSizeInBytes(to, &room));
  if (room < bytes) throw Error("a tensor is copied into a smaller one", ORT_INVALID_ARGUMENT);
  check(host, host.api->GetTensorData(from, &source));
  check(host, host.api->GetTensorMutableData(to, &target));
  device_copy(target, source, bytes);
}

struct Transfer : OrtDataTransferImpl {
  const Host host;

  explicit Transfer(const Host& host) : OrtDataTransferImpl{}, host(host) {
    ort_version_supported = ORT_API_VERSION;
    OrtDataTransferImpl::Release = [](OrtDataTransferImpl* t) noexcept { delete static_cast<Transfer*>(t); };
    CanCopy = [](const OrtDataTransferImpl* t, const OrtMemoryDevice* from, const OrtMemoryDevice* to) noexcept {
      const Host& host = static_cast<const Transfer*>(t)->host;
      const auto known = [&](const OrtMemoryDevice* d) {
        return is_ours(host, d) || host.ep->MemoryDevice_GetDeviceType(d) == OrtMemoryInfoDeviceType_CPU;
      };
      // From host to host is not for us.
      return (is_ours(host, from) || is_ours(host, to)) && known(from) && known(to);
    };
    CopyTensors = [](OrtDataTransferImpl* t, const OrtValue** from, OrtValue** to, OrtSyncStream**,
                     size_t count) noexcept {
      const Host& host = static_cast<Transfer*>(t)->host;
      return entry(host, [&] {
        for (size_t i = 0; i < count; ++i) copy_tensor(host, from[i], to[i]);
      });
    };
  }
};

/// Copies its input to its output; which of them lies on the host, the description of the kernel says.
struct CopyKernel : OrtKernelImpl {
  const Host host;

  CopyKernel(const Host& host, const OrtKernelInfo*) : OrtKernelImpl{}, host(host) {
    ort_version_supported = ORT_API_VERSION;
    OrtKernelImpl::Release = [](OrtKernelImpl* k) noexcept { delete static_cast<CopyKernel*>(k); };
    OrtKernelImpl::Compute = [](OrtKernelImpl* k, OrtKernelContext* context) noexcept {
      const Host& host = static_cast<CopyKernel*>(k)->host;
      return entry(host, [&] {
        const OrtValue* from = nullptr;
        OrtValue* to = nullptr;
        check(host, host.api->KernelContext_GetInput(context, 0, &from));
        const Tensor t = tensor_of(host, from);
        check(host, host.api->KernelContext_GetOutput(context, 0, t.shape.data(), t.shape.size(), &to));
        copy_tensor(host, from, to);
      });
    };
  }
};

}  // namespace

Memory::Memory(const Host& host) : host_(host) {
  check(host, host.api->CreateMemoryInfo_V2("SampleProvider", OrtMemoryInfoDeviceType_GPU, kVendor, kDevice,
                                            OrtDeviceMemoryType_DEFAULT, 0, OrtDeviceAllocator, &info_));
}
Memory::~Memory() { host_.api->ReleaseMemoryInfo(info_); }
void Memory::describe(OrtEpDevice* device) const { check(host_, host_.ep->EpDevice_AddAllocatorInfo(device, info_)); }
OrtAllocator* Memory::make_allocator() const { return new Allocator(info_); }
void Memory::release(OrtAllocator* allocator) { delete static_cast<Allocator*>(allocator); }
OrtDataTransferImpl* Memory::make_transfer() const { return new Transfer(host_); }

std::shared_ptr<float> scratch(size_t elements) {
  void* const memory = device_allocate(elements * sizeof(float));
  if (!memory) throw Error("the device has no " + std::to_string(elements * sizeof(float)) + " bytes left");
  return {static_cast<float*>(memory), device_release};
}

void add_copies(const Host& host, OrtKernelRegistry* registry) {
  const std::vector<ONNXTensorElementDataType> all{
      // add those that cross the border in your models
      ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16,
      ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32,  ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8,
      ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL};
  constexpr int kAlways = 1 << 30;
  add_kernel(host, registry, {"MemcpyFromHost", 1, kAlways, all, Side::input}, create_kernel<CopyKernel>);
  add_kernel(host, registry, {"MemcpyToHost", 1, kAlways, all, Side::output}, create_kernel<CopyKernel>);
}

}  // namespace sample_provider
