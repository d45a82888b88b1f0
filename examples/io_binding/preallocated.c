/* Batches of different sizes in memory for the largest: nothing is allocated after the start.
 *
 *   preallocated_c ../digits/digits.onnx
 */
#include "check.h"
#include "digit.h"

enum { kMost = 8 };

int main(int argc, char** argv) {
  static const int batches[] = {8, 3, 5};
  OrtEnv* env = start();
  OrtSession* session = open_model(env, argument(argc, argv), NULL);
  /* [bind] */
  static float images[kMost * kPixels], probabilities[kMost * kClasses];
  for (int i = 0; i < kMost; ++i) draw_two(images + i * kPixels, i);
  OrtIoBinding* binding = NULL;
  check(api->CreateIoBinding(session, &binding));
  for (size_t b = 0; b < sizeof batches / sizeof *batches; ++b) {
    const int batch = batches[b];
    const int64_t in[] = {batch, 1, 8, 8}, out[] = {batch, kClasses};
    /* Views of the front of the same memory: binding a name again replaces what was bound to it. */
    OrtValue* input = wrap(images, sizeof(float) * batch * kPixels, in, 4, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
    OrtValue* output =
        wrap(probabilities, sizeof(float) * batch * kClasses, out, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
    check(api->BindInput(binding, "image", input));
    check(api->BindOutput(binding, "probabilities", output));
    api->ReleaseValue(output); /* the binding keeps references; the memory must outlive it */
    api->ReleaseValue(input);
    check(api->RunWithBinding(session, NULL, binding));
    printf("batch of %d:", batch);
    for (int i = 0; i < batch; ++i) printf(" %d", best_of(probabilities + i * kClasses));
    puts("");
  }
  /* [end] */
  api->ReleaseIoBinding(binding);
  api->ReleaseSession(session);
  api->ReleaseEnv(env);
  return 0;
}
