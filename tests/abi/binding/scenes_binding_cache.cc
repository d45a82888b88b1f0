// I/O binding: the caches of operators of attention over the steps of a decoder, with the resulting numbers.
#include <algorithm>
#include <cmath>

#include "binder.h"

using namespace scenes;

namespace {

/// Notes numbers of a tensor with three digits: the last bits of attention are not the same everywhere.
void note_rounded(Scene& s, std::string_view key, const float* data, size_t n) {
  std::string text;
  char one[32];
  for (size_t i = 0; i < n; ++i) {
    std::snprintf(one, sizeof one, "%s%.3f", i ? " " : "", double(std::round(data[i] * 1000) / 1000 + 0.0f));
    text += one;
  }
  s.note(key, text);
}
void note_rounded(Scene& s, std::string_view key, const OrtValue* value) {
  OrtTensorTypeAndShapeInfo* info = nullptr;
  const void* data = nullptr;
  size_t n = 0;
  CALL(GetTensorTypeAndShape, value, &info);
  CALL(GetTensorShapeElementCount, info, &n);
  CALL(GetTensorData, value, &data);
  s.api.ReleaseTensorTypeAndShapeInfo(info);
  s.note("elements", n);
  note_rounded(s, key, static_cast<const float*>(data), std::min<size_t>(n, 32));
}

/// Numbers that differ from each other.
std::vector<float> made(size_t n, float seed) {
  std::vector<float> v(n);
  for (size_t i = 0; i < n; ++i) v[i] = std::sin(seed + float(i) * 0.7f);
  return v;
}

Maker grouped_query() {
  return Maker()
      .import("com.microsoft", 1)
      .floats_in("q", {1, "s", 16})
      .floats_in("k", {1, "s", 8})
      .floats_in("v", {1, "s", 8})
      .floats_in("past_k", {1, 1, "p", 8})
      .floats_in("past_v", {1, 1, "p", 8})
      .input("lengths", tensor_type(6, {1}))
      .input("total", tensor_type(6, {1}))
      .node("GroupQueryAttention", {"q", "k", "v", "past_k", "past_v", "lengths", "total"},
            {"y", "present_k", "present_v"}, {attribute("num_heads", 2), attribute("kv_num_heads", 1)}, "com.microsoft")
      .floats_out("y", {1, "s", 16})
      .floats_out("present_k", {1, 1, "t", 8})
      .floats_out("present_v", {1, 1, "t", 8});
}

Maker attention() {
  return Maker(23)
      .floats_in("q", {1, 2, "s", 4})
      .floats_in("k", {1, 1, "s", 4})
      .floats_in("v", {1, 1, "s", 4})
      .floats_in("past_k", {1, 1, "p", 4})
      .floats_in("past_v", {1, 1, "p", 4})
      .node("Attention", {"q", "k", "v", "", "past_k", "past_v"}, {"y", "present_k", "present_v"},
            {attribute("is_causal", 1)})
      .floats_out("y", {1, 2, "s", 4})
      .floats_out("present_k", {1, 1, "t", 4})
      .floats_out("present_v", {1, 1, "t", 4});
}

Maker scatter() {
  return Maker(24)
      .floats_in("past", {1, 1, 6, 2})
      .floats_in("new", {1, 1, "s", 2})
      .input("at", tensor_type(7, {1}))
      .node("TensorScatter", {"past", "new", "at"}, {"present"}, {attribute("axis", 2)})
      .floats_out("present", {1, 1, 6, 2});
}

}  // namespace

SCENE(binding_cache, grouped_queries_in_one_buffer) {
  Binder b(s, grouped_query(), in_place(s));
  std::vector<float> k_memory(8 * 8), v_memory(8 * 8);
  OrtValue *k_cache = floats(s, k_memory.data(), {1, 1, 8, 8}), *v_cache = floats(s, v_memory.data(), {1, 1, 8, 8});
  b.in("past_k", k_cache);
  b.in("past_v", v_cache);
  b.out("present_k", k_cache);
  b.out("present_v", v_cache);
  int32_t total = 0;
  for (const int64_t n : {3, 1, 1, 1, 1}) {
    std::vector<float> q = made(size_t(n) * 16, float(total)), k = made(size_t(n) * 8, 1 + float(total)),
                       v = made(size_t(n) * 8, 2 + float(total)), y(size_t(n) * 16);
    total += int32_t(n);
    int32_t last = total - 1;
    b.in("q", floats(s, q.data(), {1, n, 16}));
    b.in("k", floats(s, k.data(), {1, n, 8}));
    b.in("v", floats(s, v.data(), {1, n, 8}));
    b.in("lengths", over(s, &last, sizeof last, {1}, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32));
    b.in("total", over(s, &total, sizeof total, {1}, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32));
    b.out("y", floats(s, y.data(), {1, n, 16}));
    b.run();
    note_rounded(s, "y", y.data(), y.size());
    note_rounded(s, "keys", k_memory.data(), k_memory.size());
    note_rounded(s, "values", v_memory.data(), v_memory.size());
  }
}

