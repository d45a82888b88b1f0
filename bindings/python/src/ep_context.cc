// Data of EPContext nodes outside the model, which the program reads and writes.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstring>
#include <optional>

#include "provider_choice.h"
#include "rooms.h"

namespace nb = nanobind;

namespace retort::python {
namespace {

[[noreturn]] void over() {
  throw std::runtime_error("the data are valid only during the callback that they were given to");
}

// C.OrtEpContextData: what the engine writes.
struct Written {
  const char* data = nullptr;
  size_t size = 0;
  bool valid = true;

  nb::bytes read(size_t offset, std::optional<size_t> length) const {
    if (!valid) {
      over();
    }
    if (offset > size || (length && *length > size - offset)) {
      throw nb::value_error("OrtEpContextData.read(): the range ends behind the data");
    }
    return nb::bytes(data + offset, length.value_or(size - offset));
  }
};

// C.OrtEpContextDataBuffer: memory of the engine that the program fills.
struct Filled {
  OrtAllocator* allocator = nullptr;
  size_t limit = 0;
  void* data = nullptr;
  size_t size = 0;
  bool allocated = false;
  bool valid = true;

  void allocate(size_t bytes) {
    if (!valid) {
      over();
    }
    if (allocated) {
      throw std::runtime_error("OrtEpContextDataBuffer.allocate(): the buffer is allocated already");
    }
    if (bytes > limit) {
      throw nb::value_error(("OrtEpContextDataBuffer.allocate(): " + std::to_string(bytes) +
                             " bytes are more than max_data_size, which is " + std::to_string(limit))
                                .c_str());
    }
    data = bytes ? allocator->Alloc(allocator, bytes) : nullptr;
    if (bytes && !data) {
      throw std::bad_alloc();
    }
    size = bytes;
    allocated = true;
  }

  void write(nb::handle source, size_t offset) {
    if (!valid) {
      over();
    }
    if (!allocated) {
      throw std::runtime_error("OrtEpContextDataBuffer.write(): call allocate(size) first");
    }
    Py_buffer view{};
    if (PyObject_GetBuffer(source.ptr(), &view, PyBUF_C_CONTIGUOUS) != 0) {
      nb::raise_python_error();
    }
    const auto bytes = static_cast<size_t>(view.len);
    const bool fits = offset <= size && bytes <= size - offset;
    if (fits && bytes) {
      std::memcpy(static_cast<char*>(data) + offset, view.buf, bytes);
    }
    PyBuffer_Release(&view);
    if (!fits) {
      throw nb::value_error("OrtEpContextDataBuffer.write(): the data end behind the buffer");
    }
  }
};

}  // namespace

OrtStatus* read_ep_context(void* state, const char* name, OrtAllocator* allocator, void** buffer,
                           size_t* size) noexcept {
  return with_python("the function that reads EPContext data", [&] {
    auto* callback = static_cast<Callback*>(state);
    nb::object target = nb::cast(Filled{allocator, callback->limit});
    Filled& filled = nb::cast<Filled&>(target);
    try {
      callback->function(name, target);
      filled.valid = false;
      if (!filled.allocated) {
        throw Error(ORT_FAIL, "no exception, but did not call allocate()");
      }
    } catch (...) {
      filled.valid = false;
      if (filled.data) {
        allocator->Free(allocator, filled.data);
      }
      throw;
    }
    *buffer = filled.data;
    *size = filled.size;
  });
}

OrtStatus* write_ep_context(void* state, const char* name, const void* buffer, size_t size) noexcept {
  return with_python("the function that writes EPContext data", [&] {
    nb::object source = nb::cast(Written{static_cast<const char*>(buffer), size});
    Written& written = nb::cast<Written&>(source);
    try {
      static_cast<Callback*>(state)->function(name, source);
    } catch (...) {
      written.valid = false;
      throw;
    }
    written.valid = false;
  });
}

void bind_ep_context(nb::module_& m) {
  nb::class_<Written>(m, "OrtEpContextData", "Named data that the engine writes; valid during the callback only.")
      .def_ro("size", &Written::size, "Bytes.")
      .def("read", &Written::read, nb::arg("offset") = 0, nb::arg("length") = nb::none(),
           "Copies a range; up to the end without a length.");
  nb::class_<Filled>(m, "OrtEpContextDataBuffer",
                     "Memory of the engine for named data; valid during the callback only.")
      .def_ro("is_allocated", &Filled::allocated, "Whether allocate() was called.")
      .def_ro("max_size", &Filled::limit, "The most bytes that allocate() accepts.")
      .def_ro("size", &Filled::size, "Bytes; 0 before allocate().")
      .def("allocate", &Filled::allocate, nb::arg("size"), "Allocates the buffer. Call it once.")
      .def("write", &Filled::write, nb::arg("data"), nb::arg("offset") = 0,
           "Copies bytes into the buffer, from `offset` on.");
}

}  // namespace retort::python
