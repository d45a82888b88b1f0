#include "measure/machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "engine/engine.h"

namespace retort::cli {
namespace {

/// The value of the first line "key : value" with one of these keys.
std::string cpuinfo(const std::vector<std::string>& keys) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos || colon + 2 > line.size()) continue;
    const std::string key = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) return line.substr(colon + 2);
  }
  return "";
}

/// The instruction sets of the processor that engines have kernels for.
std::vector<std::string> known_instruction_sets() {
  constexpr const char* kTold[] = {"sse4_2",      "avx",      "fma",      "f16c",        "avx2",
                                   "avx_vnni",    "avx512f",  "avx512bw", "avx512_vnni", "avx512_bf16",
                                   "avx512_fp16", "amx_tile", "amx_int8", "amx_bf16",    "asimd",
                                   "asimddp",     "i8mm",     "bf16",     "sve",         "sve2"};
  std::istringstream words(cpuinfo({"flags", "Features"}));
  std::set<std::string> there;
  for (std::string word; words >> word;) there.insert(word);
  std::vector<std::string> isa;
  for (const char* name : kTold) {
    if (there.contains(name)) isa.emplace_back(name);
  }
  return isa;
}

/// The best of the levels of RETORT_ISA that the processor has.
std::string best_level() {
#ifdef __x86_64__
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return avx2 ? (avx512 ? "avx512" : "avx2") : "v2";
#else
  return "neon";
#endif
}

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

nlohmann::json caches() {
  nlohmann::json all = nlohmann::json::object();
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/devices/system/cpu/cpu0/cache", none)) {
    const std::string level = first_line(entry.path() / "level"), type = first_line(entry.path() / "type");
    const std::string size = first_line(entry.path() / "size");
    if (level.empty() || size.empty() || type == "Instruction") continue;
    const long kib = std::atol(size.c_str());
    all["L" + level + (type == "Data" ? "d" : "")] =
        kib >= 1024 ? std::to_string(kib / 1024) + " MiB" : std::to_string(kib) + " KiB";
  }
  return all;
}

}  // namespace

std::string instruction_level() {
  const std::string chosen = chosen_level();
  return chosen.empty() ? best_level() : chosen;
}

nlohmann::json describe_machine() {
  nlohmann::json machine = {{"cores", std::thread::hardware_concurrency()}, {"isa", known_instruction_sets()}};
  machine["level"] = instruction_level();
  machine["best_level"] = best_level();
  utsname system{};
  uname(&system);
  const std::string name = cpuinfo({"model name", "Hardware", "cpu model"});
  machine["processor"] = name.empty() ? system.machine : name;
  machine["system"] = std::string(system.sysname) + " " + system.release + " " + system.machine;
  machine["memory_bytes"] = double(sysconf(_SC_PHYS_PAGES)) * double(sysconf(_SC_PAGE_SIZE));
  if (const auto sizes = caches(); !sizes.empty()) machine["caches"] = sizes;
  if (double load = 0; getloadavg(&load, 1) == 1) machine["load"] = load;
  return machine;
}

}  // namespace retort::cli
