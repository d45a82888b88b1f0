#include "dlpack.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "cuda_wait.h"
#include "dlpack_struct.h"
#include "drops.h"
#include "gil_lock.h"
#include "value.h"

namespace nb = nanobind;

namespace retort::python {
namespace {

using namespace dlpack;

constexpr char kName[] = "dltensor";
constexpr char kUsedName[] = "used_dltensor";
constexpr char kVersionedName[] = "dltensor_versioned";
constexpr char kUsedVersionedName[] = "used_dltensor_versioned";

struct ElementRow {
  Element element;
  ElementType type;
};

constexpr std::array<ElementRow, 24> kElements = {{
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, {kFloat, 32, 1}},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE, {kFloat, 64, 1}},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16, {kFloat, 16, 1}},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16, {kBfloat, 16, 1}},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8, {kInt, 8, 1}},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16, {kInt, 16, 1}},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32, {kInt, 32, 1}},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, {kInt, 64, 1}},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, {kUint, 8, 1}},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16, {kUint, 16, 1}},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32, {kUint, 32, 1}},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64, {kUint, 64, 1}},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL, {kBool, 8, 1}},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN, {kFloat8E4M3Fn, 8, 1}},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FNUZ, {kFloat8E4M3Fnuz, 8, 1}},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2, {kFloat8E5M2, 8, 1}},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2FNUZ, {kFloat8E5M2Fnuz, 8, 1}},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E8M0, {kFloat8E8M0, 8, 1}},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT4E2M1, {kFloat4E2M1, 4, 1}},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4, {kInt, 4, 1}},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT4, {kUint, 4, 1}},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT2, {kInt, 2, 1}},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT2, {kUint, 2, 1}},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX64, {kComplex, 64, 1}},
}};

ElementType type_of_element(Element element) {
  for (const ElementRow& row : kElements) {
    if (row.element == element) {
      return row.type;
    }
  }
  throw Misuse(ORT_INVALID_ARGUMENT, std::string("DLPack cannot express elements of type ") + element_name(element));
}

Element element_of_type(ElementType type) {
  for (const ElementRow& row : kElements) {
    if (row.type == type) {
      return row.element;
    }
  }
  throw Misuse(ORT_INVALID_ARGUMENT, "Unsupported DLPack data type: code " + std::to_string(type.code) + ", bits " +
                                         std::to_string(type.bits) + ", lanes " + std::to_string(type.lanes) +
                                         "; convert the tensor to a type that ONNX has");
}

constexpr uint32_t kNvidia = 0x10DE;
constexpr uint32_t kAmd = 0x1002;
constexpr uint32_t kIntel = 0x8086;

DeviceId id_of(const Device& device) {
  if (device.is_host()) {
    const bool pinned = device.type == Device::kGpu && device.vendor == kNvidia;
    return pinned ? DeviceId{kCudaHostDevice, 0} : DeviceId{kCpuDevice, 0};
  }
  if (device.type != Device::kGpu) {
    return {kExtensionDevice, device.id};
  }
  switch (device.vendor) {
    case 0:
    case kNvidia:
      return {kCudaDevice, device.id};
    case kAmd:
      return {kRocmDevice, device.id};
    case kIntel:
      return {kOneApiDevice, device.id};
    default:
      return {kExtensionDevice, device.id};
  }
}

DeviceId id_of(const Value& tensor) { return id_of(device_of(memory_of(tensor.get()))); }

// Copies to pinned memory may be on their way, too. That memory has no device of its own: the first stands for all.
bool is_of_cuda(DeviceId id) { return id.type == kCudaDevice || id.type == kCudaHostDevice; }

void require_wait(DeviceId id, const char* what) {
  if (is_of_cuda(id) && !wait_for_cuda(id.number)) {
    throw Misuse(ORT_RUNTIME_EXCEPTION,
                 std::string(what) + ": waiting for CUDA device " + std::to_string(id.number) +
                     " fails; work that was given to it before has failed, or a stream is captured");
  }
}

