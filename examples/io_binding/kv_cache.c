/* A decoder whose past and present share one buffer: each step writes its row where the next step reads it.
 *
 *   kv_cache_c decoder.onnx
 */
#include "check.h"

enum { kWidth = 16, kHeads = 2, kRoom = 16 };

static void bind(OrtIoBinding* binding, const char* in, const char* out, void* data, size_t bytes, const int64_t* shape,
                 size_t rank, ONNXTensorElementDataType type) {
  OrtValue* value = wrap(data, bytes, shape, rank, type);
  if (in) check(api->BindInput(binding, in, value));
  if (out) check(api->BindOutput(binding, out, value));
  api->ReleaseValue(value); /* the binding keeps a reference; the memory must outlive it */
}

int main(int argc, char** argv) {
  const ONNXTensorElementDataType f32 = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, i32 = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32;
  OrtEnv* env = start();
  OrtSessionOptions* options = NULL;
  check(api->CreateSessionOptions(&options));
  /* In Retort, a copy of the cache is then an error; other engines ignore the entry. */
  check(api->AddSessionConfigEntry(options, "session.disallow_implicit_copies", "1"));
  OrtSession* session = open_model(env, argument(argc, argv), options);
  /* [bind] */
  static float x[kWidth], y[kWidth], keys[kRoom * kWidth], values[kRoom * kWidth];
  int32_t last = 0, total = 0; /* where the step writes its row, and how many rows there are then */
  const int64_t one[] = {1}, token[] = {1, 1, kWidth}, cache[] = {1, kHeads, kRoom, kWidth / kHeads};
  OrtIoBinding* binding = NULL;
  check(api->CreateIoBinding(session, &binding));
  bind(binding, "x", NULL, x, sizeof x, token, 3, f32);
  bind(binding, "last", NULL, &last, sizeof last, one, 1, i32);
  bind(binding, "total", NULL, &total, sizeof total, one, 1, i32);
  bind(binding, "past_key", "present_key", keys, sizeof keys, cache, 4, f32); /* the same memory */
  bind(binding, "past_value", "present_value", values, sizeof values, cache, 4, f32);
  bind(binding, NULL, "y", y, sizeof y, token, 3, f32);
  /* [step] */
  for (int step = 0; step < 6; ++step) {
    for (int i = 0; i < kWidth; ++i) x[i] = (float)((7 * step + 3 * i) % 5 - 2); /* the token of this step */
    last = step;
    total = step + 1;
    check(api->RunWithBinding(session, NULL, binding));
    printf("step %d: %.4f %.4f %.4f\n", step, y[0], y[1], y[2]);
  }
  /* [end] */
  /* Unwritten rows of the cache are still zero. */
  const int right = keys[5 * kWidth / kHeads] != 0 && keys[6 * kWidth / kHeads] == 0;
  printf("%s of %d rows taken\n", right ? "6" : "not 6", kRoom);
  api->ReleaseIoBinding(binding);
  api->ReleaseSession(session);
  api->ReleaseSessionOptions(options);
  api->ReleaseEnv(env);
  return 0;
}
