/* The shape of the output is known: every run writes it to the program's memory.
 *
 *   known_shape_c ../digits/digits.onnx
 */
#include "check.h"
#include "digit.h"

int main(int argc, char** argv) {
  OrtEnv* env = start();
  OrtSession* session = open_model(env, argument(argc, argv), NULL);
  /* [bind] */
  float image[kPixels], probabilities[kClasses]; /* the program's own memory */
  const int64_t image_shape[] = {1, 1, 8, 8}, probabilities_shape[] = {1, kClasses};
  OrtValue* input = wrap(image, sizeof image, image_shape, 4, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
  OrtValue* output =
      wrap(probabilities, sizeof probabilities, probabilities_shape, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
  OrtIoBinding* binding = NULL;
  check(api->CreateIoBinding(session, &binding));
  check(api->BindInput(binding, "image", input));           /* read where it lies */
  check(api->BindOutput(binding, "probabilities", output)); /* written where it is bound */
  for (int down = 0; down < 3; ++down) {
    draw_two(image, down); /* only the contents change */
    check(api->RunWithBinding(session, NULL, binding));
    const int best = best_of(probabilities);
    printf("moved down by %d: a %d (%.1f %%)\n", down, best, 100 * probabilities[best]);
  }
  /* [end] */
  api->ReleaseIoBinding(binding);
  api->ReleaseValue(output);
  api->ReleaseValue(input);
  api->ReleaseSession(session);
  api->ReleaseEnv(env);
  return 0;
}
