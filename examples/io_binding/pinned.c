/* Uses memory that the device can read directly ("pinned"), if there is a device: copies from it are faster and need no
 * second buffer in the driver. Without a device, it is ordinary memory, and the program is the same.
 *
 *   pinned_c ../digits/digits.onnx
 */
#include "check.h"
#include "digit.h"

/* [allocator] */
/* For memory that the host writes and this device reads; ordinary memory if the device has no such memory. */
static OrtAllocator* staging(OrtEnv* env, const OrtEpDevice* device) {
  OrtAllocator* allocator = NULL;
  const OrtMemoryInfo* pinned = device ? api->EpDevice_MemoryInfo(device, OrtDeviceMemoryType_HOST_ACCESSIBLE) : NULL;
  if (pinned) {
    check(api->GetSharedAllocator(env, pinned, &allocator));
    if (!allocator)
      check(api->CreateSharedAllocator(env, device, OrtDeviceMemoryType_HOST_ACCESSIBLE, OrtDeviceAllocator, NULL,
                                       &allocator));
  } else {
    check(api->GetAllocatorWithDefaultOptions(&allocator));
  }
  printf("staged in %s memory\n", pinned ? "pinned" : "ordinary");
  return allocator;
}
/* [end] */

static OrtValue* tensor(OrtAllocator* memory, const int64_t* shape, size_t rank, float** data) {
  OrtValue* value = NULL;
  void* p = NULL;
  check(api->CreateTensorAsOrtValue(memory, shape, rank, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
  check(api->GetTensorMutableData(value, &p));
  *data = p;
  return value;
}

int main(int argc, char** argv) {
  const int64_t in[] = {1, 1, 8, 8}, out[] = {1, kClasses};
  OrtEnv* env = start();
  OrtSessionOptions* options = NULL;
  check(api->CreateSessionOptions(&options));
  check(api->SessionOptionsSetEpSelectionPolicy(options, OrtExecutionProviderDevicePolicy_PREFER_GPU));
  OrtSession* session = open_model(env, argument(argc, argv), options);
  const OrtEpDevice* device = NULL;
  check(api->SessionGetEpDeviceForInputs(session, &device, 1));
  OrtAllocator* memory = staging(env, device);
  float *image = NULL, *probabilities = NULL;
  OrtValue* input = tensor(memory, in, 4, &image);
  OrtValue* output = tensor(memory, out, 2, &probabilities);
  OrtIoBinding* binding = NULL;
  check(api->CreateIoBinding(session, &binding));
  check(api->BindOutput(binding, "probabilities", output));
  for (int down = 0; down < 3; ++down) {
    draw_two(image, down);
    check(api->BindInput(binding, "image", input)); /* if it is ordinary memory, a device reads a copy, made here */
    check(api->RunWithBinding(session, NULL, binding));
    check(api->SynchronizeBoundOutputs(binding));
    printf("moved down by %d: a %d\n", down, best_of(probabilities));
  }
  api->ReleaseIoBinding(binding);
  api->ReleaseValue(output);
  api->ReleaseValue(input);
  api->ReleaseSession(session);
  api->ReleaseSessionOptions(options);
  api->ReleaseEnv(env);
  return 0;
}
