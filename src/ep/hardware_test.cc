// Tests on systems that are made of files. The expected results are those of the official library, which was run on the
// same files in a mount namespace; tests cannot rely on having one.
#include "ep/hardware.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace retort {
namespace {

namespace fs = std::filesystem;

std::string text_of(const std::vector<HardwareDevice>& devices) {
  std::string text;
  for (const HardwareDevice& d : devices) {
    constexpr const char* kKinds[] = {"cpu", "gpu", "npu"};
    text += cat("{}{} {:04x}:{:04x}", text.empty() ? "" : "; ", kKinds[size_t(d.kind)], d.vendor_id, d.device_id);
    for (const auto& [key, value] : d.metadata) text += cat(" {}={}", key, value);
  }
  return text;
}

class System : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = (fs::temp_directory_path() / "retort-sys-XXXXXX").string();
    root_ = fs::canonical(mkdtemp(path.data()));
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }
  /// Makes a device of the bus, and a link to it.
  void device(const std::string& bus_id, const std::string& vendor, const std::string& id,
              const std::string& entry = "", const std::string& type = "0x030000\n") const {
    const std::string folder = "devices/" + bus_id + "/";
    write(folder + "vendor", vendor);
    write(folder + "device", id);
    write(folder + "class", type);
    if (!entry.empty()) link(entry + "/device", "devices/" + bus_id);
  }
  void link(const std::string& name, const std::string& to) const {
    fs::create_directories((root_ / name).parent_path());
    fs::create_directory_symlink(root_ / to, root_ / name);
  }
  std::string found() const { return text_of(find_hardware(root_)); }

  fs::path root_;
};

TEST_F(System, WithoutDevices) {
  EXPECT_EQ(found(), "");
  EXPECT_EQ(text_of(find_hardware("/nowhere/at/all")), "");
  fs::create_directories(root_ / "class/drm");
  EXPECT_EQ(found(), "");
  write("class/accel", "a file");
  EXPECT_EQ(found(), "");
}

TEST_F(System, NpusThenGpusByTheirNumbers) {
  device("0000:01:00.0", "0x10de\n", "0x1eb8\n", "class/drm/card10");
  device("0000:02:00.0", "0x8086\n", "0x7d55\n", "class/drm/card2");
  device("0000:00:0b.0", "0x8086\n", "0x7d1d\n", "class/accel/accel0", "0x120000\n");
  link("class/drm/renderD128/device", "devices/0000:01:00.0");
  link("class/drm/card2-DP-1/device", "class/drm/card2");
  write("class/drm/version", "drm 1.1.0\n");
  EXPECT_EQ(found(),
            "npu 8086:7d1d accel_idx=0 pci_bus_id=0000:00:0b.0; gpu 8086:7d55 card_idx=2 pci_bus_id=0000:02:00.0; "
            "gpu 10de:1eb8 card_idx=10 Discrete=1 pci_bus_id=0000:01:00.0");
}

TEST_F(System, NamesOfEntries) {
  for (const char* name :
       {"card", "cardx", "card3x", "Card3", "xcard3", "card-3", "card99999999999999999999", "accel1"})
    link(std::string("class/drm/") + name + "/device", "devices/d");
  device("d", "0x1\n", "0x2\n");
  EXPECT_EQ(found(), "");
  link("class/drm/card03/device", "devices/d");
  EXPECT_EQ(found(), "gpu 0001:0002 card_idx=3");  // "d" is not an address on a bus
}

TEST_F(System, BrokenEntriesAreNoDevices) {
  device("0000:09:00.0", "0x1234", "0X1EB8", "class/drm/card9");
  const std::string good = "gpu 1234:1eb8 card_idx=9 pci_bus_id=0000:09:00.0";
  EXPECT_EQ(found(), good);
  for (const char* text : {"", "\n", "10de\n", "0x\n", "0x10de zz\n", "0x10de\n0x8086\n", "-0x1\n", "0x10000\n",
                           "0x123456789\n", "0x123456789abcdef01\n", "hello", "0xg"}) {
    write("class/drm/card0/device/vendor", text);
    write("class/drm/card0/device/device", "0x1");
    EXPECT_EQ(found(), good) << text;
    write("class/drm/card0/device/device", text);
    write("class/drm/card0/device/vendor", "0x1");
    EXPECT_EQ(found(), good) << text;
  }
  fs::remove(root_ / "class/drm/card0/device/vendor");
  fs::create_directory(root_ / "class/drm/card0/device/vendor");
  EXPECT_EQ(found(), good);
  fs::remove(root_ / "class/drm/card0/device/vendor");
  ASSERT_EQ(mkfifo((root_ / "class/drm/card0/device/vendor").c_str(), 0600), 0);
  EXPECT_EQ(found(), good);
  link("class/drm/card1/device", "class/drm/card1/device");  // a loop
  link("class/drm/card2/device", "devices/gone");
  write("class/drm/card3", "a file");
  EXPECT_EQ(found(), good);
}

