// Finds devices as the official library does, so that programs and plug-in providers see the same: the same files are
// read, the same entries count as devices, and metadata has the same names. Only the order differs, where the official
// one is that of a hash table.
#include "ep/hardware.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <tuple>

#include "base/error.h"

namespace retort {
namespace {

namespace fs = std::filesystem;
using Kind = HardwareDevice::Kind;

constexpr uint32_t kNvidia = 0x10de;
constexpr uint32_t kDisplay[] = {0x0300, 0x0302};  // classes in PCI lists: VGA and 3D controllers

/// Reads a file of the system's tables; nullopt if it is not a file or cannot be read.
std::optional<std::string> read_entry(const fs::path& file) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return std::nullopt;
  const std::unique_ptr<FILE, int (*)(FILE*)> in(std::fopen(file.c_str(), "rbe"), &std::fclose);
  if (!in) return std::nullopt;
  std::string text(4096, '\0');  // entries have at most one page
  text.resize(std::fread(text.data(), 1, text.size(), in.get()));
  return text;
}

/// The whole text as a decimal number.
std::optional<uint64_t> number_of(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// A number like "0x10de", up to `most`.
std::optional<uint32_t> hex_of(std::string_view text, uint32_t most) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  const size_t from = text.find_first_not_of(kSpace);
  if (from == std::string_view::npos) return std::nullopt;
  text = text.substr(from, text.find_last_not_of(kSpace) + 1 - from);
  if (!text.starts_with("0x") && !text.starts_with("0X")) return std::nullopt;
  text.remove_prefix(2);
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || value > most) return std::nullopt;
  return value;
}

std::optional<uint32_t> read_hex(const fs::path& file, uint32_t most = 0xffff) {
  const auto text = read_entry(file);
  return text ? hex_of(*text, most) : std::nullopt;
}

/// Whether the text is like "0000:01:00.0": domain, bus, device and function in lower-case hexadecimal digits.
bool is_bus_id(std::string_view text) {
  for (const char* separator : {":", ":", ".", ""}) {
    const size_t digits = std::min(text.find_first_not_of("0123456789abcdef"), text.size());
    if (digits == 0 || !text.substr(digits).starts_with(separator)) return false;
    text.remove_prefix(digits + std::string_view(separator).size());
  }
  return text.empty();
}

/// The address of a device on its bus is the name of the folder that the entry links to.
void add_bus_id(HardwareDevice& device, const fs::path& entry) {
  std::error_code error;
  const std::string name = fs::canonical(entry, error).filename().string();
  if (!error && is_bus_id(name)) device.metadata.emplace_back("pci_bus_id", name);
}

struct Entry {
  uint64_t number;
  fs::path path;
};

/// The entries of a folder whose names are `prefix` and a number, sorted by that number.
std::vector<Entry> numbered(const fs::path& folder, std::string_view prefix) {
  std::vector<Entry> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with(prefix)) continue;
    if (const auto number = number_of(std::string_view(name).substr(prefix.size())))
      found.push_back({*number, at->path()});
  }
  std::sort(found.begin(), found.end(),
            [](const Entry& a, const Entry& b) { return std::tie(a.number, a.path) < std::tie(b.number, b.path); });
  return found;
}

bool has_line(const std::optional<std::string>& text, std::string_view line) {
  return text && cat("\n{}\n", *text).find(cat("\n{}\n", line)) != std::string::npos;
}

/// A GPU inside a system on a chip has no PCI vendor; NVIDIA's driver for these is recognised by its name.
bool is_nvidia_platform(const fs::path& device) {
  std::error_code error;
  return !fs::exists(device / "vendor", error) && has_line(read_entry(device / "uevent"), "DRIVER=nv_platform");
}

