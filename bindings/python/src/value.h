// Values of the engine: tensors, sequences, maps, optionals and sparse tensors, from Python objects and back.
#pragma once

#include <nanobind/nanobind.h>

#include <string_view>
#include <vector>

#include "engine.h"
#include "memory.h"
#include "types.h"

namespace retort::python {

// The class OrtValue (C.OrtValue). The handle never changes; the memory of a tensor may.
class Value {
 public:
  explicit Value(Owned<OrtValue> handle) : handle_(std::move(handle)) {}

  OrtValue* get() const noexcept { return handle_.get(); }
  Owned<OrtValue> take() noexcept { return std::move(handle_); }

 private:
  Owned<OrtValue> handle_;
};

// The class OrtValueVector: keeps its values alive, and gives the same Python objects back.
struct ValueVector {
  std::vector<nanobind::object> values;  // OrtValue

  OrtValue* at(size_t index) const;
};

// A Python OrtValue that owns the handle.
nanobind::object wrap(Owned<OrtValue> handle);

// The handle of a Python OrtValue (C.OrtValue, or a wrapper with the attribute _ortvalue). Borrowed. Throws
// nanobind::type_error, which begins with `what`, for other objects.
OrtValue* unwrap(nanobind::handle object, std::string_view what);

// How long the memory of an array must stay.
enum class Keep {
  kBorrow,     // the caller keeps the array referenced until the value is released
  kReference,  // the value holds a reference to the array, for as long as the engine uses its memory
  kCopy,       // the value has memory of its own
};

// A tensor with the elements of an ndarray: in its memory if it is dense and aligned and `keep` is not kCopy, otherwise
// in a copy. `what` begins messages ("input 'x'"). Throws Error or nanobind::type_error.
Owned<OrtValue> tensor_of_array(nanobind::handle array, Keep keep, std::string_view what);

// A value of the type `expected` (that of an input of a model) of a Python object: ndarray, number or nested list, string,
// OrtValue is not accepted here; list for a sequence; dict for a map; None for an optional without value; SparseTensor;
// an object with __dlpack__ or __array__. Arrays are kept as `keep` says.
Owned<OrtValue> value_of_object(nanobind::handle object, const Type& expected, Keep keep, std::string_view what);

// What run() returns for a value: an ndarray that owns the tensor's memory (a copy only for strings and elements that
// share bytes), a list, a dict, a SparseTensor, or None for an optional without value. Throws
// Error(ORT_INVALID_ARGUMENT) for memory that the host cannot access.
nanobind::object object_of_value(Owned<OrtValue> value);

// The same for a tensor whose element type and shape are known, which saves the questions.
nanobind::object array_of_tensor(Owned<OrtValue> value, Element element, const int64_t* shape, size_t rank);

// A new tensor in the memory of a device or of a memory info.
Owned<OrtValue> new_tensor(const Device& device, Element element, const std::vector<int64_t>& shape);

// Objects whose last reference is dropped without the GIL (the engine released an array in one of its threads) wait
// until this is called with the GIL. Cheap when none waits. Python's own loop calls it, too.
void drop_waiting() noexcept;

}  // namespace retort::python