// Values in the order of axes that some devices need; keys are unchanged.
SCENE(binding_cache, grouped_queries_of_values_in_bnhs) {
  OrtSessionOptions* o = s.options();
  CALL(AddSessionConfigEntry, o, "session.gqa_value_layout", "BNHS");
  Maker model = Maker()
                    .import("com.microsoft", 1)
                    .floats_in("q", {1, 1, 16})
                    .floats_in("k", {1, 1, 8})
                    .floats_in("v", {1, 1, 8})
                    .floats_in("past_k", {1, 1, "p", 8})
                    .floats_in("past_v", {1, 1, "p", 8})
                    .input("lengths", tensor_type(6, {1}))
                    .input("total", tensor_type(6, {1}))
                    .node("GroupQueryAttention", {"q", "k", "v", "past_k", "past_v", "lengths", "total"},
                          {"y", "present_k", "present_v"}, {attribute("num_heads", 2), attribute("kv_num_heads", 1)},
                          "com.microsoft")
                    .floats_out("y", {1, 1, 16})
                    .floats_out("present_k", {1, 1, "t", 8})
                    .floats_out("present_v", {1, 1, "t", 8});
  Binder b(s, model, o);
  if (!b.session) return;
  std::vector<float> q = made(16, 0), k = made(8, 1), v = made(8, 2), past = made(3 * 8, 4);
  int32_t last = 3, total = 4;
  b.in("q", floats(s, q.data(), {1, 1, 16}));
  b.in("k", floats(s, k.data(), {1, 1, 8}));
  b.in("v", floats(s, v.data(), {1, 1, 8}));
  b.in("past_k", floats(s, past.data(), {1, 1, 3, 8}));
  b.in("past_v", floats(s, past.data(), {1, 1, 8, 3}));
  b.in("lengths", over(s, &last, sizeof last, {1}, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32));
  b.in("total", over(s, &total, sizeof total, {1}, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32));
  for (const char* name : {"y", "present_k", "present_v"}) b.out(name);
  b.run();
  for (const OrtValue* value : b.values()) note_rounded(s, "value", value);
  b.in("past_v", floats(s, past.data(), {1, 1, 3, 8}));
  b.run();
  for (size_t i = 0; i < 7; ++i) {
    OrtTypeInfo* info = nullptr;
    CALL(SessionGetInputTypeInfo, b.session, i, &info);
    const OrtTensorTypeAndShapeInfo* shape = nullptr;
    CALL(CastTypeInfoToTensorInfo, info, &shape);
    int64_t dims[4] = {};
    size_t rank = 0;
    CALL(GetDimensionsCount, shape, &rank);
    CALL(GetDimensions, shape, dims, rank);
    for (size_t d = 0; d < rank; ++d) s.note("extent", dims[d]);
    s.api.ReleaseTypeInfo(info);
  }
}

SCENE(binding_cache, grouped_queries_that_do_not_fit_the_buffer) {
  Binder b(s, grouped_query());
  std::vector<float> memory(2 * 8), q = made(16, 0), k = made(8, 1);
  OrtValue* cache = floats(s, memory.data(), {1, 1, 2, 8});
  int32_t last = 2, total = 3;
  b.in("q", floats(s, q.data(), {1, 1, 16}));
  b.in("k", floats(s, k.data(), {1, 1, 8}));
  b.in("v", floats(s, k.data(), {1, 1, 8}));
  b.in("past_k", cache);
  b.in("past_v", cache);
  b.in("lengths", over(s, &last, sizeof last, {1}, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32));
  b.in("total", over(s, &total, sizeof total, {1}, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32));
  b.out("y");
  b.out("present_k");
  b.out("present_v");
  b.run();
  for (const OrtValue* v : b.values()) note_rounded(s, "value", v);
  b.out("present_k", cache);
  b.run();
  note_rounded(s, "memory", memory.data(), memory.size());
}

