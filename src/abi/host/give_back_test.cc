// Exceptions that plug-ins throw while an object is released do not get out. This test covers what scenes
// (tests/abi/host/scenes_plugin_throws.cc) cannot reach.
#include <gtest/gtest.h>

#include <stdexcept>

#include "abi/devices/interop.h"
#include "abi/host/plugin.h"
#include "abi/kernels/kernels.h"
#include "abi/slots.h"

namespace retort::abi {
namespace {

int thrown = 0;

template <typename T>
void throws(T*) {
  ++thrown;
  throw std::runtime_error("not today");
}
/// Plug-ins in other languages declare functions noexcept whatever they do.
template <typename T>
auto quiet() {
  return reinterpret_cast<void (*)(T*) noexcept>(&throws<T>);
}

class GiveBack : public ::testing::Test {
 protected:
  void SetUp() override { thrown = 0; }
  void TearDown() override { EXPECT_EQ(thrown, 1); }

  OrtKernelInfo info(const char* type) {
    ExternalNode node;
    node.name = "looping";
    node.type = type;
    const Logger logger(LogLevel::warning, "",
                        [this](LogLevel, auto, auto, auto, std::string_view message) { logged += message; });
    OrtKernelInfo made(std::move(node), OrtLogger(logger));
    made.since_version = 11;
    made.bodies = {"body"};
    return made;
  }
  std::string logged;
};

TEST_F(GiveBack, TheHelperOfALoop) {
  const OrtKernelInfo loop = info("Loop");
  OrtLoopKernelHelper helper{};
  helper.ConcatOutput = [](OrtLoopKernelHelper*, void*, const OrtValue* const*, size_t, void*,
                           size_t) noexcept -> OrtStatusPtr { return nullptr; };
  helper.Release = quiet<OrtLoopKernelHelper>();
  OrtKernelImpl* kernel = nullptr;
  ASSERT_FALSE(ep_api::CreateLoopKernel(&loop, &helper, &kernel));
  ep_api::ReleaseKernelImpl(kernel);
  EXPECT_EQ(
      logged,
      "the kernel of node 'looping', Release of its helper threw: not today; the object may not have been released");
}

TEST_F(GiveBack, TheHelperOfAScan) {
  const OrtKernelInfo scan = info("Scan");
  OrtScanKernelHelper helper{};
  helper.Transpose = [](OrtScanKernelHelper*, const size_t*, size_t, const OrtValue*, OrtSyncStream*,
                        OrtValue*) noexcept -> OrtStatusPtr { return nullptr; };
  helper.Release = quiet<OrtScanKernelHelper>();
  OrtKernelImpl* kernel = nullptr;
  OrtStatus* status = ep_api::CreateScanKernel(&scan, &helper, &kernel);
  ASSERT_FALSE(status) << GetErrorMessage(status);
  ep_api::ReleaseKernelImpl(kernel);
  EXPECT_NE(logged.find("'looping', Release of its helper threw"), std::string::npos) << logged;
}

TEST_F(GiveBack, AKernelOfThePlugInsOwn) {
  OrtKernelImpl kernel{};
  kernel.Release = quiet<OrtKernelImpl>();
  ep_api::ReleaseKernelImpl(&kernel);
}

TEST_F(GiveBack, AnImporter) {
  OrtExternalResourceImporterImpl impl{};
  impl.Release = quiet<OrtExternalResourceImporterImpl>();
  interop_api::ReleaseExternalResourceImporter(new OrtExternalResourceImporter(impl));
}

TEST_F(GiveBack, ImportedMemory) {
  OrtExternalMemoryHandle memory{ORT_API_VERSION, nullptr, {}, &throws<OrtExternalMemoryHandle>};
  interop_api::ReleaseExternalMemoryHandle(&memory);
}

TEST_F(GiveBack, AnImportedSemaphore) {
  OrtExternalSemaphoreHandle semaphore{ORT_API_VERSION, nullptr, {}, &throws<OrtExternalSemaphoreHandle>};
  interop_api::ReleaseExternalSemaphoreHandle(&semaphore);
}

}  // namespace
}  // namespace retort::abi
