// retort devices: shows the devices that could run a model here.
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>

#include "cli/commands.h"
#include "cli/terminal.h"
#include "cli/text.h"

namespace retort::cli {
namespace {

using nlohmann::json;

/// The value of the first line "key : value" in a file of /proc.
std::string proc_value(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos || line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1) != key) continue;
    const size_t from = line.find_first_not_of(" \t", colon + 1);
    return from == std::string::npos ? "" : line.substr(from);
  }
  return "";
}

/// The instruction sets of the processor that matter for speed.
std::vector<std::string> instruction_sets() {
  std::istringstream flags(proc_value("/proc/cpuinfo", "flags"));
  const std::set<std::string> has{std::istream_iterator<std::string>(flags), {}};
  std::vector<std::string> found;
  for (const char* name : {"sse4_2", "avx", "f16c", "fma", "avx2", "avx_vnni", "avx512f", "avx512bw", "avx512_vnni",
                           "avx512_bf16", "avx512_fp16", "amx_tile", "amx_int8", "amx_bf16"}) {
    if (has.contains(name)) found.emplace_back(name);
  }
  return found;
}

/// The number of processors that the control group allows this process to use at a time; 0: no limit.
double processor_quota() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  return file >> quota >> period && quota != "max" && period > 0 ? std::atof(quota.c_str()) / period : 0;
}

json processor() {
  const int64_t kib = std::atoll(proc_value("/proc/meminfo", "MemTotal").c_str());
  return {{"name", proc_value("/proc/cpuinfo", "model name")},
          {"threads", std::thread::hardware_concurrency()},
          {"quota", processor_quota()},
          {"instruction_sets", instruction_sets()},
          {"memory_bytes", kib * 1024}};
}

json pairs(const EngineLibrary& engine, const OrtKeyValuePairs* from) {
  json all = json::object();
  const char* const* keys = nullptr;
  const char* const* values = nullptr;
  size_t count = 0;
  if (from) engine.api().GetKeyValuePairs(from, &keys, &values, &count);
  for (size_t i = 0; i < count; ++i) all[keys[i]] = values[i];
  return all;
}

json hardware_json(const EngineLibrary& engine, const OrtHardwareDevice* hardware) {
  const OrtApi& api = engine.api();
  constexpr const char* kKinds[] = {"CPU", "GPU", "NPU"};
  const auto kind = size_t(api.HardwareDevice_Type(hardware));
  return {{"kind", kind < 3 ? kKinds[kind] : "other"},
          {"vendor", api.HardwareDevice_Vendor(hardware)},
          {"vendor_id", api.HardwareDevice_VendorId(hardware)},
          {"device_id", api.HardwareDevice_DeviceId(hardware)},
          {"details", pairs(engine, api.HardwareDevice_Metadata(hardware))}};
}

json device_json(const EngineLibrary& engine, const OrtEpDevice* device) {
  const OrtApi& api = engine.api();
  json told = hardware_json(engine, api.EpDevice_Device(device));
  told["provider"] = api.EpDevice_EpName(device);
  told["provider_vendor"] = api.EpDevice_EpVendor(device);
  told["options"] = pairs(engine, api.EpDevice_EpOptions(device));
  return told;
}

/// Null if the engine does not report it.
json engine_hardware(const EngineLibrary& engine) {
  if (engine.api_version() < 24) return nullptr;
  size_t count = 0;
  engine.check(engine.api().GetNumHardwareDevices(engine.env(), &count));
  std::vector<const OrtHardwareDevice*> devices(count);
  engine.check(engine.api().GetHardwareDevices(engine.env(), devices.data(), count));
  json all = json::array();
  for (const OrtHardwareDevice* device : devices) all.push_back(hardware_json(engine, device));
  return all;
}

