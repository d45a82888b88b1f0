#include "logging.h"
#include "gil_lock.h"

#include <sys/time.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>

namespace nb = nanobind;

namespace retort::python {
namespace {

// A reference to the callback; null for stderr. Written with the GIL. Not released when the interpreter ends, since
// threads of the engine may log until then.
std::atomic<PyObject*> callback{nullptr};
nb::ft_mutex changing;  // without the GIL, the callback may be removed while another thread takes a reference
thread_local bool in_callback = false;

char letter(OrtLoggingLevel severity) {
  constexpr const char* letters = "VIWEF";
  return severity >= 0 && severity <= 4 ? letters[severity] : '?';
}

// As each engine prints by itself.
void print(OrtLoggingLevel severity, const char* category, const char* id, const char* where, const char* message) {
  std::string line;
  if (std::strcmp(category, "retort") == 0) {
    line = std::string("[retort:") + letter(severity) + (*id ? " " : "") + id + "] " + message + "\n";
  } else {
    timeval now{};
    gettimeofday(&now, nullptr);
    tm parts{};
    localtime_r(&now.tv_sec, &parts);
    char time[32];
    char text[48];
    std::strftime(time, sizeof time, "%Y-%m-%d %H:%M:%S", &parts);
    std::snprintf(text, sizeof text, "%s.%06ld000", time, static_cast<long>(now.tv_usec));
    line =
        std::string(text) + " [" + letter(severity) + ":" + category + ":" + id + ", " + where + "] " + message + "\n";
  }
  std::fwrite(line.data(), 1, line.size(), stderr);
}

nb::str text_of(const char* text) {
  return nb::steal<nb::str>(PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(std::strlen(text)), "replace"));
}

// False if the callback raised.
bool call(OrtLoggingLevel severity, const char* category, const char* id, const char* where, const char* message) {
  const WithGil gil;
  const nb::object function = [] {
    const nb::ft_lock_guard lock(changing);
    return nb::borrow(callback.load());
  }();
  if (!function.is_valid()) {
    return false;  // removed in the meantime
  }
  try {
    function(static_cast<int>(severity), text_of(category), text_of(id), text_of(where), text_of(message));
    return true;
  } catch (nb::python_error& error) {
    error.discard_as_unraisable(function);
  } catch (const std::exception&) {
  }
  return false;
}

}  // namespace

void log_message(void*, OrtLoggingLevel severity, const char* category, const char* id, const char* where,
                 const char* message) noexcept {
  // A thread of the engine, which Python does not know, must not wait for the GIL: the thread that has the GIL may be
  // waiting for it.
  const bool python_thread = PyGILState_GetThisThreadState() != nullptr;
  if (callback.load() && python_thread && !in_callback) {
    in_callback = true;
    const bool done = call(severity, category, id, where, message);
    in_callback = false;
    if (done) {
      return;
    }
  }
  print(severity, category, id, where, message);
}

void set_log_callback(nb::object function) {
  if (!function.is_none() && !PyCallable_Check(function.ptr())) {
    throw nb::type_error("set_default_logger_callback(): callback must be callable or None");
  }
  PyObject* before = nullptr;
  {
    const nb::ft_lock_guard lock(changing);
    before = callback.exchange(function.is_none() ? nullptr : function.release().ptr());
  }
  Py_XDECREF(before);
}

}  // namespace retort::python
