// Tests devices that an environment declares.
#include "abi/devices/devices.h"

#include <gtest/gtest.h>

#include "abi/slots.h"

namespace retort::abi {
namespace {

/// Makes an environment with one entry of configuration; returns null and sets the message on failure.
OrtEnv* open(const char* devices, std::string& message) {
  OrtKeyValuePairs config;
  if (devices) config.set(kVirtualDevices, devices);
  OrtEnvCreationOptions options{};
  options.version = ORT_API_VERSION;
  options.logging_severity_level = ORT_LOGGING_LEVEL_WARNING;
  options.log_id = "devices";
  options.config_entries = &config;
  OrtEnv* env = nullptr;
  if (OrtStatus* status = CreateEnvWithOptions(&options, &env)) {
    message = GetErrorMessage(status);
    ReleaseStatus(status);
  }
  return env;
}

std::vector<const OrtHardwareDevice*> hardware(const OrtEnv* env) {
  size_t count = 0;
  EXPECT_EQ(GetNumHardwareDevices(env, &count), nullptr);
  std::vector<const OrtHardwareDevice*> all(count);
  EXPECT_EQ(GetHardwareDevices(env, all.data(), count), nullptr);
  return all;
}

TEST(Devices, DeclaredOnesStandBeforeTheProcessor) {
  std::string message;
  OrtEnv* env = open(nullptr, message);
  ASSERT_TRUE(env) << message;
  const auto real = hardware(env);
  ReleaseEnv(env);

  env = open("gpu:0x10de:0x1eb8,npu:0x8086:0x7d1d", message);
  ASSERT_TRUE(env) << message;
  const auto all = hardware(env);
  ReleaseEnv(env);
  ASSERT_EQ(all.size(), real.size() + 2);
  const OrtHardwareDevice *gpu = all[real.size() - 1], *npu = all[real.size()];
  EXPECT_EQ(HardwareDevice_Type(gpu), OrtHardwareDeviceType_GPU);  // devices outlive their environment
  EXPECT_EQ(HardwareDevice_VendorId(gpu), 0x10deu);
  EXPECT_EQ(HardwareDevice_DeviceId(gpu), 0x1eb8u);
  EXPECT_STREQ(HardwareDevice_Vendor(gpu), "");
  EXPECT_STREQ(GetKeyValue(HardwareDevice_Metadata(gpu), "is_virtual"), "1");
  EXPECT_EQ(HardwareDevice_Type(npu), OrtHardwareDeviceType_NPU);
  EXPECT_EQ(HardwareDevice_Type(all.back()), OrtHardwareDeviceType_CPU);
  EXPECT_EQ(all.back(), real.back());

  env = open(nullptr, message);
  EXPECT_EQ(hardware(env), real);
  // No provider drives the declared devices yet.
  const OrtEpDevice* const* devices = nullptr;
  size_t count = 0;
  EXPECT_EQ(GetEpDevices(env, &devices, &count), nullptr);
  EXPECT_EQ(count, 1u);
  ReleaseEnv(env);
}

TEST(Devices, AMistakeIsNamedWhenTheEnvironmentIsMade) {
  std::string message;
  EXPECT_EQ(open("gpu:0x10de", message), nullptr);
  EXPECT_NE(message.find("'gpu:0x10de'"), std::string::npos) << message;
}

}  // namespace
}  // namespace retort::abi
