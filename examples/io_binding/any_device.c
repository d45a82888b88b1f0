/* Tensors stay in the memory where the model runs, and the program names neither provider nor vendor: the policy
 * prefers a GPU, the session reports the memory of its input, and the environment's allocator makes tensors there; one
 * upload, 100 runs, one download.
 *
 *   any_device_c ../digits/digits.onnx [PROVIDER_LIBRARY [KEY VALUE]]
 *
 * KEY VALUE: a configuration entry of the environment, such as "retort.discover_vulkan" "1", for providers that need it
 * to find a device.
 */
#include <string.h>

#include "check.h"
#include "digit.h"

static int on_host(const OrtMemoryInfo* where) {
  OrtMemoryInfoDeviceType type = OrtMemoryInfoDeviceType_CPU;
  api->MemoryInfoGetDeviceType(where, &type);
  return type == OrtMemoryInfoDeviceType_CPU;
}

/* Makes a tensor in memory of the device, by the environment's allocator for it. */
static OrtValue* device_tensor(OrtEnv* env, const OrtMemoryInfo* where, const OrtEpDevice* device, const int64_t* shape,
                               size_t rank) {
  OrtAllocator* memory = NULL;
  OrtValue* value = NULL;
  check(api->GetSharedAllocator(env, where, &memory));
  if (!memory)
    check(api->CreateSharedAllocator(env, device, api->MemoryInfoGetDeviceMemType(where), OrtDeviceAllocator, NULL,
                                     &memory));
  check(api->CreateTensorAsOrtValue(memory, shape, rank, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
  return value;
}

/* Copies one tensor to another; CopyTensors does not copy within host memory. */
static void copy(OrtEnv* env, const OrtValue* from, OrtValue* to) {
  const OrtMemoryInfo *source = NULL, *target = NULL;
  check(api->GetTensorMemoryInfo(from, &source));
  check(api->GetTensorMemoryInfo(to, &target));
  if (on_host(source) && on_host(target)) {
    const void* data = NULL;
    void* place = NULL;
    size_t bytes = 0;
    check(api->GetTensorSizeInBytes(from, &bytes));
    check(api->GetTensorData(from, &data));
    check(api->GetTensorMutableData(to, &place));
    memcpy(place, data, bytes);
  } else {
    check(api->CopyTensors(env, &from, &to, NULL, 1));
  }
}

static void tell(const OrtEpDevice* device, const OrtMemoryInfo* where) {
  if (on_host(where))
    puts("no device with a provider here: the processor runs the model");
  else
    printf("vendor 0x%04x runs the model\n", (unsigned)api->HardwareDevice_VendorId(api->EpDevice_Device(device)));
}

int main(int argc, char** argv) {
  const int64_t in[] = {1, 1, 8, 8}, out[] = {1, kClasses};
  float pixels[kPixels], probabilities[kClasses];
  const OrtMemoryInfo *in_memory = NULL, *out_memory = NULL;
  const OrtEpDevice *in_device = NULL, *out_device = NULL;
  OrtSessionOptions* options = NULL;
  OrtIoBinding* binding = NULL;
  OrtEnv* env = argc > 4 ? start_with(argv[3], argv[4]) : start();
  if (argc > 2) check(api->RegisterExecutionProviderLibrary(env, "provider", argv[2]));
  /* [flow] */
  check(api->CreateSessionOptions(&options));
  check(api->SessionOptionsSetEpSelectionPolicy(options, OrtExecutionProviderDevicePolicy_PREFER_GPU));
  OrtSession* session = open_model(env, argument(argc, argv), options);
  check(api->SessionGetMemoryInfoForInputs(session, &in_memory, 1));
  check(api->SessionGetMemoryInfoForOutputs(session, &out_memory, 1));
  check(api->SessionGetEpDeviceForInputs(session, &in_device, 1));
  check(api->SessionGetEpDeviceForOutputs(session, &out_device, 1));
  tell(in_device, in_memory); /* its vendor id, known only now */

  OrtValue* image = wrap(pixels, sizeof pixels, in, 4, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
  OrtValue* result = wrap(probabilities, sizeof probabilities, out, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
  OrtValue* device_image = device_tensor(env, in_memory, in_device, in, 4);
  OrtValue* device_result = device_tensor(env, out_memory, out_device, out, 2);
  check(api->CreateIoBinding(session, &binding));
  check(api->BindInput(binding, "image", device_image)); /* there already: nothing is copied, now or in a run */
  check(api->BindOutput(binding, "probabilities", device_result));

  draw_two(pixels, 0);
  copy(env, image, device_image); /* one upload */
  for (int i = 0; i < 100; ++i) check(api->RunWithBinding(session, NULL, binding));
  check(api->SynchronizeBoundOutputs(binding));
  copy(env, device_result, result); /* one download */
  /* [end] */
  const int best = best_of(probabilities);
  printf("100 runs: a %d (%.1f %%)\n", best, 100 * probabilities[best]);
  api->ReleaseIoBinding(binding);
  OrtValue* values[] = {image, result, device_image, device_result};
  for (size_t i = 0; i < 4; ++i) api->ReleaseValue(values[i]);
  api->ReleaseSession(session);
  api->ReleaseSessionOptions(options);
  if (argc > 2) check(api->UnregisterExecutionProviderLibrary(env, "provider"));
  api->ReleaseEnv(env);
  return 0;
}
