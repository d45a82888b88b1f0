// A stand-in for NVRTC that compiles with g++.
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "image.h"
#include "nvrtc_text.h"
#include "texts.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace software_cuda {
namespace {

namespace fs = std::filesystem;
enum Result { kOk = 0, kInvalidInput = 3, kInvalidProgram = 4, kInvalidOption = 5, kCompilation = 6, kNoName = 9 };

struct Program {
  std::string source, name, log;
  std::vector<std::pair<std::string, std::string>> headers;  // name, text
  std::vector<char> image;
  std::map<std::string, std::string> names;
};

struct Options {
  std::vector<std::string> defines;
  int architecture = 75;
  std::string unknown;
};

std::string folder_of_library() {
  Dl_info info{};
  dladdr(reinterpret_cast<void*>(&folder_of_library), &info);
  return fs::absolute(info.dli_fname ? info.dli_fname : ".").parent_path().string();
}

fs::path cache_folder() {
  const char* const given = std::getenv("SOFTWARE_CUDA_CACHE");
  fs::path folder = given && *given ? fs::path(given) : fs::path(folder_of_library()) / "kernels";
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed || access(folder.c_str(), W_OK) != 0) {
    folder = fs::temp_directory_path() / ("software_cuda." + std::to_string(getpid()));
    fs::create_directories(folder, failed);
  }
  return folder;
}

