// Calls that give extents of one name several values. The model says that they are equal; a call need not mind.
#include <thread>

#include "models.h"

using namespace scenes;

namespace {

constexpr const char* kInputs[] = {"a", "b", "p", "q", "c"};
constexpr const char* kOutputs[] = {"sum", "expanded", "joined", "product", "dense"};
constexpr size_t kPorts = std::size(kInputs);
static_assert(std::size(kOutputs) == kPorts);

using Shapes = std::vector<std::vector<int64_t>>;
const Shapes kEqual = {{2, 3}, {2, 3}, {2, 2}, {2, 2}, {2, 3}}, kLarger = {{4, 3}, {4, 3}, {4, 4}, {4, 4}, {4, 3}};
const Shapes kFirstIsOne = {{1, 3}, {4, 3}, {1, 1}, {1, 1}, {1, 3}},
             kSecondIsOne = {{4, 3}, {1, 3}, {4, 1}, {1, 4}, {1, 3}};
const Shapes kApart = {{2, 3}, {2, 3}, {2, 3}, {3, 4}, {5, 3}}, kSquare = {{2, 3}, {2, 3}, {2, 3}, {3, 2}, {2, 3}};
const Shapes kEmpty = {{1, 3}, {0, 3}, {2, 0}, {0, 2}, {1, 3}}, kUnfit = {{2, 3}, {3, 3}, {2, 2}, {2, 2}, {2, 3}};
const Shapes kAll[] = {kEqual, kFirstIsOne, kEqual, kSecondIsOne, kApart, kLarger, kSquare, kEmpty, kApart, kEqual};

/// Inputs of these shapes, in memory of their own.
struct Call {
  Call(Scene& s, const Shapes& shapes) {
    for (size_t i = 0; i < kPorts; ++i) {
      size_t n = 1;
      for (int64_t d : shapes[i]) n *= size_t(d);
      data[i].resize(n + 1);  // never null
      for (size_t k = 0; k < n; ++k) data[i][k] = float(int(k * 7 + i * 3) % 11 - 4);
      inputs[i] = floats(s, data[i].data(), shapes[i]);
    }
  }
  std::vector<float> data[kPorts];
  OrtValue* inputs[kPorts];
};

OrtSession* from_bytes(Scene& s, const OrtSessionOptions* options = nullptr) {
  OrtSession* session = nullptr;
  std::string bytes = model_bytes("same_names");
  CALL(CreateSessionFromArray, s.env(), bytes.data(), bytes.size(), options, &session);
  bytes.assign(bytes.size(), 'x');
  return session;
}

void run(Scene& s, OrtSession* session, const Shapes& shapes) {
  Call call(s, shapes);
  OrtValue* results[kPorts] = {};
  CALL(Run, session, nullptr, kInputs, call.inputs, kPorts, kOutputs, kPorts, results);
  for (size_t i = 0; i < kPorts; ++i) {
    note_tensor(s, kOutputs[i], results[i]);
    s.api.ReleaseValue(results[i]);
    s.api.ReleaseValue(call.inputs[i]);
  }
}

/// Something of all elements of a float tensor, for comparison.
double digest(const OrtApi& api, const OrtValue* value) {
  OrtTensorTypeAndShapeInfo* info = nullptr;
  size_t count = 0;
  const void* data = nullptr;
  if (api.GetTensorTypeAndShape(value, &info) || api.GetTensorShapeElementCount(info, &count)) return -1;
  api.ReleaseTensorTypeAndShapeInfo(info);
  if (api.GetTensorData(value, &data)) return -1;
  double sum = double(count);
  for (size_t i = 0; i < count; ++i) sum += double(i + 2) * double(static_cast<const float*>(data)[i]);
  return sum;
}

}  // namespace

SCENE(names, path) {
  OrtSession* session = open(s, "same_names");
  for (const Shapes& shapes : kAll) run(s, session, shapes);
}

SCENE(names, bytes) {
  OrtSession* session = from_bytes(s);
  for (const Shapes& shapes : kAll) run(s, session, shapes);
}

SCENE(names, levels) {
  for (int level : {0, 1, 2, 3, 99}) {
    OrtSessionOptions* options = s.options();
    CALL(SetSessionGraphOptimizationLevel, options, GraphOptimizationLevel(level));
    OrtSession* session = from_bytes(s, options);
    for (const Shapes& shapes : kAll) run(s, session, shapes);
    s.api.ReleaseSession(session);
  }
}

SCENE(names, unfit) {
  OrtSession* session = open(s, "same_names");
  run(s, session, kUnfit);
  run(s, session, kApart);
  run(s, session, kEqual);
}

SCENE(names, set_by_the_caller) {
  OrtSessionOptions* options = s.options();
  CALL(AddFreeDimensionOverrideByName, options, "n", 2);
  OrtSession* session = open(s, "same_names", options);
  run(s, session, kEqual);
}

SCENE(names, bound) {
  OrtSession* session = open(s, "same_names");
  OrtIoBinding* binding = nullptr;
  OrtMemoryInfo* cpu = nullptr;
  CALL(CreateIoBinding, session, &binding);
  CALL(CreateCpuMemoryInfo, OrtDeviceAllocator, OrtMemTypeDefault, &cpu);
  float product[8] = {};
  for (const Shapes& shapes : {kEqual, kApart, kApart, kEqual, kApart}) {
    Call call(s, shapes);
    for (size_t i = 0; i < kPorts; ++i) CALL(BindInput, binding, kInputs[i], call.inputs[i]);
    for (const char* name : {"sum", "expanded", "joined", "dense"}) CALL(BindOutputToDevice, binding, name, cpu);
    OrtValue* out = floats(s, product, {2, shapes == kApart ? 4 : 2});
    CALL(BindOutput, binding, "product", out);
    CALL(RunWithBinding, session, nullptr, binding);
    OrtValue** values = nullptr;
    size_t count = 0;
    CALL(GetBoundOutputValues, binding, s.allocator(), &values, &count);
    for (size_t i = 0; i < count; ++i) note_tensor(s, "value", values[i]);
    for (float p : product) s.note("product", p);
    s.api.ClearBoundOutputs(binding);
  }
}

// The first call that clashes is made by several threads at once.
SCENE(names, threads) {
  constexpr size_t kThreads = 4, kRuns = 40, kCalls = std::size(kAll);
  OrtSession* session = open(s, "same_names");
  std::vector<std::vector<Call>> calls(kThreads);
  std::vector<std::vector<double>> digests(kThreads, std::vector<double>(kRuns));
  std::vector<std::thread> callers;
  for (auto& own : calls) {
    for (const Shapes& shapes : kAll) own.emplace_back(s, shapes);
  }
  for (size_t t = 0; t < kThreads; ++t) {
    callers.emplace_back([&, t] {
      for (size_t k = 0; k < kRuns; ++k) {
        OrtValue* results[kPorts] = {};
        OrtStatus* status =
            s.api.Run(session, nullptr, kInputs, calls[t][(k + t) % kCalls].inputs, kPorts, kOutputs, kPorts, results);
        if (status) digests[t][k] = -2;
        for (OrtValue* v : results) {
          if (v) digests[t][k] += digest(s.api, v);
          s.api.ReleaseValue(v);
        }
        s.api.ReleaseStatus(status);
      }
    });
  }
  for (auto& c : callers) c.join();
  for (const auto& of_thread : digests) {
    for (double d : of_thread) s.note("digest", d);
  }
}