std::optional<HardwareDevice> read_card(const Entry& card) {
  const fs::path entry = card.path / "device";
  HardwareDevice made;
  made.metadata.emplace_back("card_idx", cat("{}", card.number));
  if (is_nvidia_platform(entry)) {
    made.vendor_id = kNvidia;
    made.metadata.emplace_back("Discrete", "0");
    return made;
  }
  const auto vendor = read_hex(entry / "vendor"), device = read_hex(entry / "device");
  if (!vendor || !device) return std::nullopt;
  made.vendor_id = *vendor;
  made.device_id = *device;
  if (*vendor == kNvidia) made.metadata.emplace_back("Discrete", "1");
  add_bus_id(made, entry);
  return made;
}

std::optional<HardwareDevice> read_accelerator(const Entry& accelerator) {
  const fs::path entry = accelerator.path / "device";
  const auto vendor = read_hex(entry / "vendor"), device = read_hex(entry / "device");
  if (!vendor || !device) return std::nullopt;
  HardwareDevice made{Kind::npu, *vendor, *device, {{"accel_idx", cat("{}", accelerator.number)}}};
  add_bus_id(made, entry);
  return made;
}

/// For systems whose graphics drivers are not loaded, or are hidden from this process.
std::vector<HardwareDevice> scan_bus(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    entries.push_back(at->path());
  std::sort(entries.begin(), entries.end());
  std::vector<HardwareDevice> found;
  for (const fs::path& entry : entries) {
    const auto type = read_hex(entry / "class", 0xffffff);
    if (!type || std::find(std::begin(kDisplay), std::end(kDisplay), *type >> 8) == std::end(kDisplay)) continue;
    const auto vendor = read_hex(entry / "vendor"), device = read_hex(entry / "device");
    if (!vendor || !device) continue;
    HardwareDevice made{Kind::gpu, *vendor, *device, {}};
    if (*vendor == kNvidia) made.metadata.emplace_back("Discrete", "1");
    made.metadata.emplace_back("pci_bus_id", entry.filename().string());
    found.push_back(std::move(made));
  }
  return found;
}

}  // namespace

std::vector<HardwareDevice> find_hardware(const std::string& root) {
  std::vector<HardwareDevice> found, gpus;
  for (const Entry& accelerator : numbered(fs::path(root) / "class/accel", "accel")) {
    if (auto device = read_accelerator(accelerator)) found.push_back(std::move(*device));
  }
  for (const Entry& card : numbered(fs::path(root) / "class/drm", "card")) {
    if (auto device = read_card(card)) gpus.push_back(std::move(*device));
  }
  if (gpus.empty()) gpus = scan_bus(fs::path(root) / "bus/pci/devices");
  found.insert(found.end(), gpus.begin(), gpus.end());
  return found;
}

std::vector<HardwareDevice> virtual_devices(std::string_view text) {
  std::vector<HardwareDevice> found;
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find(','));
    const std::string_view kind = one.substr(0, one.find(':'));
    const std::string_view ids = one.substr(std::min(kind.size() + 1, one.size()));
    const size_t colon = ids.find(':');
    const auto vendor = hex_of(ids.substr(0, colon), 0xffffffff);
    const auto device = colon == ids.npos ? std::nullopt : hex_of(ids.substr(colon + 1), 0xffffffff);
    const bool cpu = kind == "cpu", gpu = kind == "gpu";
    require(
        (cpu || gpu || kind == "npu") && vendor && device, ErrorCode::invalid_argument,
        "virtual device '{}' is not of the form gpu:0x10de:0x1eb8 or npu:0x8086:0x7d1d: cpu, gpu or npu, then vendor "
        "and device, each 0x and up to 8 hexadecimal digits",
        one);
    found.push_back({cpu ? Kind::cpu : gpu ? Kind::gpu : Kind::npu, *vendor, *device, {{"is_virtual", "1"}}});
    require(one.size() + 1 != text.size(), ErrorCode::invalid_argument,
            "virtual devices '{}' end with ','; name another device, or remove the comma", text);
    text.remove_prefix(std::min(one.size() + 1, text.size()));
  }
  return found;
}

}  // namespace retort
