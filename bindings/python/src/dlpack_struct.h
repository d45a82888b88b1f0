// The structures of DLPack 1.1, as its specification lays them out.
#pragma once

#include <cstdint>

namespace retort::python::dlpack {

inline constexpr uint32_t kMajor = 1;
inline constexpr uint32_t kMinor = 1;

inline constexpr int32_t kCpuDevice = 1, kCudaDevice = 2, kCudaHostDevice = 3, kRocmDevice = 10, kRocmHostDevice = 11,
                         kExtensionDevice = 12, kOneApiDevice = 14;

struct DeviceId {
  int32_t type;
  int32_t number;
};

enum Code : uint8_t {
  kInt = 0,
  kUint = 1,
  kFloat = 2,
  kBfloat = 4,
  kComplex = 5,
  kBool = 6,
  kFloat8E4M3Fn = 10,
  kFloat8E4M3Fnuz = 11,
  kFloat8E5M2 = 12,
  kFloat8E5M2Fnuz = 13,
  kFloat8E8M0 = 14,
  kFloat4E2M1 = 17,
};

struct ElementType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;

  bool operator==(const ElementType&) const = default;
};

struct Tensor {
  void* data;
  DeviceId device;
  int32_t rank;
  ElementType type;
  int64_t* shape;
  int64_t* strides;  // in elements; null: C-contiguous
  uint64_t offset;   // bytes from `data` to the first element
};

// Of capsules named "dltensor".
struct Managed {
  Tensor tensor;
  void* context;
  void (*deleter)(Managed* self);
};

struct Version {
  uint32_t major;
  uint32_t minor;
};

inline constexpr uint64_t kReadOnly = 1;
inline constexpr uint64_t kIsCopied = 2;

// Of capsules named "dltensor_versioned".
struct VersionedManaged {
  Version version;
  void* context;
  void (*deleter)(VersionedManaged* self);
  uint64_t flags;
  Tensor tensor;
};

}  // namespace retort::python::dlpack