TEST_F(System, NumbersMayHaveSpaceAround) {
  write("class/drm/card0/device/vendor", " 0x00000010de \n");
  write("class/drm/card0/device/device", "\t0x1EB8");
  EXPECT_EQ(found(), "gpu 10de:1eb8 card_idx=0 Discrete=1");
}

TEST_F(System, AddressesOnTheBus) {
  int n = 0;
  for (const char* name : {"10000:e1:1f.7", "0000:E1:00.0", "x0000:e1:00.0", "0000:e1:00.0y", "0000:e1:00", ":e1:00.0"})
    device(name, "0x1\n", "0x2\n", cat("class/drm/card{}", n++));
  EXPECT_EQ(found(),
            "gpu 0001:0002 card_idx=0 pci_bus_id=10000:e1:1f.7; gpu 0001:0002 card_idx=1; gpu 0001:0002 card_idx=2; "
            "gpu 0001:0002 card_idx=3; gpu 0001:0002 card_idx=4; gpu 0001:0002 card_idx=5");
}

TEST_F(System, NvidiaPlatformGpu) {
  write("class/drm/card0/device/uevent", "OF_NAME=gpu\nDRIVER=nv_platform\n");
  write("class/drm/card1/device/uevent", "DRIVER=nv_platformx\n");
  write("class/drm/card2/device/uevent", "DRIVER=vc4\n");
  EXPECT_EQ(found(), "gpu 10de:0000 card_idx=0 Discrete=0");
}

TEST_F(System, TheBusIsScannedIfNoCardExists) {
  device("0000:03:00.0", "0x10de\n", "0x1eb8\n");
  device("0000:02:00.0", "0x1002\n", "0x73bf\n", "", "0x030200\n");
  device("0000:04:00.0", "0x1\n", "0x2\n", "", "0x038000\n");
  device("0000:05:00.0", "0x1\n", "0x2\n", "", "0x120000\n");
  device("0000:06:00.0", "zz\n", "0x2\n");
  device("0000:07:00.0", "0x1\n", "0x2\n", "", "0x03\n");
  for (const char* id : {"2", "3", "4", "5", "6", "7"})
    link(cat("bus/pci/devices/0000:0{}:00.0", id), cat("devices/0000:0{}:00.0", id));
  const std::string scanned = "gpu 1002:73bf pci_bus_id=0000:02:00.0; gpu 10de:1eb8 Discrete=1 pci_bus_id=0000:03:00.0";
  EXPECT_EQ(found(), scanned);
  link("class/drm/card0/device", "devices/0000:06:00.0");  // this link leads to no device
  EXPECT_EQ(found(), scanned);
  link("class/drm/card1/device", "devices/0000:05:00.0");
  EXPECT_EQ(found(), "gpu 0001:0002 card_idx=1 pci_bus_id=0000:05:00.0");
}

TEST(VirtualDevices, AreDeclared) {
  EXPECT_EQ(text_of(virtual_devices("")), "");
  EXPECT_EQ(text_of(virtual_devices("gpu:0x10de:0x1eb8")), "gpu 10de:1eb8 is_virtual=1");
  EXPECT_EQ(text_of(virtual_devices("npu:0x8086:0x7D1D,gpu:0x1:0x2")),
            "npu 8086:7d1d is_virtual=1; gpu 0001:0002 is_virtual=1");
  EXPECT_EQ(text_of(virtual_devices("cpu:0x8086:0x0")), "cpu 8086:0000 is_virtual=1");
  // Vendors outside of the PCI lists have ids of 32 bits; Qualcomm's is "QCOM" in ASCII.
  EXPECT_EQ(text_of(virtual_devices("npu:0x4d4f4351:0x41")), "npu 4d4f4351:0041 is_virtual=1");
}

TEST(VirtualDevices, MistakesAreNamed) {
  for (const char* text : {"gpu", "gpu:", "gpu:0x1", "gpu:0x1:", "gpu:1:2", "gpu:0x1:0x2:0x3", "gpu:0x100000000:0x1",
                           "tpu:0x1:0x2", "GPU:0x1:0x2", ",", "gpu:0x1:0x2,", ",gpu:0x1:0x2",
                           "gpu:0x1:0x2,,npu:0x1:0x2", "gpu:-0x1:0x2", "gpu:0x1:0x2;npu:0x1:0x2"}) {
    try {
      virtual_devices(text);
      ADD_FAILURE() << text;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_argument) << text;
      EXPECT_NE(e.message().find("virtual device"), std::string::npos) << e.message();
    }
  }
}

}  // namespace
}  // namespace retort
