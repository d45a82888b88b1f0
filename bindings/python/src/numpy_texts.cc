// Arrays of strings.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "numpy.h"
#include "numpy_api.h"

namespace nb = nanobind;

namespace retort::python {
namespace {

void append_utf8(std::string& text, uint32_t code) {
  if (code < 0x80) {
    text.push_back(static_cast<char>(code));
    return;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;  // bytes after the first
  constexpr uint32_t kHeads[] = {0, 0xC0, 0xE0, 0xF0};
  text.push_back(static_cast<char>(kHeads[more] | code >> (6 * more)));
  for (int i = more - 1; i >= 0; --i) {
    text.push_back(static_cast<char>(0x80 | (code >> (6 * i) & 0x3F)));
  }
}

// NumPy pads strings with NULs, which are not part of them.
std::string text_of_codes(const uint32_t* codes, size_t size) {
  while (size && codes[size - 1] == 0) {
    --size;
  }
  std::string text;
  text.reserve(size);
  for (size_t i = 0; i < size; ++i) {
    if ((codes[i] >= 0xD800 && codes[i] < 0xE000) || codes[i] > 0x10FFFF) {
      throw Misuse(ORT_INVALID_ARGUMENT, "a string has the code point " + std::to_string(codes[i]) +
                                             ", which UTF-8 cannot express; tensors of strings are UTF-8");
    }
    append_utf8(text, codes[i]);
  }
  return text;
}

std::string text_of_bytes(const char* bytes, size_t size) {
  while (size && bytes[size - 1] == 0) {
    --size;
  }
  return std::string(bytes, size);
}

// A str as it is, bytes as they are if they are UTF-8, and str() of anything else, as the official package does.
std::string text_of_object(nb::handle object) {
  nb::object text = PyUnicode_Check(object.ptr()) ? nb::borrow(object) : nb::object(nb::str(object));
  Py_ssize_t size = 0;
  const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (!bytes) {
    nb::raise_python_error();
  }
  return std::string(bytes, static_cast<size_t>(size));
}

template <class Read>
std::vector<std::string> read_texts(PyArrayObject* array, Read read) {
  const auto count = static_cast<size_t>(PyArray_SIZE(array));
  const auto size = static_cast<size_t>(PyArray_ITEMSIZE(array));
  const char* data = PyArray_BYTES(array);
  std::vector<std::string> texts;
  texts.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    texts.push_back(read(data + i * size, size));
  }
  return texts;
}

std::string read_codes(const char* item, size_t size) {
  return text_of_codes(reinterpret_cast<const uint32_t*>(item), size / sizeof(uint32_t));
}

std::string read_object(const char* item, size_t) {
  PyObject* object = nullptr;
  std::memcpy(&object, item, sizeof object);
  return object ? text_of_object(object) : "None";
}

}  // namespace

std::vector<std::string> texts_of_array(nb::handle array) {
  nb::object dense = dense_array(array);
  auto* view = reinterpret_cast<PyArrayObject*>(dense.ptr());
  switch (PyArray_TYPE(view)) {
    case NPY_UNICODE:
      return read_texts(view, read_codes);
    case NPY_STRING:
      return read_texts(view, text_of_bytes);
    case NPY_OBJECT:
      return read_texts(view, read_object);
    default:
      break;
  }
  return texts_of_array(array.attr("astype")("O"));  // StringDType, whose elements only NumPy reads
}

nb::object array_of_texts(const char* bytes, const size_t* offsets, size_t total, const int64_t* shape, size_t rank) {
  nb::object array = new_array(ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, shape, rank);
  auto* view = reinterpret_cast<PyArrayObject*>(array.ptr());
  const auto count = static_cast<size_t>(PyArray_SIZE(view));
  auto** items = static_cast<PyObject**>(PyArray_DATA(view));
  for (size_t i = 0; i < count; ++i) {
    const size_t end = i + 1 < count ? offsets[i + 1] : total;
    PyObject* text = PyUnicode_DecodeUTF8(bytes + offsets[i], static_cast<Py_ssize_t>(end - offsets[i]), nullptr);
    if (!text) {
      nb::raise_python_error();
    }
    Py_XDECREF(items[i]);
    items[i] = text;
  }
  return array;
}

}  // namespace retort::python
