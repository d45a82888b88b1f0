// Values of the engine: tensors, sequences, maps, optionals and sparse tensors, from Python objects and back.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

#include "drops.h"
#include "engine.h"
#include "memory.h"
#include "types.h"

namespace retort::python {

// The class OrtValue (C.OrtValue). The handle never changes; the memory of a tensor may.
class Value {
 public:
  explicit Value(Owned<OrtValue> handle, bool writeable = true) : handle_(std::move(handle)), writeable_(writeable) {}
  Value(Value&&) = default;
  ~Value();

  OrtValue* get() const noexcept { return handle_.get(); }
  // Whether it is a dense tensor, and one that the host can read. They never change, and the engine is asked once.
  bool is_tensor() const { return (facts() & kTensor) != 0; }
  bool is_host_tensor() const { return (facts() & kHostTensor) != 0; }
  // False for a tensor in the memory of a read-only array: it must not be bound as an output.
  bool writeable() const noexcept { return writeable_; }

 private:
  static constexpr uint8_t kAsked = 1, kTensor = 2, kHostTensor = 4;

  uint8_t facts() const {
    const uint8_t known = std::atomic_ref(facts_).load(std::memory_order_relaxed);
    return known ? known : ask();
  }
  uint8_t ask() const;

  Owned<OrtValue> handle_;
  bool writeable_;
  mutable uint8_t facts_ = 0;  // 0: not asked yet
};

// The class OrtValueVector: keeps its values alive, and gives the same Python objects back.
struct ValueVector {
  std::vector<nanobind::object> values;  // OrtValue
  nanobind::object owner;                // a binding whose outputs they are; no object if they need none

  OrtValue* at(size_t index) const;
};

// A Python OrtValue that owns the handle.
nanobind::object wrap(Owned<OrtValue> handle, bool writeable = true);

// The handle of a Python OrtValue (C.OrtValue, or a wrapper with the attribute _ortvalue). Borrowed. Throws
// nanobind::type_error, which begins with `what`, for other objects.
OrtValue* unwrap(nanobind::handle object, std::string_view what);

// The same for OrtValue, SparseTensor and their wrappers (attributes _ortvalue, _tensor); null for other objects.
OrtValue* try_unwrap(nanobind::handle object);

// Throws Misuse, which begins with `what`, for a Python OrtValue (or wrapper) over the memory of a read-only array.
// Returns the value; null for a SparseTensor.
const Value* require_writeable(nanobind::handle object, std::string_view what);

// How long the memory of an array must stay.
enum class Keep {
  kBorrow,     // the caller keeps the array referenced until the value is released
  kReference,  // the value holds a reference to the array, for as long as the engine uses its memory
  kCopy,       // the value has memory of its own
};

// A tensor with the elements of an ndarray: in its memory if it is dense and aligned and `keep` is not kCopy, otherwise
// in a copy. `what` begins messages ("input 'x'"). Throws Error or nanobind::type_error.
Owned<OrtValue> tensor_of_array(nanobind::handle array, Keep keep, std::string_view what);

// A value of the type `expected` (that of an input of a model) of a Python object: ndarray, number, string or nested
// list, an object with __dlpack__ or __array__ for a tensor; list for a sequence; dict for a map. Arrays are kept as
// `keep` says; their element type is not converted, that of numbers and lists is. Null for None, if `expected` is an
// optional: an input without value is left out of the run. Ask try_unwrap() first: OrtValues are not accepted here.
Owned<OrtValue> value_of_object(nanobind::handle object, const Type& expected, Keep keep, std::string_view what);

// What run() returns for a value: an ndarray that owns the tensor's memory (a copy only for strings and elements that
// share bytes), a list, a dict, a SparseTensor, or None for an optional without value. Throws
// Error(ORT_INVALID_ARGUMENT) for memory that the host cannot access.
nanobind::object object_of_value(Owned<OrtValue> value);

// The same for a tensor in host memory, which saves the questions.
nanobind::object array_of_tensor(Owned<OrtValue> value);

// Element type and shape of a tensor, which the value owns.
struct FormView {
  Element element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  const int64_t* shape = nullptr;
  size_t rank = 0;
};
FormView view_of(const OrtValue* tensor);

// An array over the memory of a tensor that belongs to `owner`; a copy for strings and elements that share bytes.
nanobind::object array_of_shared(const OrtValue* value, const FormView& form, nanobind::object owner, bool writeable);

// The strings of a tensor or of the values of a sparse tensor.
nanobind::object array_of_strings(const OrtValue* value, const int64_t* shape, size_t rank);

// A new tensor, not initialized (strings: empty).
Owned<OrtValue> new_tensor(OrtAllocator* allocator, Element element, const int64_t* shape, size_t rank);

// A tensor in memory that release(context) gives back, with the GIL, when the engine does not need it any more; also if
// this throws. `place` is null for host memory.
Owned<OrtValue> tensor_over(void* data, const TensorForm& form, Owned<OrtMemoryInfo> place, void (*release)(void*),
                            void* context);

// The address of a tensor's elements.
void* data_of(const OrtValue* value);

// Copies a tensor into another one of the same type and shape, on any device. Releases the GIL.
void copy_tensor(const OrtValue* from, OrtValue* to);

// Throws Misuse, which begins with `what`, unless the value is a tensor.
void require_tensor(const OrtValue* value, const char* what);

// Adds the functions that make values to the class OrtValue.
void bind_value_makers(nanobind::class_<Value>& value);

}  // namespace retort::python
