// I/O binding: caches that Concat makes longer with each step of a decoder.
#include "binder.h"

using namespace scenes;

namespace {

/// present = past and new along the axis of time; the output of a step is the sums of the rows.
Maker concat(int64_t heads) {
  return Maker()
      .floats_in("past", {1, heads, "p", 2})
      .floats_in("new", {1, heads, "s", 2})
      .integers("time", {1}, {2})
      .node("Concat", {"past", "new"}, {"present"}, {attribute("axis", 2)})
      .node("ReduceSum", {"present", "time"}, {"sums"}, {attribute("keepdims", 0)})
      .floats_out("present", {1, heads, "t", 2})
      .floats_out("sums", {1, heads, 2});
}

}  // namespace

SCENE(binding_cache, concat_through_results) {
  Binder b(s, concat(2));
  float none[1] = {}, step[4];
  b.in("past", floats(s, none, {1, 2, 0, 2}));
  for (int i = 0; i < 5; ++i) {
    for (int k = 0; k < 4; ++k) step[k] = float(10 * i + k);
    b.in("new", floats(s, step, {1, 2, 1, 2}));
    b.out("present");
    b.out("sums");
    b.run_and_note();
    const auto results = b.values();
    b.in("past", results[0]);
    for (OrtValue* v : results) s.api.ReleaseValue(v);
  }
}

SCENE(binding_cache, concat_between_two_buffers) {
  Binder b(s, concat(2));
  float memory[2][40] = {}, step[4];
  for (int64_t i = 0; i < 5; ++i) {
    for (int k = 0; k < 4; ++k) step[k] = float(10 * i + k);
    b.in("past", floats(s, memory[i % 2], {1, 2, i, 2}));
    b.in("new", floats(s, step, {1, 2, 1, 2}));
    b.out("present", floats(s, memory[(i + 1) % 2], {1, 2, i + 1, 2}));
    b.out("sums");
    b.run_and_note();
  }
}

// With one head, the rows of the past stay in place.
SCENE(binding_cache, concat_in_one_buffer) {
  Binder b(s, concat(1), in_place(s));
  float memory[16] = {}, step[2];
  for (int64_t i = 0; i < 6; ++i) {
    for (int k = 0; k < 2; ++k) step[k] = float(10 * i + k);
    b.in("past", floats(s, memory, {1, 1, i, 2}));
    b.in("new", floats(s, step, {1, 1, 1, 2}));
    b.out("present", floats(s, memory, {1, 1, i + 1, 2}));
    b.out("sums");
    b.run_and_note();
  }
  note_all(s, "memory", memory);
}

SCENE(binding_cache, concat_of_two_heads_in_one_buffer) {
  Binder b(s, concat(2));
  float memory[8] = {1, 2, 3, 4}, step[4] = {5, 6, 7, 8};
  const float wanted[8] = {1, 2, 5, 6, 3, 4, 7, 8};
  b.in("past", floats(s, memory, {1, 2, 1, 2}));
  b.in("new", floats(s, step, {1, 2, 1, 2}));
  b.out("present", floats(s, memory, {1, 2, 2, 2}));
  b.run();
  s.note("elements are right", std::memcmp(memory, wanted, sizeof wanted) == 0);
}

// The axis of time comes before the heads: rows stay in place, however many heads there are.
SCENE(binding_cache, concat_of_heads_within_rows_in_one_buffer) {
  Binder b(s,
           Maker()
               .floats_in("past", {1, "p", 2, 2})
               .floats_in("new", {1, "s", 2, 2})
               .node("Concat", {"past", "new"}, {"present"}, {attribute("axis", 1)})
               .node("Neg", {"past"}, {"before"})
               .floats_out("present", {1, "t", 2, 2})
               .floats_out("before", {1, "p", 2, 2}),
           in_place(s));
  float memory[12] = {}, step[4];
  for (int64_t i = 0; i < 3; ++i) {
    for (int k = 0; k < 4; ++k) step[k] = float(10 * i + k);
    b.in("past", floats(s, memory, {1, i, 2, 2}));
    b.in("new", floats(s, step, {1, 1, 2, 2}));
    b.out("present", floats(s, memory, {1, i + 1, 2, 2}));
    b.out("before");
    b.run_and_note();
  }
}

SCENE(binding_cache, concat_of_new_rows_in_front) {
  Binder b(s, Maker()
                  .floats_in("past", {1, "p", 2})
                  .floats_in("new", {1, "s", 2})
                  .node("Concat", {"new", "past"}, {"present"}, {attribute("axis", 1)})
                  .floats_out("present", {1, "t", 2}));
  float memory[6] = {1, 2, 3, 4}, step[2] = {5, 6};
  const float wanted[6] = {5, 6, 1, 2, 3, 4};
  b.in("past", floats(s, memory, {1, 2, 2}));
  b.in("new", floats(s, step, {1, 1, 2}));
  b.out("present", floats(s, memory, {1, 3, 2}));
  b.run();
  s.note("elements are right", std::memcmp(memory, wanted, sizeof wanted) == 0);
}

SCENE(binding_cache, concat_of_a_past_that_moves) {
  Binder b(s, concat(1));
  float memory[10] = {0, 0, 1, 2, 3, 4}, step[2] = {5, 6};
  const float wanted[6] = {1, 2, 3, 4, 5, 6};
  b.in("past", floats(s, memory + 2, {1, 1, 2, 2}));
  b.in("new", floats(s, step, {1, 1, 1, 2}));
  b.out("present", floats(s, memory, {1, 1, 3, 2}));
  b.run();
  s.note("elements are right", std::memcmp(memory, wanted, sizeof wanted) == 0);
}

SCENE(binding_cache, concat_of_a_past_that_is_held) {
  Binder b(s, concat(2));
  float none[1] = {}, step[4] = {1, 2, 3, 4};
  std::vector<OrtValue*> held;
  b.in("past", floats(s, none, {1, 2, 0, 2}));
  b.in("new", floats(s, step, {1, 2, 1, 2}));
  for (int i = 0; i < 3; ++i) {
    b.out("present");
    b.run();
    held.push_back(b.values()[0]);
    b.in("past", held.back());
    step[0] += 10;
  }
  for (const OrtValue* v : held) note_value(s, "held", v);
  b.in("past", held[0]);  // two continuations of one past
  b.out("present");
  b.run();
  for (const OrtValue* v : b.values()) note_value(s, "other way on", v);
  for (const OrtValue* v : held) note_value(s, "held", v);
}
