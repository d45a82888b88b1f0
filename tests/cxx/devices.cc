// Memory, allocators and devices of the C++ interface, on a machine whose only provider is the CPU's.
#define RETORT_API_DLOPEN
#include <algorithm>

#include "cxx_test.h"

namespace api = retort::api;

namespace cxx_test {
namespace {

void memory_of_any_device() {
  const api::MemoryInfo gpu("anything", OrtMemoryInfoDeviceType_GPU, 0x10de, 2, OrtDeviceMemoryType_HOST_ACCESSIBLE,
                            64);
  const api::MemoryView view = gpu.view();
  expect(view.name() == "anything" && view.device() == OrtMemoryInfoDeviceType_GPU, "name and device");
  expect(view.vendor_id() == 0x10de && view.device_id() == 2, "vendor and number");
  expect(view.kind() == OrtDeviceMemoryType_HOST_ACCESSIBLE && view.host_can_read(), "kind");
  const api::MemoryInfo local("anything", OrtMemoryInfoDeviceType_GPU, 0x10de, 2);
  expect(!local.view().host_can_read() && !(local.view() == view), "memory of the device alone");
  expect(local.view() == local.view(), "memory infos equal themselves");
  char bytes[16];
  const int64_t shape[] = {4};
  api::Value there = api::Value::wrap(local, bytes, sizeof bytes, shape, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
  expect_error(ORT_INVALID_ARGUMENT, "copy_tensors", "elements on a device", [&] { (void)there.data<float>(); });
  expect(there.raw() == bytes, "their address can be read");
}

void allocators() {
  api::Env env;
  api::Session session(env, model("step.onnx"));
  const api::SessionAllocator own(session, api::MemoryInfo::cpu());
  {
    const api::Value value = api::Value::tensor<float>(own, {4});
    const api::Block block(own, 64);
    expect(value.count() == 4 && block.data(), "memory of a session");
  }
  expect(api::memory_of(own).device() == OrtMemoryInfoDeviceType_CPU, "where it is");
  (void)api::statistics_of(own);  // may be empty

  OrtAllocator* shared = api::shared_allocator(env, session.input_memory()[0]);
  expect(shared != nullptr, "the environment's allocator for the host");
  if (shared) expect(api::Value::tensor<float>(shared, {2}).count() == 2, "a tensor of it");
  const api::MemoryInfo nowhere("nowhere", OrtMemoryInfoDeviceType_GPU, 0x1234, 0);
  expect(api::shared_allocator(env, nowhere) == nullptr, "no allocator for memory that no provider has");
}

void the_processor() {
  api::Env env;
  const std::vector<api::EpDevice> all = api::ep_devices(env);
  expect_error(ORT_NOT_IMPLEMENTED, "", "the capacity of the processor's memory",
               [&] { (void)all[0].memory_capacity(); });
  const auto cpu =
      std::ranges::find_if(all, [](const api::EpDevice& d) { return d.provider() == "CPUExecutionProvider"; });
  expect(cpu != all.end(), "the processor is a device");
  if (cpu == all.end()) return;
  expect(cpu->hardware().type() == OrtHardwareDeviceType_CPU && !cpu->provider_vendor().empty(), "what it is");
  expect(!cpu->memory(), "it has no memory besides the host's");
  (void)cpu->options();
  const std::vector<api::HardwareDevice> machine = api::hardware_devices(env);
  expect(std::ranges::any_of(machine, [&](const auto& d) { return d.vendor_id() == cpu->hardware().vendor_id(); }),
         "it is in the machine");
  expect_error(ORT_INVALID_ARGUMENT, "", "the processor has no stream", [&] { api::SyncStream stream(*cpu); });
  expect_error(ORT_INVALID_ARGUMENT, "", "nor shared memory",
               [&] { (void)api::create_shared_allocator(env, *cpu, OrtDeviceMemoryType_DEFAULT); });

  api::Session session(env, model("step.onnx"));
  expect(session.input_devices().size() == 2 && session.input_devices()[0] == *cpu, "it reads the inputs");
  expect(session.output_devices().size() == 1 && session.output_memory().size() == 1, "and makes the output");

  std::vector<float> from{1}, to{0};
  const api::Value source = api::Value::wrap(from, {1});
  api::Value target = api::Value::wrap(to, {1});
  expect_error(ORT_NOT_IMPLEMENTED, "", "no copies within the host", [&] { api::copy_tensor(env, source, target); });
  expect_error(ORT_INVALID_ARGUMENT, "needs one", "unequal lists",
               [&] { api::copy_tensors(env, std::vector<const OrtValue*>{source}, {}); });
  expect_error(kAnyCode, "", "a library of providers that does not exist",
               [&] { api::ProviderLibrary library(env, "none", "/nowhere/libnone.so"); });
}

void choosing() {
  api::Env env;
  api::SessionOptions prefer, named, asked, refused;
  prefer.policy(OrtExecutionProviderDevicePolicy_PREFER_GPU);
  expect(api::Session(env, model("step.onnx"), prefer).inputs().size() == 2, "a policy falls back to the processor");
  const std::vector<api::EpDevice> all = api::ep_devices(env);
  named.devices(env, std::span(all).last(1));
  expect(api::Session(env, model("step.onnx"), named).inputs().size() == 2, "a device by name");
  size_t offered = 0;
  const auto choose = [&](const std::vector<api::EpDevice>& devices) {
    offered = devices.size();
    return devices;
  };
  asked.policy(choose);
  api::Session session(env, model("step.onnx"), asked);
  expect(offered == all.size(), "a delegate is asked with all devices");
  const auto refuse = [](const std::vector<api::EpDevice>&) -> std::vector<api::EpDevice> {
    throw std::runtime_error("none of these");
  };
  refused.policy(refuse);
  expect_error(ORT_FAIL, "none of these", "what a delegate throws is the session's error",
               [&] { api::Session(env, model("step.onnx"), refused); });
}

}  // namespace

void devices() {
  memory_of_any_device();
  allocators();
  the_processor();
  choosing();
}

}  // namespace cxx_test
