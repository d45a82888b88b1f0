// The loopback provider captures runs, and repeats them without the host.
#include "loop/loop.h"

using namespace scenes;

namespace {

OrtRunOptions* as_graph(Scene& s, const char* id) {
  OrtRunOptions* options = nullptr;
  CALL(CreateRunOptions, &options);
  if (id) CALL(AddRunConfigEntry, options, "gpu_graph_id", id);
  return options;
}

/// A binding on the device whose input is written anew before each run.
struct Captured : Loop {
  Captured(Scene& s, const Maker& model, std::initializer_list<Setting> settings)
      : Loop(s), session(model.open(s, options(settings))), b(s, session) {
    if (!session) return;
    x = tensor(Where::device, {2, 2}, {0, 0, 0, 0});
    b.in("x", x);
    b.out("y", empty(Where::device, {2, 2}));
  }
  void run(float first, const OrtRunOptions* run_options = nullptr) {
    const OrtValue* from = tensor(Where::host, {2, 2}, {first, 1, 2, 3});
    OrtValue* to = x;
    CALL(CopyTensors, s.env(), &from, &to, nullptr, 1);
    forget();
    b.run(run_options);
    note_counts("the run");
    note(b);
  }
  OrtSession* session;
  Binder b;
  OrtValue* x = nullptr;
};

const std::initializer_list<Loop::Setting> kSecond = {{"capture", "2"}};

}  // namespace

SCENE(loopback_capture, of_a_bound_model) {
  Captured c(s, rows_of_two(), kSecond);
  for (int i = 1; i <= 4; ++i) c.run(float(i));
}

SCENE(loopback_capture, of_kernels) {
  Captured c(s, rows_of_two(), {{"capture", "2"}, {"style", "kernels"}});
  for (int i = 1; i <= 3; ++i) c.run(float(i));
}

SCENE(loopback_capture, of_several_numbers) {
  Captured c(s, rows_of_two(), kSecond);
  for (const char* id : {"1", "2", "1", "2", "-1", "-1"}) c.run(5, as_graph(s, id));
}

SCENE(loopback_capture, at_once) {
  Captured c(s, rows_of_two(), {{"capture", "1"}});
  for (int i = 1; i <= 3; ++i) c.run(float(i));
}

SCENE(loopback_capture, that_takes_its_time) {
  Captured c(s, rows_of_two(), {{"capture", "5"}});
  for (int i = 1; i <= 3; ++i) c.run(float(i));
}

SCENE(loopback_capture, that_never_comes) {
  Captured c(s, rows_of_two(), {{"capture", "1000"}});
  for (int i = 1; i <= 2; ++i) c.run(float(i));
}

SCENE(loopback_capture, let_go) {
  Captured c(s, rows_of_two(), kSecond);
  c.run(1);
  CALL(SessionReleaseCapturedGraph, c.session, 0);
  CALL(SessionReleaseCapturedGraph, c.session, 7);
  for (int i = 2; i <= 3; ++i) c.run(float(i));
}

SCENE(loopback_capture, of_a_model_that_the_cpu_has_a_part_in) {
  Loop loop(s);
  Maker model = Maker().floats_in("x", {2}).node("Neg", {"x"}, {"a"}).node("Abs", {"a"}, {"y"}).floats_out("y", {2});
  model.open(s, loop.options(kSecond));
}

SCENE(loopback_capture, failures) {
  for (const char* fail : {"ReplayGraph", "OnRunStart", "Compute"}) {
    Captured c(s, rows_of_two(), kSecond);
    if (std::strcmp(fail, "ReplayGraph") == 0) c.run(1);
    c.set("fail", fail);
    c.run(2);
    c.set("fail", "");
    c.run(3);
  }
}

SCENE(loopback_capture, of_runs_by_name) {
  Loop loop(s);
  OrtSession* session = rows_of_two().open(s, loop.options(kSecond));
  const OrtValue* x = loop.tensor(Where::device, {1, 2}, {1, 2});
  OrtValue* y = loop.empty(Where::device, {1, 2});
  const char *in = "x", *out = "y";
  for (int i = 0; i < 3; ++i) {
    loop.forget();
    CALL(Run, session, nullptr, &in, &x, 1, &out, 1, &y);
    loop.note_counts("a run");
    loop.note("y", y);
  }
}
