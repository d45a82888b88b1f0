// Models from bytes whose weights are said to lie in files, and callers that give the weights.
#include "folder.h"
#include "model_maker.h"

using namespace scenes;

namespace {

/// x + w + v; both weights lie in w.bin, which no one has.
std::string model() {
  const auto external = [](std::string_view name, const char* offset) {
    Message t;
    t.number(1, 2).number(2, 1).text(8, name).number(14, 1);
    for (const auto& [key, value] :
         {std::pair<const char*, const char*>{"location", "w.bin"}, {"offset", offset}, {"length", "8"}})
      t.message(13, Message().text(1, key).text(2, value));
    return t;
  };
  Maker m = Maker().floats_in("x", {2}).node("Add", {"x", "w"}, {"a"}).node("Add", {"a", "v"}, {"y"});
  Message graph = m.floats_out("y", {2}).graph();
  graph.message(5, external("w", "0")).message(5, external("v", "8"));
  return Message().number(1, 10).message(7, graph).message(8, Message().text(1, "").number(2, 17)).bytes();
}

/// x + u, where u is in the model itself, + k of a Constant node.
std::string model_with_its_weights() {
  return Maker()
      .floats_in("x", {2})
      .floats("u", {2}, {3, 4})
      .node("Constant", {}, {"k"}, {Message().text(1, "value_floats").number(20, 6).real(7, 1).real(7, 2)})
      .node("Add", {"x", "u"}, {"a"})
      .node("Add", {"a", "k"}, {"y"})
      .floats_out("y", {2})
      .bytes();
}

void run(Scene& s, OrtSessionOptions* options, const std::string& bytes = model()) {
  OrtSession* session = nullptr;
  OrtStatus* status = s.api.CreateSessionFromArray(s.env(), bytes.data(), bytes.size(), options, &session);
  s.note("opens", !status);  // the codes depend on the place of the mistake
  s.api.ReleaseStatus(status);
  if (!session) return;
  float data[2] = {1, 2};
  const OrtValue* x = floats(s, data, {2});
  const char *in = "x", *out = "y";
  OrtValue* y = nullptr;
  CALL(Run, session, nullptr, &in, &x, 1, &out, 1, &y);
  note_tensor(s, "y", y);
  s.api.ReleaseValue(y);
  s.api.ReleaseSession(session);
}

float w[2] = {10, 20}, v[2] = {100, 200};

}  // namespace

SCENE(external, given_by_name) {
  OrtSessionOptions* o = s.options();
  const char* names[] = {"w", "v"};
  const OrtValue* values[] = {floats(s, w, {2}), floats(s, v, {2})};
  CALL(AddExternalInitializers, o, names, values, 2);
  run(s, o);
}

SCENE(external, of_which_one_is_given) {
  OrtSessionOptions* o = s.options();
  const char* names[] = {"w"};
  const OrtValue* values[] = {floats(s, w, {2})};
  CALL(AddExternalInitializers, o, names, values, 1);
  run(s, o);
}

SCENE(external, given_in_a_file_in_memory) {
  OrtSessionOptions* o = s.options();
  float both[4] = {10, 20, 100, 200};
  const char* names[] = {"w.bin"};
  char* files[] = {reinterpret_cast<char*>(both)};
  const size_t sizes[] = {sizeof both};
  CALL(AddExternalInitializersFromFilesInMemory, o, names, files, sizes, 1);
  run(s, o);
}

SCENE(external, given_in_a_file_that_is_short) {
  OrtSessionOptions* o = s.options();
  const char* names[] = {"w.bin"};
  char* files[] = {reinterpret_cast<char*>(w)};
  const size_t sizes[] = {sizeof w};
  CALL(AddExternalInitializersFromFilesInMemory, o, names, files, sizes, 1);
  run(s, o);
}

SCENE(external, given_by_nobody) { run(s, s.options()); }

SCENE(external, given_for_what_is_not_external) {
  for (const char* name : {"u", "k", "a", "x", "nothing", ""}) {
    s.note("name", name);
    OrtSessionOptions* o = s.options();
    const OrtValue* value = floats(s, w, {2});
    CALL(AddExternalInitializers, o, &name, &value, 1);
    run(s, o, model_with_its_weights());
  }
}

SCENE(external, values_for_what_the_model_has) {
  for (const char* name : {"u", "k", "a", "x", "nothing"}) {
    s.note("name", name);
    OrtSessionOptions* o = s.options();
    CALL(AddInitializer, o, name, floats(s, w, {2}));
    run(s, o, model_with_its_weights());
  }
}
