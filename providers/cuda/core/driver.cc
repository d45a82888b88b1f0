#include "driver.h"

#include <dlfcn.h>

#include "common/api.h"
#include "library.h"

namespace providers::cuda {
namespace {

struct Opened {
  Driver table;
  bool found = false;
  std::string missing;
};

std::string code_text(const Driver& driver, CUresult result) {
  const char *name = nullptr, *words = nullptr;
  if (driver.error_name) driver.error_name(result, &name);
  if (driver.error_text) driver.error_text(result, &words);
  return text("error ", result, " (", name ? name : "unknown", words ? text(": ", words) : std::string(), ")");
}

/// The first function that the library lacks; null if it has all.
const char* fill(void* library, Driver& table) {
#define F(name, symbol, arguments)                                              \
  table.name = reinterpret_cast<decltype(table.name)>(dlsym(library, #symbol)); \
  if (!table.name) return #symbol;
  RETORT_CUDA_DRIVER(F)
#undef F
  return nullptr;
}

Opened open() {
  Opened opened;
  void* const library = open_driver();
  if (!library) {
    opened.missing =
        "No NVIDIA driver was found: libcuda.so.1 is neither in a folder of RETORT_CUDA_LIBRARIES nor where the loader "
        "looks.";
    return opened;
  }
  if (const char* lacking = fill(library, opened.table)) {
    opened.missing = text("The NVIDIA driver is too old: libcuda.so.1 has no function ", lacking,
                          "; install a driver for CUDA 12 or newer.");
    return opened;
  }
  if (const CUresult result = opened.table.init(0)) {
    opened.missing = text("The NVIDIA driver does not start: ", code_text(opened.table, result), ".");
    return opened;
  }
  opened.found = true;
  return opened;
}

const Opened& opened() {
  static const Opened& once = *new Opened(open());
  return once;
}

}  // namespace

const Driver* find_driver() { return opened().found ? &opened().table : nullptr; }

const std::string& driver_missing() { return opened().missing; }

const Driver& driver() {
  const Opened& once = opened();
  if (!once.found) throw Error(once.missing);
  return once.table;
}

void check(CUresult result, const char* what) {
  if (result) throw Error(text(what, ": ", code_text(opened().table, result)));
}

}  // namespace providers::cuda