std::string compiler() {
  const char* const given = std::getenv("CXX");
  return given && *given ? given : "c++";
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void write_file(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

/// Runs a program; its messages go to `log`. Whether it returned 0.
bool execute(const std::vector<std::string>& words, const fs::path& log) {
  std::vector<char*> argv;
  for (const auto& w : words) argv.push_back(const_cast<char*>(w.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t pid = 0;
  const int failed = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed) return false;
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

Options read_options(int count, const char* const* options) {
  Options o;
  for (int i = 0; i < count; ++i) {
    std::string text = options[i];
    const auto value = [&](const char* prefix) {
      const bool match = text.rfind(prefix, 0) == 0;
      if (match) text.erase(0, std::strlen(prefix));
      return match;
    };
    if (text == "-D" && i + 1 < count) {
      o.defines.push_back(options[++i]);
    } else if (value("--define-macro=") || value("-D")) {
      o.defines.push_back(text);
    } else if (value("--gpu-architecture=") || value("-arch=")) {
      const size_t digits = text.find_first_of("0123456789");
      if (digits == std::string::npos || (!value("sm_") && !value("compute_"))) o.unknown = options[i];
      o.architecture = std::atoi(text.c_str());
    } else if (text.empty() || text[0] != '-') {
      o.unknown = text;
    }
  }
  return o;
}

/// A name for the compiled program that depends on everything that the result depends on.
std::string key_of(const Program& p, const Options& o) {
  std::string all = std::string(software_text_abi) + software_text_front + software_text_math + software_text_tail;
  all += compiler() + "\n" + p.source + "\n" + std::to_string(o.architecture);
  for (const auto& [name, text] : p.headers) all += "\n" + name + "\n" + text;
  for (const auto& d : o.defines) all += "\n" + d;
  char text[40];
  std::snprintf(text, sizeof text, "%016llx%08zx", (unsigned long long)image_sum(all.data(), all.size()), all.size());
  return text;
}

/// Compiles into `library`. Files of this compilation have names that begin with `stem`.
bool build(const Program& p, const Options& o, const std::string& stem, const fs::path& library, std::string& log) {
  const fs::path source = stem + ".cu", expanded = stem + ".ii", whole = stem + ".cc", made = stem + ".so",
                 messages = stem + ".log", headers = stem + ".d";
  write_file(source, p.source);
  std::vector<std::string> first{compiler(),
                                 "-E",
                                 "-x",
                                 "c++",
                                 "-std=c++20",
                                 "-nostdinc",
                                 "-w",
                                 "-I" + headers.string(),
                                 "-D__CUDA_ARCH__=" + std::to_string(o.architecture * 10)};
  for (const auto& d : o.defines) first.push_back("-D" + d);
  if (!p.headers.empty()) fs::create_directories(headers);
  for (const auto& [name, text] : p.headers) write_file(headers / name, text);
  first.insert(first.end(), {"-o", expanded.string(), source.string()});
  bool fine = execute(first, messages);
  if (fine) {
    write_file(whole, wrap(read_file(expanded)));
    fine = execute({compiler(),
                    "-std=c++20",
                    "-Og",  // most kernels run once: compiling takes longer
                    "-w",
                    "-shared",
                    "-nodefaultlibs",
                    "-fPIC",
                    "-pipe",
                    "-fvisibility=hidden",
                    "-fno-gnu-unique",
                    "-fno-exceptions",
                    "-fno-rtti",
                    "-fno-strict-aliasing",
                    "-fwrapv",
                    "-ffp-contract=off",
                    "-fno-math-errno",
                    "-fno-threadsafe-statics",
                    "-fno-asynchronous-unwind-tables",
                    "-o",
                    made.string(),
                    whole.string(),
                    "-lm",
                    "-lgcc"},
                   messages);
  }
  log = read_file(messages);
  std::error_code ignored;
  if (fine) fs::rename(made, library, ignored);  // whole, or not at all
  if (!std::getenv("SOFTWARE_CUDA_KEEP"))
    for (const auto& file : {source, expanded, whole, made, messages}) fs::remove(file, ignored);
  fs::remove_all(headers, ignored);
  return fine && !ignored;
}

Result compile(Program& p, const Options& o) {
  static std::atomic<int> number{0};
  if (!o.unknown.empty()) {
    p.log = "nvrtc: error: unrecognized option " + o.unknown + "\n";
    return kInvalidOption;
  }
  const fs::path folder = cache_folder();
  const std::string key = key_of(p, o);
  const fs::path library = folder / (key + ".so");
  std::string bytes = read_file(library);
  if (bytes.empty()) {
    const std::string stem =
        (folder / (key + "." + std::to_string(getpid()) + "." + std::to_string(++number))).string();
    if (!build(p, o, stem, library, p.log)) {
      if (p.log.empty()) p.log = "the software NVRTC cannot run " + compiler() + " or write to " + folder.string();
      return kCompilation;
    }
    bytes = read_file(library);
  }
  ImageHeader header{};
  std::memcpy(header.magic, kImageMagic, sizeof header.magic);
  header.bytes = bytes.size();
  header.sum = image_sum(bytes.data(), bytes.size());
  p.image.resize(sizeof header + bytes.size());
  std::memcpy(p.image.data(), &header, sizeof header);
  std::memcpy(p.image.data() + sizeof header, bytes.data(), bytes.size());
  return kOk;
}

}  // namespace
}  // namespace software_cuda

using software_cuda::Program;

EXPORT int nvrtcVersion(int* major, int* minor) {
  *major = 13;
  *minor = 0;
  return 0;
}

EXPORT const char* nvrtcGetErrorString(int result) {
  static const char* const names[] = {"NVRTC_SUCCESS",
                                      "NVRTC_ERROR_OUT_OF_MEMORY",
                                      "NVRTC_ERROR_PROGRAM_CREATION_FAILURE",
                                      "NVRTC_ERROR_INVALID_INPUT",
                                      "NVRTC_ERROR_INVALID_PROGRAM",
                                      "NVRTC_ERROR_INVALID_OPTION",
                                      "NVRTC_ERROR_COMPILATION"};
  return result >= 0 && result < 7 ? names[result] : "NVRTC_ERROR unknown";
}

EXPORT int nvrtcCreateProgram(Program** program, const char* source, const char* name, int count,
                              const char* const* headers, const char* const* names) {
  if (!program || !source || count < 0) return software_cuda::kInvalidInput;
  auto* const p = new Program;
  p->source = source;
  p->name = name ? name : "default_program";
  for (int i = 0; i < count; ++i) p->headers.emplace_back(names[i], headers[i]);
  *program = p;
  return 0;
}

EXPORT int nvrtcDestroyProgram(Program** program) {
  if (!program || !*program) return software_cuda::kInvalidProgram;
  delete *program;
  *program = nullptr;
  return 0;
}

EXPORT int nvrtcCompileProgram(Program* p, int count, const char* const* options) {
  if (!p) return software_cuda::kInvalidProgram;
  return software_cuda::compile(*p, software_cuda::read_options(count, options));
}

EXPORT int nvrtcGetCUBINSize(Program* p, size_t* size) {
  if (!p || p->image.empty()) return software_cuda::kInvalidProgram;
  *size = p->image.size();
  return 0;
}

EXPORT int nvrtcGetCUBIN(Program* p, char* image) {
  if (!p || p->image.empty()) return software_cuda::kInvalidProgram;
  std::memcpy(image, p->image.data(), p->image.size());
  return 0;
}

EXPORT int nvrtcGetPTXSize(Program* p, size_t* size) { return nvrtcGetCUBINSize(p, size); }
EXPORT int nvrtcGetPTX(Program* p, char* image) { return nvrtcGetCUBIN(p, image); }

EXPORT int nvrtcGetProgramLogSize(Program* p, size_t* size) {
  if (!p) return software_cuda::kInvalidProgram;
  *size = p->log.size() + 1;
  return 0;
}

EXPORT int nvrtcGetProgramLog(Program* p, char* log) {
  if (!p) return software_cuda::kInvalidProgram;
  std::memcpy(log, p->log.c_str(), p->log.size() + 1);
  return 0;
}

EXPORT int nvrtcGetNumSupportedArchs(int* count) {
  *count = 3;
  return 0;
}

EXPORT int nvrtcGetSupportedArchs(int* list) {
  const int all[] = {75, 80, 90};
  std::memcpy(list, all, sizeof all);
  return 0;
}
