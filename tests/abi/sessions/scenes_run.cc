// Runs by name: results, preallocated outputs, and all kinds of invalid arguments.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <type_traits>

#include "models.h"

using namespace scenes;

namespace {

struct Dense {
  explicit Dense(Scene& s) : session(open(s, "dense")), x(floats(s, data, {2, 3})) {}
  float data[6] = {1, 2, 3, -1, -2, -3};
  OrtSession* session;
  OrtValue* x;
};

/// Runs `session` once and notes the outputs.
void run(Scene& s, OrtSession* session, std::vector<const char*> inputs, std::vector<const OrtValue*> values,
         std::vector<const char*> outputs, std::vector<OrtValue*> results = {}) {
  results.resize(outputs.size());
  CALL(Run, session, nullptr, inputs.data(), values.data(), values.size(), outputs.data(), outputs.size(),
       results.data());
  for (OrtValue* v : results) note_tensor(s, "result", v);
}

}  // namespace

SCENE(run, dense) {
  Dense d(s);
  run(s, d.session, {"x"}, {d.x}, {"y", "s"});
  run(s, d.session, {"x"}, {d.x}, {"s", "y"});
  run(s, d.session, {"x"}, {d.x}, {"s"});
}

SCENE(run, other_shapes) {
  Dense d(s);
  float data[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  run(s, d.session, {"x"}, {floats(s, data, {4, 3})}, {"y"});
  run(s, d.session, {"x"}, {floats(s, data, {1, 3})}, {"y"});
  run(s, d.session, {"x"}, {floats(s, data, {0, 3})}, {"y", "s"});
}

SCENE(run, one_element_for_a_scalar) {
  OrtSession* session = open(s, "scalar");
  float data[2] = {3, 4};
  run(s, session, {"s"}, {floats(s, data, {})}, {"y"});
  run(s, session, {"s"}, {floats(s, data, {1})}, {"y"});
  run(s, session, {"s"}, {floats(s, data, {1})}, {"y"});
}

SCENE(run, outputs_that_view_what_came_before) {
  OrtSession* session = open(s, "late_view");
  float data[6] = {1, 0, 2, 3, 0, 0}, dense[6] = {1, 2, 3, 4, 5, 6}, given[12] = {}, wrong[12] = {};
  run(s, session, {"x"}, {floats(s, data, {6})}, {"y"});
  run(s, session, {"x"}, {floats(s, data, {6})}, {"flat", "y"});
  run(s, session, {"x"}, {floats(s, dense, {6})}, {"y", "flat"});
  run(s, session, {"x"}, {floats(s, data, {6})}, {"y"}, {floats(s, given, {4, 3})});
  run(s, session, {"x"}, {floats(s, dense, {6})}, {"y", "flat"}, {floats(s, given, {2, 6}), nullptr});
  run(s, session, {"x"}, {floats(s, data, {6})}, {"y"}, {floats(s, wrong, {3, 4})});
  run(s, session, {"x"}, {floats(s, data, {6})}, {"y"}, {floats(s, wrong, {5})});
}

SCENE(run, wrong_inputs) {
  Dense d(s);
  float data[6] = {};
  OrtValue* wrong_type = nullptr;
  const int64_t shape[2] = {2, 3};
  CALL(CreateTensorAsOrtValue, s.allocator(), shape, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE, &wrong_type);
  run(s, d.session, {"unknown"}, {d.x}, {"y"});
  run(s, d.session, {"x"}, {floats(s, data, {6})}, {"y"});
  run(s, d.session, {"x"}, {floats(s, data, {3, 2})}, {"y"});
  run(s, d.session, {"x"}, {wrong_type}, {"y"});
  run(s, d.session, {"x", "x"}, {d.x, d.x}, {"y"});
  run(s, d.session, {"x", "unknown"}, {d.x, d.x}, {"y"});
  run(s, d.session, {}, {}, {"y"});
  run(s, d.session, {""}, {d.x}, {"y"});
  run(s, d.session, {"w"}, {d.x}, {"y"});
}

SCENE(run, null_input_value) {
  Dense d(s);
  run(s, d.session, {"x"}, {nullptr}, {"y"});
}

SCENE(run, null_input_name) {
  Dense d(s);
  run(s, d.session, {nullptr}, {d.x}, {"y"});
}

SCENE(run, wrong_outputs) {
  Dense d(s);
  run(s, d.session, {"x"}, {d.x}, {});
  run(s, d.session, {"x"}, {d.x}, {"unknown"});
  run(s, d.session, {"x"}, {d.x}, {"y", "unknown"});
  run(s, d.session, {"x"}, {d.x}, {"g"});
  run(s, d.session, {"x"}, {d.x}, {"x"});
  run(s, d.session, {"x"}, {d.x}, {""});
}

SCENE(run, null_output_name) {
  Dense d(s);
  run(s, d.session, {"x"}, {d.x}, {nullptr});
}

SCENE(run, output_twice) {
  Dense d(s);
  run(s, d.session, {"x"}, {d.x}, {"y", "y"});
}

SCENE(run, preallocated) {
  Dense d(s);
  float y[4] = {9, 9, 9, 9};
  OrtValue* out = floats(s, y, {2, 2});
  run(s, d.session, {"x"}, {d.x}, {"y"}, {out});
  s.note("in place", y[0]);
  run(s, d.session, {"x"}, {d.x}, {"y", "s"}, {out, nullptr});
}

SCENE(run, preallocated_that_does_not_fit) {
  Dense d(s);
  float y[9] = {9, 9, 9, 9, 9, 9, 9, 9, 9};
  OrtValue* wrong_type = nullptr;
  const int64_t shape[2] = {2, 2};
  CALL(CreateTensorAsOrtValue, s.allocator(), shape, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, &wrong_type);
  for (const std::vector<int64_t>& dims : std::vector<std::vector<int64_t>>{{4}, {1, 2}, {3, 2}, {2, 2, 1}, {3, 3}}) {
    OrtValue* out = floats(s, y, dims);
    const char *inputs[1] = {"x"}, *outputs[1] = {"y"};
    CALL(Run, d.session, nullptr, inputs, &d.x, 1, outputs, 1, &out);
    s.note("out", out);
  }
  const char *inputs[1] = {"x"}, *outputs[1] = {"y"};
  CALL(Run, d.session, nullptr, inputs, &d.x, 1, outputs, 1, &wrong_type);
}

SCENE(run, step_in_place) {
  OrtSession* session = open(s, "step");
  float x[4] = {1, 2, 3, 4}, state[4] = {10, 20, 30, 40};
  OrtValue *a = floats(s, x, {4}), *b = floats(s, state, {4}), *c = floats(s, state, {4});
  run(s, session, {"x", "state"}, {a, b}, {"state_out"}, {c});
  run(s, session, {"x", "state"}, {a, b}, {"state_out"}, {b});
  run(s, session, {"x", "state"}, {a, a}, {"state_out"});
}

SCENE(run, missing_input) {
  OrtSession* session = open(s, "step");
  float x[4] = {1, 2, 3, 4};
  run(s, session, {"x"}, {floats(s, x, {4})}, {"state_out"});
}

SCENE(run, shape_from_data) {
  OrtSession* session = open(s, "nonzero");
  float x[5] = {0, 1, 0, 3, 4}, zeros[2] = {};
  run(s, session, {"x"}, {floats(s, x, {5})}, {"idx"});
  run(s, session, {"x"}, {floats(s, zeros, {2})}, {"idx"});
}

SCENE(run, every_type) {
  OrtSession* session = open(s, "types");
  const std::pair<const char*, int> types[] = {{"f16", 10}, {"f64", 11}, {"i8", 3},  {"u8", 2},
                                               {"i32", 6},  {"i64", 7},  {"bool", 9}};
  const int64_t shape[1] = {3};
  for (auto [name, type] : types) {
    OrtValue *in = nullptr, *out = nullptr;
    CALL(CreateTensorAsOrtValue, s.allocator(), shape, 1, ONNXTensorElementDataType(type), &in);
    void* p = nullptr;
    size_t bytes = 0;
    CALL(GetTensorMutableData, in, &p);
    CALL(GetTensorSizeInBytes, in, &bytes);
    for (size_t i = 0; i < bytes; ++i) static_cast<uint8_t*>(p)[i] = type == 9 ? i % 2 : uint8_t(i + 1);
    const std::string input = std::string("in_") + name, output = std::string("out_") + name;
    const char *inputs[1] = {input.c_str()}, *outputs[1] = {output.c_str()};
    CALL(Run, session, nullptr, inputs, &in, 1, outputs, 1, &out);
    const void* q = nullptr;
    if (out) CALL(GetTensorData, out, &q);
    s.note("equal",
           q && std::string_view(static_cast<const char*>(q), bytes) == std::string_view(static_cast<char*>(p), bytes));
    s.note("a copy", q != p);
  }
}

SCENE(run, strings) {
  OrtSession* session = open(s, "types");
  const int64_t shape[1] = {3};
  OrtValue *in = nullptr, *out = nullptr;
  CALL(CreateTensorAsOrtValue, s.allocator(), shape, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, &in);
  const char* texts[3] = {"a", "", "long enough not to be short"};
  CALL(FillStringTensor, in, texts, 3);
  const char *inputs[1] = {"in_str"}, *outputs[1] = {"out_str"};
  CALL(Run, session, nullptr, inputs, &in, 1, outputs, 1, &out);
  size_t n = 77;
  CALL(GetStringTensorDataLength, out, &n);
  s.note("length", n);
  char text[40] = {};
  CALL(GetStringTensorElement, out, 39, 2, text);
  s.note("text", text);
}

SCENE(run, sequence_of_maps) {
  OrtSession* session = open(s, "zipmap");
  float x[6] = {1, 2, 3, 4, 5, 6};
  OrtValue *in = floats(s, x, {2, 3}), *out = nullptr;
  const char *inputs[1] = {"x"}, *outputs[1] = {"z"};
  CALL(Run, session, nullptr, inputs, &in, 1, outputs, 1, &out);
  size_t n = 77;
  CALL(GetValueCount, out, &n);
  s.note("count", n);
  OrtValue *map = nullptr, *keys = nullptr, *values = nullptr;
  CALL(GetValue, out, 1, s.allocator(), &map);
  CALL(GetValue, map, 0, s.allocator(), &keys);
  CALL(GetValue, map, 1, s.allocator(), &values);
  note_tensor(s, "keys", keys);
  note_tensor(s, "values", values);
}

// A value that was given for an output keeps its type.
SCENE(run, tensor_for_a_sequence) {
  OrtSession* session = open(s, "zipmap");
  float x[6] = {1, 2, 3, 4, 5, 6}, y[2] = {7, 7};
  OrtValue *in = floats(s, x, {2, 3}), *out = floats(s, y, {2});
  const char *inputs[1] = {"x"}, *outputs[1] = {"z"};
  CALL(Run, session, nullptr, inputs, &in, 1, outputs, 1, &out);
  OrtIoBinding* binding = nullptr;
  CALL(CreateIoBinding, session, &binding);
  CALL(BindInput, binding, "x", in);
  CALL(BindOutput, binding, "z", out);
  CALL(RunWithBinding, session, nullptr, binding);
  s.api.ReleaseIoBinding(binding);
  note_tensor(s, "given", out);
}

SCENE(run, maps) {
  OrtSession* session = open(s, "maps");
  const int64_t three[1] = {3};
  const auto vector = [&](ONNXTensorElementDataType type, auto... elements) {
    OrtValue* value = nullptr;
    CALL(CreateTensorAsOrtValue, s.allocator(), three, 1, type, &value);
    using T = std::common_type_t<decltype(elements)...>;
    if constexpr (std::is_same_v<T, const char*>) {
      const char* texts[3] = {elements...};
      CALL(FillStringTensor, value, texts, 3);
    } else {
      void* p = nullptr;
      CALL(GetTensorMutableData, value, &p);
      size_t i = 0;
      ((static_cast<T*>(p)[i++] = elements), ...);
    }
    return value;
  };
  const auto map = [&](OrtValue* keys, OrtValue* values) {
    const OrtValue* both[2] = {keys, values};
    OrtValue* value = nullptr;
    CALL(CreateValue, both, 2, ONNX_TYPE_MAP, &value);
    return value;
  };
  const auto kText = ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING;
  const auto kInt = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64;
  const auto kFloat = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  OrtValue* words = map(vector(kText, "c", "?", "a"), vector(kInt, int64_t(5), int64_t(6), int64_t(7)));
  OrtValue* other = map(vector(kText, "c", "?", "a"), vector(kFloat, 5.0f, 6.0f, 7.0f));
  OrtValue* numbers = map(vector(kInt, int64_t(7), int64_t(3), int64_t(1)), vector(kFloat, 2.5f, -1.75f, 3.0f));
  OrtValue* below = map(vector(kInt, int64_t(7), int64_t(3), int64_t(-1)), vector(kFloat, 2.5f, -1.75f, 3.0f));
  run(s, session, {"words", "numbers"}, {words, numbers}, {"counts", "dense", "sparse"});
  run(s, session, {"words", "numbers"}, {words, below}, {"sparse"});
  run(s, session, {"words", "numbers"}, {other, numbers}, {"counts"});
  run(s, session, {"words", "numbers"}, {vector(kFloat, 5.0f, 6.0f, 7.0f), numbers}, {"counts"});
}

SCENE(run, results_outlive_the_session) {
  Dense d(s);
  const char *inputs[1] = {"x"}, *outputs[1] = {"y"};
  OrtValue* out = nullptr;
  CALL(Run, d.session, nullptr, inputs, &d.x, 1, outputs, 1, &out);
  s.api.ReleaseSession(d.session);
  note_tensor(s, "y", out);
  s.api.ReleaseValue(out);
}

SCENE(run, terminated) {
  Dense d(s);
  OrtRunOptions* o = nullptr;
  CALL(CreateRunOptions, &o);
  CALL(RunOptionsSetTerminate, o);
  const char *inputs[1] = {"x"}, *outputs[1] = {"y"};
  OrtValue* out = nullptr;
  CALL(Run, d.session, o, inputs, &d.x, 1, outputs, 1, &out);
  s.note("out", out);
  CALL(RunOptionsUnsetTerminate, o);
  CALL(Run, d.session, o, inputs, &d.x, 1, outputs, 1, &out);
  s.note("out", out);
}

SCENE(run, many_threads) {
  Dense d(s);
  std::vector<std::thread> threads;
  std::atomic<int> failures{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        const char *inputs[1] = {"x"}, *outputs[1] = {"y"};
        OrtValue* out = nullptr;
        OrtStatus* status = s.api.Run(d.session, nullptr, inputs, &d.x, 1, outputs, 1, &out);
        failures += status != nullptr;
        s.api.ReleaseStatus(status);
        s.api.ReleaseValue(out);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  s.note("failures", failures.load());
}

namespace {
struct Done {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  int code = 0;
  size_t outputs = 77;
  bool has_outputs = false;
  OrtValue* value = nullptr;
  bool other_thread = false;
  std::thread::id caller = std::this_thread::get_id();
  const OrtApi* api = nullptr;
};
void when_done(void* data, OrtValue** outputs, size_t n, OrtStatusPtr status) {
  Done& d = *static_cast<Done*>(data);
  const std::lock_guard lock(d.mutex);
  d.outputs = n;
  d.has_outputs = outputs != nullptr;
  d.value = outputs && n ? outputs[0] : nullptr;
  d.code = status ? d.api->GetErrorCode(status) : 0;
  d.api->ReleaseStatus(status);
  d.other_thread = std::this_thread::get_id() != d.caller;
  d.done = true;
  d.changed.notify_all();
}
}  // namespace

SCENE(run, async) {
  OrtSessionOptions* o = s.options();
  CALL(SetIntraOpNumThreads, o, 2);
  OrtSession* session = open(s, "dense", o);
  float data[6] = {1, 2, 3, -1, -2, -3};
  OrtValue* x = floats(s, data, {2, 3});
  for (const char* output : {"y", "unknown"}) {
    Done d;
    d.api = &s.api;
    const char *inputs[1] = {"x"}, *outputs[1] = {output};
    OrtValue* out = nullptr;
    if (CALL(RunAsync, session, nullptr, inputs, &x, 1, outputs, 1, &out, when_done, &d) == ORT_OK) {
      std::unique_lock lock(d.mutex);
      s.note("came", d.changed.wait_for(lock, std::chrono::seconds(10), [&] { return d.done; }));
      s.note("code", d.code);
      s.note("outputs", d.outputs);
      s.note("has outputs", d.has_outputs);
      s.note("other thread", d.other_thread);
      note_tensor(s, "value", d.value);
    }
  }
}

SCENE(run, async_with_one_thread) {
  OrtSessionOptions* o = s.options();
  CALL(SetIntraOpNumThreads, o, 1);
  OrtSession* session = open(s, "dense", o);
  float data[6] = {1, 2, 3, -1, -2, -3};
  OrtValue *x = floats(s, data, {2, 3}), *out = nullptr;
  Done d;
  d.api = &s.api;
  const char *inputs[1] = {"x"}, *outputs[1] = {"y"};
  CALL(RunAsync, session, nullptr, inputs, &x, 1, outputs, 1, &out, when_done, &d);
}
