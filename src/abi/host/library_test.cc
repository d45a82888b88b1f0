// Tests plug-in libraries that cannot be opened.
#include <gtest/gtest.h>
#include <malloc.h>

#include <string>

#include "abi/slots.h"

namespace retort::abi {
namespace {

/// Bytes that the C library has allocated. 0 under AddressSanitizer, which looks for leaks itself.
size_t bytes_in_use() { return mallinfo2().uordblks; }

TEST(PluginLibraries, OpensThatFailKeepNothing) {
  const OrtApi& api = *base_api::GetApi(ORT_API_VERSION);
  OrtEnv* env = nullptr;
  ASSERT_FALSE(api.CreateEnv(ORT_LOGGING_LEVEL_FATAL, "test", &env));
  const auto open = [&](int times) {
    for (int i = 0; i < times; ++i) {
      OrtStatus* status = api.RegisterExecutionProviderLibrary(env, "absent", "/absent/plugin.so");
      ASSERT_TRUE(status);
      EXPECT_NE(std::string(api.GetErrorMessage(status)).find("'/absent/plugin.so' cannot be opened"),
                std::string::npos);
      api.ReleaseStatus(status);
    }
  };
  open(10);  // allocates what is made only once
  const size_t before = bytes_in_use();
  open(1000);
  EXPECT_LE(bytes_in_use(), before + 8 * 1000);
  api.ReleaseEnv(env);
}

}  // namespace
}  // namespace retort::abi
