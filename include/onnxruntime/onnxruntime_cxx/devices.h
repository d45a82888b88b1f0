// Part of onnxruntime_cxx_api.h: hardware devices, and what execution providers offer for them.
#pragma once
#include "memory.h"

namespace Ort {

namespace detail {
template <typename T>
struct HardwareDeviceImpl : Ort::detail::Base<T> {
  using B = Ort::detail::Base<T>;
  using B::B;

  OrtHardwareDeviceType Type() const { return GetApi().HardwareDevice_Type(this->p_); }
  uint32_t VendorId() const { return GetApi().HardwareDevice_VendorId(this->p_); }
  uint32_t DeviceId() const { return GetApi().HardwareDevice_DeviceId(this->p_); }
  const char* Vendor() const { return GetApi().HardwareDevice_Vendor(this->p_); }
  ConstKeyValuePairs Metadata() const { return ConstKeyValuePairs{GetApi().HardwareDevice_Metadata(this->p_)}; }
};
}  // namespace detail

using ConstHardwareDevice = detail::HardwareDeviceImpl<Ort::detail::Unowned<const OrtHardwareDevice>>;

namespace detail {
template <typename T>
struct EpDeviceImpl : Ort::detail::Base<T> {
  using B = Ort::detail::Base<T>;
  using B::B;

  const char* EpName() const { return GetApi().EpDevice_EpName(this->p_); }
  const char* EpVendor() const { return GetApi().EpDevice_EpVendor(this->p_); }
  ConstKeyValuePairs EpMetadata() const { return ConstKeyValuePairs(GetApi().EpDevice_EpMetadata(this->p_)); }
  ConstKeyValuePairs EpOptions() const { return ConstKeyValuePairs(GetApi().EpDevice_EpOptions(this->p_)); }
  ConstHardwareDevice Device() const { return ConstHardwareDevice(GetApi().EpDevice_Device(this->p_)); }
  // Empty if the provider has no such memory on the device.
  ConstMemoryInfo GetMemoryInfo(OrtDeviceMemoryType memory_type) const {
    return ConstMemoryInfo{GetApi().EpDevice_MemoryInfo(this->p_, memory_type)};
  }
  void GetMemoryCapacity(OrtDeviceMemoryType memory_type, size_t& total_bytes, size_t& available_bytes) const {
    ThrowOnError(GetApi().EpDevice_GetMemoryCapacity(this->p_, memory_type, &total_bytes, &available_bytes));
  }
  SyncStream CreateSyncStream(ConstKeyValuePairs stream_options = {}) const {
    return SyncStream{Fetch<OrtSyncStream*>(GetApi().CreateSyncStreamForEpDevice, this->p_, stream_options)};
  }
};
}  // namespace detail

using ConstEpDevice = detail::EpDeviceImpl<Ort::detail::Unowned<const OrtEpDevice>>;

// A device that a provider library declares.
struct EpDevice : detail::EpDeviceImpl<OrtEpDevice> {
  explicit EpDevice(std::nullptr_t) {}
  explicit EpDevice(OrtEpDevice* p) : EpDeviceImpl<OrtEpDevice>(p) {}
  EpDevice(OrtEpFactory& ep_factory, ConstHardwareDevice& hardware_device, ConstKeyValuePairs ep_metadata = {},
           ConstKeyValuePairs ep_options = {}) {
    ThrowOnError(GetEpApi().CreateEpDevice(&ep_factory, hardware_device, ep_metadata, ep_options, &p_));
  }
};

namespace detail {
template <typename T>
struct DeviceEpIncompatibilityDetailsImpl : Base<T> {
  using B = Base<T>;
  using B::B;

  // Bits of OrtDeviceEpIncompatibilityReason; 0: no reason is known.
  uint32_t GetReasonsBitmask() const {
    return Fetch<uint32_t>(GetApi().DeviceEpIncompatibilityDetails_GetReasonsBitmask, this->p_);
  }
  // Owned by this object; may be null.
  const char* GetNotes() const {
    return Fetch<const char*>(GetApi().DeviceEpIncompatibilityDetails_GetNotes, this->p_);
  }
  int32_t GetErrorCode() const {
    return Fetch<int32_t>(GetApi().DeviceEpIncompatibilityDetails_GetErrorCode, this->p_);
  }
};
}  // namespace detail

using ConstDeviceEpIncompatibilityDetails =
    detail::DeviceEpIncompatibilityDetailsImpl<detail::Unowned<const OrtDeviceEpIncompatibilityDetails>>;

// Why a provider cannot use a device.
struct DeviceEpIncompatibilityDetails : detail::DeviceEpIncompatibilityDetailsImpl<OrtDeviceEpIncompatibilityDetails> {
  explicit DeviceEpIncompatibilityDetails(std::nullptr_t) {}
  explicit DeviceEpIncompatibilityDetails(OrtDeviceEpIncompatibilityDetails* p)
      : DeviceEpIncompatibilityDetailsImpl<OrtDeviceEpIncompatibilityDetails>(p) {}
  ConstDeviceEpIncompatibilityDetails GetConst() const { return ConstDeviceEpIncompatibilityDetails{this->p_}; }
};

// Whether a compiled model runs on devices, which are those of one provider.
inline OrtCompiledModelCompatibility GetModelCompatibilityForEpDevices(const std::vector<ConstEpDevice>& ep_devices,
                                                                       const char* compatibility_info) {
  return detail::Fetch<OrtCompiledModelCompatibility>(GetApi().GetModelCompatibilityForEpDevices,
                                                      detail::HandlesOf(ep_devices.data()), ep_devices.size(),
                                                      compatibility_info);
}

// What the provider `ep_type` wrote into a compiled model, for the function above; null if it wrote nothing.
inline AllocatedStringPtr GetCompatibilityInfoFromModelAllocated(const ORTCHAR_T* model_path, const char* ep_type,
                                                                 OrtAllocator* allocator) {
  return detail::FetchAllocated(allocator, GetApi().GetCompatibilityInfoFromModel, model_path, ep_type, allocator);
}
inline AllocatedStringPtr GetCompatibilityInfoFromModelBytesAllocated(const void* model_data, size_t model_data_length,
                                                                      const char* ep_type, OrtAllocator* allocator) {
  return detail::FetchAllocated(allocator, GetApi().GetCompatibilityInfoFromModelBytes, model_data, model_data_length,
                                ep_type, allocator);
}

}  // namespace Ort
