// The loopback provider: inputs and outputs in all memories, bound and by name.

#include "loop/loop.h"

using namespace scenes;

namespace {

const char* const kPlaces[] = {"host", "pinned", "device"};

/// The state after a failed run is undefined, so it is not noted.
void note_nothing(Scene& s, std::initializer_list<const char*> keys) {
  for (const char* key : keys) s.note(key, "-");
}

/// Three runs of a binding whose input lies in one memory, and whose output is given in another, or allocated there.
template <int In, int Out, bool Given>
void bound(Scene& s) {
  Loop loop(s);
  Binder b(s, rows_of_two(), loop.options());
  OrtValue* x = loop.tensor(Where(In), {2, 2}, {1, 2, -3, -4});
  OrtValue* y = Given ? loop.empty(Where(Out), {2, 2}) : nullptr;
  loop.forget();
  b.in("x", x);
  Given ? b.out("y", y) : CALL(BindOutputToDevice, b.binding, "y", loop.memory(Where(Out)));
  loop.note_counts("binding");
  bool good = b.run() == ORT_OK;
  loop.note_counts("the first run", !good);
  for (int i = 0; i < 3; ++i) good &= b.run() == ORT_OK;
  loop.note_counts("three more runs", !good);
  good ? loop.note(b) : note_nothing(s, {"outputs", "value lies in", "value"});
}

/// A run by name.
template <int In, int Out, bool Given>
void by_name(Scene& s) {
  Loop loop(s);
  OrtSession* session = rows_of_two().open(s, loop.options());
  const OrtValue* x = loop.tensor(Where(In), {2, 2}, {1, 2, -3, -4});
  OrtValue* y = Given ? loop.empty(Where(Out), {2, 2}) : nullptr;
  const char *in = "x", *out = "y";
  loop.forget();
  for (int i = 0; i < 2; ++i) {
    const bool good = CALL(Run, session, nullptr, &in, &x, 1, &out, 1, &y) == ORT_OK;
    loop.note_counts("a run", !good);
    good ? loop.note("y", y) : note_nothing(s, {"y lies in", "y"});
    loop.forget();
    if (!Given) {
      s.api.ReleaseValue(y);
      y = nullptr;
    }
  }
}

template <int In, int Out, bool Given>
void add() {
  const std::string name = std::string(kPlaces[In]) + (Given ? "_to_given_" : "_to_made_") + kPlaces[Out];
  registry().push_back({"loopback.bound_" + name, bound<In, Out, Given>});
  if (Given || Out == 0) registry().push_back({"loopback.run_" + name, by_name<In, Out, Given>});
}
template <int In>
void add_all() {
  add<In, 0, true>();
  add<In, 1, true>();
  add<In, 2, true>();
  add<In, 0, false>();
  add<In, 1, false>();
  add<In, 2, false>();
}
const bool added = (add_all<0>(), add_all<1>(), add_all<2>(), true);

}  // namespace

// The results of the provider's operators are correct: each operator alone, with inputs made on the host.
SCENE(loopback, operators) {
  Loop loop(s);
  struct Case {
    const char* type;
    std::vector<int64_t> a, b;
    std::vector<Message> attributes;
  };
  const std::vector<Case> cases{
      {"Add", {2, 3}, {3}, {}},
      {"Sub", {3}, {2, 1}, {}},
      {"Mul", {2, 1, 3}, {2, 1}, {}},
      {"MatMul", {2, 3}, {3, 2}, {}},
      {"MatMul", {3}, {2, 3, 2}, {}},
      {"MatMul", {2, 2, 3}, {3}, {}},
      {"Gemm", {3, 2}, {3, 2}, {attribute("transA", 1)}},
      {"Gemm", {2, 3}, {2, 3}, {attribute("transB", 1)}},
      {"Concat", {2, 1}, {2, 3}, {attribute("axis", -1)}},
  };
  const std::vector<float> numbers{1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12};
  const auto extents = [](const std::vector<int64_t>& shape) { return Extents(shape.begin(), shape.end()); };
  const auto product = [](const std::vector<int64_t>& shape) {
    size_t n = 1;
    for (const int64_t d : shape) n *= size_t(d);
    return n;
  };
  for (const Case& c : cases) {
    s.note("operator", c.type);
    Maker model;
    model.floats_in("a", extents(c.a)).floats_in("b", extents(c.b)).node(c.type, {"a", "b"}, {"y"}, c.attributes);
    model.output("y", tensor_type(1));
    OrtSession* session = model.open(s, loop.options());
    const OrtValue* in[2] = {
        loop.tensor(Where::host, c.a, {numbers.begin(), numbers.begin() + long(product(c.a))}),
        loop.tensor(Where::host, c.b, {numbers.begin(), numbers.begin() + long(product(c.b))}),
    };
    loop.run(session, {{"a", in[0]}, {"b", in[1]}});
  }
}

SCENE(loopback, operators_of_one_input) {
  Loop loop(s);
  const Maker base = Maker().floats_in("x", {2, 3}).integers("to", {2}, {3, -1}).integers("axis", {1}, {1});
  const std::vector<std::pair<const char*, std::vector<std::string>>> nodes{
      {"Neg", {"x"}},     {"Relu", {"x"}},    {"Sigmoid", {"x"}},       {"Identity", {"x"}},
      {"Softmax", {"x"}}, {"NonZero", {"x"}}, {"Reshape", {"x", "to"}}, {"ReduceSum", {"x", "axis"}},
  };
  for (const auto& [type, inputs] : nodes) {
    s.note("operator", type);
    Maker model = base;
    model.node(type, inputs, {"y"}).output("y", tensor_type(std::strcmp(type, "NonZero") == 0 ? 7 : 1));
    OrtSession* session = model.open(s, loop.options());
    loop.run(session, loop.tensor(Where::host, {2, 3}, {1, -2, 0, 0.5f, -0.25f, 0}));
  }
}

// The provider offers the processor: every policy takes it before the engine's own.
SCENE(loopback, policies) {
  Loop loop(s);
  for (int policy = OrtExecutionProviderDevicePolicy_DEFAULT;
       policy <= OrtExecutionProviderDevicePolicy_MIN_OVERALL_POWER; ++policy) {
    s.note("policy", policy);
    OrtSessionOptions* o = s.options();
    CALL(SessionOptionsSetEpSelectionPolicy, o, OrtExecutionProviderDevicePolicy(policy));
    OrtSession* session = rows_of_two().open(s, o);
    const OrtEpDevice* device = nullptr;
    CALL(SessionGetEpDeviceForInputs, session, &device, 1);
    s.note("reads the input", s.api.EpDevice_EpName(device));
    loop.run(session, loop.tensor(Where::host, {2, 2}, {1, 2, -3, -4}));
    s.api.ReleaseSession(session);
    s.api.ReleaseSessionOptions(o);
  }
}