// Null for host memory.
Owned<OrtMemoryInfo> place_of(DeviceId id) {
  Device device;
  device.type = Device::kGpu;
  device.id = static_cast<int16_t>(id.number);
  switch (id.type) {
    case kCpuDevice:
    case kCudaHostDevice:
    case kRocmHostDevice:
      return nullptr;
    case kCudaDevice:
      device.vendor = kNvidia;
      break;
    case kRocmDevice:
      device.vendor = kAmd;
      break;
    case kOneApiDevice:
      device.vendor = kIntel;
      break;
    default:
      throw Misuse(ORT_INVALID_ARGUMENT, "DLPack device type " + std::to_string(id.type) +
                                             " is not supported; copy the tensor to the host or to a GPU first");
  }
  return memory_info_of(device);
}

bool is_contiguous(const Tensor& tensor) {
  int64_t expected = 1;
  for (int i = tensor.rank - 1; tensor.strides && i >= 0; --i) {
    if (tensor.shape[i] != 1 && tensor.strides[i] != expected) {
      return false;
    }
    expected *= tensor.shape[i];
  }
  return true;
}

// What the producer gave, and how to give it back.
struct Source {
  const Tensor* tensor;
  void (*release)(void*);
  void* managed;
  bool writeable;
};

// The producer may give the memory to work on another stream at once: what the engine has begun must be done.
template <class M>
void release_managed(void* pointer) {
  auto* managed = static_cast<M*>(pointer);
  if (is_of_cuda(managed->tensor.device)) {
    wait_for_cuda(managed->tensor.device.number);
  }
  if (managed->deleter) {
    managed->deleter(managed);
  }
}

// Takes the tensor out of a capsule, which cannot be used again.
Source take(nb::handle capsule) {
  if (PyCapsule_IsValid(capsule.ptr(), kName)) {
    auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), kName));
    PyCapsule_SetName(capsule.ptr(), kUsedName);
    return {&managed->tensor, release_managed<Managed>, managed, true};
  }
  if (PyCapsule_IsValid(capsule.ptr(), kVersionedName)) {
    auto* managed = static_cast<VersionedManaged*>(PyCapsule_GetPointer(capsule.ptr(), kVersionedName));
    PyCapsule_SetName(capsule.ptr(), kUsedVersionedName);
    if (managed->version.major != 1) {  // only the version and the deleter may be read
      const std::string version = std::to_string(managed->version.major);
      if (managed->deleter) {
        managed->deleter(managed);
      }
      throw Misuse(ORT_NOT_IMPLEMENTED, "from_dlpack: version " + version + " of DLPack is not supported; 1 is");
    }
    return {&managed->tensor, release_managed<VersionedManaged>, managed, !(managed->flags & kReadOnly)};
  }
  throw nb::type_error(
      "from_dlpack expected a valid DLPack capsule named 'dltensor' or 'dltensor_versioned', or an "
      "object with __dlpack__; a capsule can be used once");
}

// What asks for a capsule, made once and never released: the texts and numbers of a call that takes half a microsecond.
struct Question {
  PyObject* method = PyUnicode_InternFromString("__dlpack__");
  PyObject* names = nb::make_tuple("max_version").release().ptr();
  PyObject* version = nb::make_tuple(kMajor, kMinor).release().ptr();
};

nb::object capsule_of(nb::handle object) {
  static const Question question;
  if (PyCapsule_CheckExact(object.ptr()) || !PyObject_HasAttr(object.ptr(), question.method)) {
    return nb::borrow(object);
  }
  PyObject* const arguments[] = {object.ptr(), question.version};
  nb::object capsule = nb::steal(PyObject_VectorcallMethod(question.method, arguments, 1, question.names));
  if (!capsule.is_valid() && PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyErr_Clear();
    capsule = object.attr("__dlpack__")();  // a producer from before version 1
  }
  if (!capsule.is_valid()) {
    nb::raise_python_error();
  }
  return capsule;
}

