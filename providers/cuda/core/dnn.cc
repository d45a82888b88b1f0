#include "dnn.h"

#include "library.h"

namespace providers::cuda::dnn {
namespace {

struct Opened {
  Table table;
  std::string missing;
};

/// cuDNN's engines open NVRTC and cuBLASLt by their plain names. The loader finds them if this process has already
/// opened files of these names, wherever they lie.
void open_helpers() {
  for (const auto& [what, files, package] :
       {std::tuple("NVRTC", std::vector<std::string>{"libnvrtc.so.13", "libnvrtc.so.12"}, "nvidia-cuda-nvrtc"),
        std::tuple("cuBLASLt", std::vector<std::string>{"libcublasLt.so.13", "libcublasLt.so.12"}, "nvidia-cublas")}) {
    try {
      const Library library(what, files, package);
    } catch (const Error&) {  // engines that need it are not supported then, and others are found
    }
  }
}

Opened open() {
  Opened made;
  try {
    open_helpers();
    const Library library("cuDNN", {"libcudnn.so.9"}, "nvidia-cudnn-cu13");
#define F(name, symbol, arguments) made.table.name = reinterpret_cast<int(*) arguments>(library.function(#symbol));
    RETORT_DNN(F)
#undef F
    made.table.version = reinterpret_cast<size_t (*)()>(library.function("cudnnGetVersion"));
    made.table.error_text = reinterpret_cast<const char* (*)(int)>(library.function("cudnnGetErrorString"));
    made.table.last_error = reinterpret_cast<void (*)(char*, size_t)>(library.function("cudnnGetLastErrorString"));
    const size_t version = made.table.version();
    if (version < 90000) made.missing = text(library.path(), ": actual version ", version, ", expected 90000 or newer");
  } catch (const Error& e) {
    made.missing = e.what();
  }
  return made;
}

const Opened& opened() {
  static const Opened& made = *new Opened(open());
  return made;
}

}  // namespace

const std::string& missing() { return opened().missing; }

const Table& table() {
  if (!missing().empty()) throw Error(missing());
  return opened().table;
}

std::string describe(int status) {
  const Table& t = table();
  char reason[2048] = "";
  t.last_error(reason, sizeof reason);
  reason[sizeof reason - 1] = 0;
  const char* const name = t.error_text(status);
  return text(name ? name : "unknown status", " (", status, ")", reason[0] ? ": " : "", reason);
}

void check(int status, const std::string& what) {
  if (status != 0) throw Error(text("cuDNN ", table().version(), ": ", what, ": ", describe(status)));
}

Descriptor::Descriptor(Descriptors kind, std::string what) : what_(std::move(what)) {
  check(table().create_descriptor(kind, &raw_), "cannot create " + what_);
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(raw_, other.raw_);
  std::swap(what_, other.what_);
  return *this;
}

Descriptor::~Descriptor() {
  if (raw_) table().destroy_descriptor(raw_);
}

void Descriptor::set(Attributes name, AttributeTypes type, int64_t count, const void* values) {
  const int status = table().set(raw_, name, type, count, values);
  if (status != 0) check(status, text(what_, ": cannot set attribute ", int(name), " of type ", int(type)));
}

void Descriptor::finalize() {
  const int status = table().finalize(raw_);
  if (status != 0) check(status, what_ + " is refused");
}

}  // namespace providers::cuda::dnn
