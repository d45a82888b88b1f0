#include "nvrtc.h"

#include <dlfcn.h>
#include <glob.h>

#include <algorithm>

#include "common/api.h"
#include "library.h"

namespace providers::cuda {
namespace {

using Program = struct NvrtcProgram*;

// name in the table, exported symbol, arguments; 0 is success
#define RETORT_NVRTC(F)                                                                               \
  F(version, nvrtcVersion, (int* major, int* minor))                                                  \
  F(count, nvrtcGetNumSupportedArchs, (int* count))                                                   \
  F(list, nvrtcGetSupportedArchs, (int* architectures))                                               \
  F(create, nvrtcCreateProgram,                                                                       \
    (Program * program, const char* text, const char* name, int headers, const char* const* contents, \
     const char* const* names))                                                                       \
  F(compile, nvrtcCompileProgram, (Program program, int count, const char* const* options))           \
  F(destroy, nvrtcDestroyProgram, (Program * program))                                                \
  F(log_size, nvrtcGetProgramLogSize, (Program program, size_t * bytes))                              \
  F(log, nvrtcGetProgramLog, (Program program, char* text))                                           \
  F(binary_size, nvrtcGetCUBINSize, (Program program, size_t * bytes))                                \
  F(binary, nvrtcGetCUBIN, (Program program, char* image))                                            \
  F(text_size, nvrtcGetPTXSize, (Program program, size_t * bytes))                                    \
  F(text, nvrtcGetPTX, (Program program, char* image))

// It opens its second library by name, which the loader finds only if it is open already or in its search path.
void open_second(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return;
  glob_t found{};
  if (glob((path.substr(0, slash) + "/libnvrtc-builtins.so.*").c_str(), 0, nullptr, &found) == 0)
    for (size_t i = 0; i < found.gl_pathc; ++i) dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_LOCAL);
  globfree(&found);
}

}  // namespace

struct Nvrtc::Functions {
#define F(name, symbol, arguments) int(*name) arguments = nullptr;
  RETORT_NVRTC(F)
#undef F
};

const Nvrtc& Nvrtc::get() {
  static const Nvrtc& once = *new Nvrtc;
  return once;
}

std::string Nvrtc::missing() {
  try {
    get();
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

Nvrtc::Nvrtc() {
  const Library library("NVRTC", {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"},
                        "nvidia-cuda-nvrtc");
  open_second(library.path());
  auto functions = std::make_unique<Functions>();
#define F(name, symbol, arguments) \
  functions->name = reinterpret_cast<decltype(functions->name)>(library.function(#symbol));
  RETORT_NVRTC(F)
#undef F
  int major = 0, minor = 0, count = 0;
  functions->version(&major, &minor);
  version_ = text(major, ".", minor);
  functions->count(&count);
  architectures_.resize(size_t(std::max(count, 0)));
  if (count > 0) functions->list(architectures_.data());
  std::sort(architectures_.begin(), architectures_.end());
  functions_ = functions.release();
}

int Nvrtc::code_for(int architecture) const {
  const auto after = std::upper_bound(architectures_.begin(), architectures_.end(), architecture);
  if (after == architectures_.begin())
    throw Error(text("NVRTC ", version_, " has no code for devices of compute capability ", architecture / 10, ".",
                     architecture % 10, "; its oldest is ", architectures_.empty() ? 0 : architectures_[0] / 10, ".",
                     architectures_.empty() ? 0 : architectures_[0] % 10));
  return *std::prev(after);
}

std::string Nvrtc::target(int architecture) const {
  const int newest = code_for(architecture);
  return text(newest == architecture ? "-arch=sm_" : "-arch=compute_", newest);
}

std::string Nvrtc::compile(const std::string& source, const std::string& who,
                           const std::vector<std::string>& options) const {
  const Functions& f = *functions_;
  Program made = nullptr;
  if (f.create(&made, source.c_str(), "kernel.cu", 0, nullptr, nullptr) != 0)
    throw Error(text("NVRTC does not take the text of ", who));
  const std::unique_ptr<Program, void (*)(Program*)> program(&made,
                                                             [](Program* p) { Nvrtc::get().functions_->destroy(p); });
  std::vector<const char*> list;
  bool is_binary = false;
  for (const std::string& option : options) {
    list.push_back(option.c_str());
    is_binary = is_binary || option.compare(0, 9, "-arch=sm_") == 0;
  }
  size_t bytes = 0;
  if (const int result = f.compile(made, int(list.size()), list.data())) {
    std::string log;
    if (f.log_size(made, &bytes) == 0) {
      log.resize(bytes);
      f.log(made, log.data());
    }
    std::string used;
    for (const std::string& option : options) used += (used.empty() ? "" : " ") + option;
    throw Error(
        text(who, " does not compile (NVRTC ", version_, ", code ", result, ", options ", used, "): ", log.c_str()));
  }
  if ((is_binary ? f.binary_size : f.text_size)(made, &bytes) != 0) throw Error(text("NVRTC made no code of ", who));
  std::string image(bytes, '\0');
  if ((is_binary ? f.binary : f.text)(made, image.data()) != 0) throw Error(text("NVRTC made no code of ", who));
  return image;
}

}  // namespace providers::cuda
