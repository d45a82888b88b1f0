// Texts of Python objects, for messages.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

namespace retort::python {

// str(object) as UTF-8. What UTF-8 does not have (lone surrogates) becomes an escape. Throws what str() raises.
inline std::string text_of(nanobind::handle object) {
  const auto checked = [](PyObject* result) {
    if (!result) {
      nanobind::raise_python_error();
    }
    return nanobind::steal(result);
  };
  const nanobind::object text = checked(PyObject_Str(object.ptr()));
  const nanobind::object bytes = checked(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace"));
  return {PyBytes_AsString(bytes.ptr()), static_cast<size_t>(PyBytes_Size(bytes.ptr()))};
}

// The text as the C interface takes texts. Throws ValueError if it contains a NUL, which would end it there. Needs no
// GIL. Not inlined: 60 calls would add 18 KB to a wheel.
[[gnu::noinline]] inline const char* c_text(std::string_view text) {
  if (const size_t end = text.find('\0'); end != text.npos) {
    const std::string shown(text.substr(0, end));
    throw nanobind::value_error(("a text contains a NUL character after '" + shown + "'").c_str());
  }
  return text.data();
}

}  // namespace retort::python