Owned<OrtValue> tensor_of_source(const Source& source) {
  const Tensor& tensor = *source.tensor;
  TensorForm form;
  Owned<OrtMemoryInfo> place;
  try {
    form.element = element_of_type(tensor.type);
    if (tensor.rank < 0) {
      throw Misuse(ORT_INVALID_ARGUMENT, "from_dlpack: the tensor has " + std::to_string(tensor.rank) + " dimensions");
    }
    form.shape.assign(tensor.shape, tensor.shape + tensor.rank);
    place = place_of(tensor.device);
    // The streams on which the engine will use the tensor are not known here, so none can be named to the producer.
    require_wait(tensor.device, "from_dlpack");
    if (count_of(form.shape.data(), form.shape.size()) > 0 && !is_contiguous(tensor)) {
      throw Misuse(ORT_INVALID_ARGUMENT,
                   "from_dlpack: the tensor is not contiguous; make it so first (contiguous(), ascontiguousarray())");
    }
  } catch (...) {
    source.release(source.managed);
    throw;
  }
  auto* data = static_cast<char*>(tensor.data) + tensor.offset;
  return tensor_over(tensor.data ? data : nullptr, form, std::move(place), source.release, source.managed);
}

// What a consumer gets. Both kinds of capsules have the same contents behind different heads.
template <class M>
struct Export {
  M managed{};
  std::vector<int64_t> extents;  // shape, then strides
  PyObject* owner = nullptr;
};

template <class M>
void delete_export(M* managed) {
  auto* self = static_cast<Export<M>*>(managed->context);
  if (Py_IsInitialized()) {
    const WithGil gil;
    if (is_of_cuda(managed->tensor.device)) {  // work of the consumer that the provider's memory does not know
      wait_for_cuda(managed->tensor.device.number);
    }
    Py_DECREF(self->owner);
  }
  delete self;
}

template <class M, const char* Name>
void delete_unused(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, Name)) {
    auto* managed = static_cast<M*>(PyCapsule_GetPointer(capsule, Name));
    managed->deleter(managed);
  }
}

void set_head(Managed&, bool) {}

void set_head(VersionedManaged& managed, bool writeable) {
  managed.version = {kMajor, kMinor};
  managed.flags = writeable ? 0 : kReadOnly;
}

template <class M, const char* Name>
nb::object export_value(nb::handle owner, const Value& value, const ExportOptions& options) {
  const FormView form = view_of(value.get());
  auto made = std::make_unique<Export<M>>();
  Tensor& tensor = made->managed.tensor;
  tensor.type = type_of_element(form.element);
  tensor.device = options.as_host ? DeviceId{kCpuDevice, 0} : id_of(value);
  if (options.waits) {
    require_wait(id_of(value), "__dlpack__");
  }
  tensor.data = data_of(value.get());
  tensor.rank = static_cast<int32_t>(form.rank);
  made->extents.resize(2 * form.rank);
  tensor.shape = made->extents.data();
  tensor.strides = tensor.shape + form.rank;
  int64_t stride = 1;
  for (size_t i = form.rank; i-- > 0;) {
    tensor.shape[i] = form.shape[i];
    tensor.strides[i] = stride;
    stride *= form.shape[i];
  }
  set_head(made->managed, value.writeable());
  made->managed.context = made.get();
  made->managed.deleter = delete_export<M>;
  nb::object capsule = nb::steal(PyCapsule_New(&made->managed, Name, delete_unused<M, Name>));
  if (!capsule.is_valid()) {
    nb::raise_python_error();
  }
  made->owner = owner.inc_ref().ptr();
  (void)made.release();  // the capsule's now
  return capsule;
}

}  // namespace

Owned<OrtValue> tensor_of_dlpack(nb::handle object, bool* writeable) {
  const nb::object capsule = capsule_of(object);
  const Source source = take(capsule);
  if (writeable) {
    *writeable = source.writeable;
  }
  const HoldsGil gil;
  return tensor_of_source(source);
}

nb::object dlpack_of_value(nb::handle object, const ExportOptions& options) {
  const auto& value = nb::cast<const Value&>(object);
  if (!value.is_tensor()) {
    require_tensor(value.get(), "DLPack");
  }
  if (options.versioned) {
    return export_value<VersionedManaged, kVersionedName>(object, value, options);
  }
  return export_value<Managed, kName>(object, value, options);
}

nb::tuple dlpack_device_of(const Value& value) {
  if (!value.is_tensor()) {
    require_tensor(value.get(), "DLPack");
  }
  const DeviceId id = id_of(value);
  return nb::make_tuple(static_cast<int>(id.type), static_cast<int>(id.number));
}

}  // namespace retort::python