SCENE(binding_cache, attention_through_results) {
  Binder b(s, attention());
  if (!b.session) return;
  float none[1] = {};
  b.in("past_k", floats(s, none, {1, 1, 0, 4}));
  b.in("past_v", floats(s, none, {1, 1, 0, 4}));
  float seed = 0;
  for (const int64_t n : {3, 1, 1, 2}) {
    std::vector<float> q = made(size_t(n) * 8, seed), k = made(size_t(n) * 4, seed + 1),
                       v = made(size_t(n) * 4, seed + 2);
    seed += 3;
    b.in("q", floats(s, q.data(), {1, 2, n, 4}));
    b.in("k", floats(s, k.data(), {1, 1, n, 4}));
    b.in("v", floats(s, v.data(), {1, 1, n, 4}));
    for (const char* name : {"y", "present_k", "present_v"}) b.out(name);
    b.run();
    const auto results = b.values();
    for (const OrtValue* r : results) note_rounded(s, "value", r);
    b.in("past_k", results[1]);
    b.in("past_v", results[2]);
    for (OrtValue* r : results) s.api.ReleaseValue(r);
  }
}

SCENE(binding_cache, attention_in_one_buffer) {
  Binder b(s, attention(), in_place(s));
  if (!b.session) return;
  float k_memory[24] = {}, v_memory[24] = {};
  for (int64_t i = 0; i < 4; ++i) {
    std::vector<float> q = made(8, float(i)), k = made(4, float(i) + 1), v = made(4, float(i) + 2);
    float y[8] = {};
    b.in("q", floats(s, q.data(), {1, 2, 1, 4}));
    b.in("k", floats(s, k.data(), {1, 1, 1, 4}));
    b.in("v", floats(s, v.data(), {1, 1, 1, 4}));
    b.in("past_k", floats(s, k_memory, {1, 1, i, 4}));
    b.in("past_v", floats(s, v_memory, {1, 1, i, 4}));
    b.out("y", floats(s, y, {1, 2, 1, 4}));
    b.out("present_k", floats(s, k_memory, {1, 1, i + 1, 4}));
    b.out("present_v", floats(s, v_memory, {1, 1, i + 1, 4}));
    b.run();
    note_rounded(s, "y", y, 8);
    note_rounded(s, "keys", k_memory, 24);
    note_rounded(s, "values", v_memory, 24);
  }
}

SCENE(binding_cache, scattered_in_one_buffer) {
  Binder b(s, scatter(), in_place(s));
  if (!b.session) return;
  float memory[12] = {}, step[4];
  OrtValue* cache = floats(s, memory, {1, 1, 6, 2});
  b.in("past", cache);
  b.out("present", cache);
  int64_t at = 0;
  b.in("at", integers(s, &at, {1}));
  for (const int64_t n : {2, 1, 1, 2}) {
    for (int k = 0; k < 4; ++k) step[k] = float(10 * at + k + 1);
    b.in("new", floats(s, step, {1, 1, n, 2}));
    b.run();
    note_all(s, "memory", memory);
    at += n;
  }
  b.run();
  note_all(s, "beyond the end", memory);
}

SCENE(binding_cache, scattered_between_two_buffers) {
  Binder b(s, scatter());
  if (!b.session) return;
  float past[12], present[12] = {}, step[2] = {50, 60};
  for (int i = 0; i < 12; ++i) past[i] = float(i);
  int64_t at = 3;
  b.in("past", floats(s, past, {1, 1, 6, 2}));
  b.in("new", floats(s, step, {1, 1, 1, 2}));
  b.in("at", integers(s, &at, {1}));
  b.out("present", floats(s, present, {1, 1, 6, 2}));
  b.run();
  note_all(s, "past", past);
  note_all(s, "present", present);
}

SCENE(binding_cache, attention_over_a_scattered_cache) {
  Binder b(s,
           Maker(24)
               .floats_in("past", {1, 1, 4, 4})
               .floats_in("new", {1, 1, 1, 4})
               .floats_in("q", {1, 1, 1, 4})
               .input("at", tensor_type(7, {1}))
               .input("used", tensor_type(7, {1}))
               .node("TensorScatter", {"past", "new", "at"}, {"present"}, {attribute("axis", 2)})
               .node("Attention", {"q", "present", "present", "", "", "", "used"}, {"y"})
               .floats_out("present", {1, 1, 4, 4})
               .floats_out("y", {1, 1, 1, 4}),
           in_place(s));
  if (!b.session) return;
  float memory[16] = {};
  OrtValue* cache = floats(s, memory, {1, 1, 4, 4});
  b.in("past", cache);
  b.out("present", cache);
  int64_t at = 0, used = 1;
  for (; at < 4; ++at, ++used) {
    std::vector<float> q = made(4, float(at)), k = made(4, float(at) + 1);
    float y[4] = {};
    b.in("q", floats(s, q.data(), {1, 1, 1, 4}));
    b.in("new", floats(s, k.data(), {1, 1, 1, 4}));
    b.in("at", integers(s, &at, {1}));
    b.in("used", integers(s, &used, {1}));
    b.out("y", floats(s, y, {1, 1, 1, 4}));
    b.run();
    note_rounded(s, "y", y, 4);
    note_rounded(s, "memory", memory, 16);
  }
}
