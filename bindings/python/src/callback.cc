#include "callback.h"

#include "interrupt.h"
#include "text.h"

namespace nb = nanobind;

namespace retort::python {
namespace {

// "ValueError: no such device", as the last line of a traceback has it.
std::string line_of(const nb::python_error& error) {
  try {
    return text_of(error.type().attr("__name__")) + ": " + text_of(error.value());
  } catch (const std::exception&) {
    return "an exception without text";
  }
}

}  // namespace

OrtStatus* status_of_exception(const char* what) noexcept {
  std::string reason = "an unknown exception";
  OrtErrorCode code = ORT_FAIL;
  try {
    throw;
  } catch (const nb::python_error& error) {
    reason = line_of(error);
    if (!error.matches(PyExc_Exception)) {
      raise_interrupt_later();  // last: str() would raise it here
    }
  } catch (const Error& error) {
    code = error.code();
    reason = error.what();
  } catch (const std::exception& error) {
    reason = error.what();
  } catch (...) {
  }
  return api().CreateStatus(code, (std::string(what) + " raised " + reason).c_str());
}

}  // namespace retort::python
