// Custom operators whose kernels do what they should not, and inputs that are not what they were in the run before.
#include <stdexcept>

#include "custom.h"

using namespace scenes;

namespace {

float values[6] = {1, 2, 3, -1, -2, -3};

void run_failing(Scene& s, OrtStatus* (*compute)(OrtKernelContext*)) {
  Op op("Fails", {{kFloat}}, {{kFloat}});
  op.compute = compute;
  OrtSession* session = open_with(s, "custom_fails", {&op});
  run(s, session, {"x"}, {floats(s, values, {2, 3})}, {"y"});
  run(s, session, {"x"}, {floats(s, values, {1, 3})}, {"y"});
  s.api.ReleaseSession(session);
}

/// An output of the shape of input 0, which stays as it is.
OrtStatus* make_output(OrtKernelContext* context) {
  LikeInput like(context);
  return nullptr;
}

}  // namespace

SCENE(custom, kernel_that_throws) {
  run_failing(s, [](OrtKernelContext*) -> OrtStatus* { throw std::runtime_error("a bad day"); });
}

SCENE(custom, kernel_that_throws_a_number) {
  run_failing(s, [](OrtKernelContext*) -> OrtStatus* { throw 5; });
}

// Whichever thread the loop throws on: the pool works on afterwards.
SCENE(custom, loop_that_throws) {
  run_failing(s, [](OrtKernelContext* context) -> OrtStatus* {
    make_output(context);
    const auto bad = [](void*, size_t) { throw std::runtime_error("a bad loop"); };
    return api->KernelContext_ParallelFor(context, bad, 1, 0, nullptr);
  });
}

// What follows from the shapes is told without running its node, up to some size.
SCENE(custom, content_of_another_size) {
  Op op("Length", {{ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32}}, {{kFloat}});
  op.compute = [](OrtKernelContext* context) -> OrtStatus* {
    const OrtValue* fives = nullptr;
    NOTED(KernelContext_GetInput, context, 0, &fives);
    const size_t count = count_of(shape_of(fives));
    const void* data = nullptr;
    NOTED(GetTensorData, fives, &data);
    scene->note("last", static_cast<const int32_t*>(data)[count - 1]);
    const int64_t shape[] = {1};
    OrtValue* y = nullptr;
    NOTED(KernelContext_GetOutput, context, 0, shape, 1, &y);
    void* to = nullptr;
    NOTED(GetTensorMutableData, y, &to);
    *static_cast<float*>(to) = float(count);
    return nullptr;
  };
  OrtSession* session = open_with(s, "custom_counts", {&op});
  std::vector<float> many(2000);
  for (const int64_t n : {3, 2000, 4}) run(s, session, {"x"}, {floats(s, many.data(), {n})}, {"y"});
  s.api.ReleaseSession(session);
}
