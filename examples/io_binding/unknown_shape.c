/* The shape of the output depends on data: the library allocates it, in the memory that the program names.
 *
 *   unknown_shape_c places.onnx
 */
#include "check.h"
#include "digit.h"

static void print_places(OrtIoBinding* binding) {
  /* [results] */
  OrtAllocator* allocator = NULL;
  OrtValue** values = NULL; /* memory of the allocator; the program owns each handle in it */
  OrtTensorTypeAndShapeInfo* info = NULL;
  const void* data = NULL;
  size_t count = 0;
  int64_t shape[2];
  check(api->GetAllocatorWithDefaultOptions(&allocator));
  check(api->GetBoundOutputValues(binding, allocator, &values, &count));
  check(api->GetTensorTypeAndShape(values[0], &info));
  check(api->GetDimensions(info, shape, 2));
  check(api->GetTensorData(values[0], &data));
  const int64_t found = shape[1], *places = data; /* rows, then columns */
  printf("%2d dark pixels, the first in row %d, column %d\n", (int)found, (int)places[0], (int)places[found]);
  api->ReleaseTensorTypeAndShapeInfo(info);
  for (size_t i = 0; i < count; ++i) api->ReleaseValue(values[i]);
  check(api->AllocatorFree(allocator, values));
  /* [end] */
}

int main(int argc, char** argv) {
  OrtEnv* env = start();
  OrtSession* session = open_model(env, argument(argc, argv), NULL);
  float image[kPixels];
  const int64_t shape[] = {8, 8};
  OrtValue* input = wrap(image, sizeof image, shape, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
  OrtMemoryInfo* host = NULL;
  OrtIoBinding* binding = NULL;
  check(api->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &host));
  check(api->CreateIoBinding(session, &binding));
  check(api->BindInput(binding, "image", input));
  for (int clear = 0; clear < 3; ++clear) {
    draw_two(image, 0);
    for (int i = 0; i < 16 * clear; ++i) image[i] = 0;       /* fewer dark pixels each time */
    check(api->BindOutputToDevice(binding, "places", host)); /* again, since the shape may have changed */
    check(api->RunWithBinding(session, NULL, binding));
    print_places(binding);
  }
  api->ReleaseIoBinding(binding);
  api->ReleaseMemoryInfo(host);
  api->ReleaseValue(input);
  api->ReleaseSession(session);
  api->ReleaseEnv(env);
  return 0;
}