/// Null if the engine does not find devices by itself.
json engine_devices(const EngineLibrary& engine) {
  if (engine.api_version() < 22) return nullptr;
  const OrtEpDevice* const* devices = nullptr;
  size_t count = 0;
  OrtStatus* status = engine.api().GetEpDevices(engine.env(), &devices, &count);
  if (status && engine.api().GetErrorCode(status) == ORT_NOT_IMPLEMENTED) {
    engine.api().ReleaseStatus(status);
    return nullptr;
  }
  engine.check(status);
  json all = json::array();
  for (size_t i = 0; i < count; ++i) all.push_back(device_json(engine, devices[i]));
  return all;
}

void print_details(const json& device) {
  for (const auto& [key, value] : device["details"].items())
    std::printf("    %s: %s\n", key.c_str(), value.get<std::string>().c_str());
}

void print_hardware(const json& devices) {
  std::printf("%s\n", paint(Paint::bold, "hardware").c_str());
  if (devices.is_null()) std::printf("  not reported by this engine\n");
  for (const json& d : devices) {
    const std::string vendor = d["vendor"];
    std::printf("  %s %04x:%04x%s%s\n", d["kind"].get<std::string>().c_str(), d["vendor_id"].get<unsigned>(),
                d["device_id"].get<unsigned>(), vendor.empty() ? "" : " ", vendor.c_str());
    print_details(d);
  }
}

void print_devices(const json& all) {
  const json& cpu = all["processor"];
  std::printf("%s\n", paint(Paint::bold, "processor").c_str());
  std::printf("  %s, %d threads", cpu["name"].get<std::string>().c_str(), cpu["threads"].get<int>());
  if (cpu["quota"] > 0.0) std::printf(", of which this process may use %.3g at a time", cpu["quota"].get<double>());
  std::printf("\n  %s of memory\n ", scaled(cpu["memory_bytes"], "B").c_str());
  for (const std::string set : cpu["instruction_sets"]) std::printf(" %s", set.c_str());
  std::printf("\n%s (engine: %s)\n", paint(Paint::bold, "providers").c_str(), all["engine"].get<std::string>().c_str());
  for (const std::string name : all["providers"]) std::printf("  %s\n", name.c_str());
  print_hardware(all["hardware"]);
  std::printf("%s\n", paint(Paint::bold, "devices of providers").c_str());
  if (all["devices"].is_null()) std::printf("  this engine does not find devices; it has the processor\n");
  for (const json& d : all["devices"]) {
    const std::string vendor = d["vendor"];  // empty if the plug-in does not say
    std::printf("  %s through %s%s\n", d["kind"].get<std::string>().c_str(), d["provider"].get<std::string>().c_str(),
                vendor.empty() ? "" : (" (" + vendor + ")").c_str());
    print_details(d);
  }
}

void list_devices(const Common& o) {
  const EngineLibrary engine(default_library(o.library));
  for (const std::string& text : o.plugins) {
    const auto [name, file] = split_at(text, '=', "NAME=FILE");
    engine.register_plugin(name, file);
  }
  const json all = {{"engine", engine.name()},
                    {"processor", processor()},
                    {"providers", engine.providers()},
                    {"hardware", engine_hardware(engine)},
                    {"devices", engine_devices(engine)}};
  if (o.json)
    print_json(all);
  else
    print_devices(clean(all));
}

void add_devices(CLI::App& app) {
  CLI::App* sub =
      app.add_subcommand("devices", "show the devices that could run a model here: processor, hardware, providers");
  const auto o = std::make_shared<Common>();
  o->add_library(*sub);
  o->add_plugins(*sub, "load a plug-in provider first; may be repeated");
  o->add_json(*sub);
  sub->footer(
      "A provider is the part of an engine that runs nodes on one kind of device; --provider of other commands takes "
      "its\n"
      "name.\n\n"
      "Example: retort devices --json");
  sub->callback([o] { list_devices(*o); });
}

}  // namespace

extern const Command command_devices;
constinit const Command command_devices{80, add_devices};

}  // namespace retort::cli
