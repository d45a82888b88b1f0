// Which devices policies choose among the processor and the devices of plug-ins, what delegates are offered, and the
// options that a chosen device brings.
#include <dlfcn.h>

#include <algorithm>

#include "binder.h"

using scenes::attribute;
using scenes::Maker;
using scenes::Scene;

namespace {

constexpr const char* kPlugin = RETORT_CHOOSING_PROVIDER;

/// Registers the library once for each name, such as "a:cpu:none" (plugins/choosing.cc).
void offer(Scene& s, const std::vector<const char*>& names) {
  for (const char* name : names) CALL(RegisterExecutionProviderLibrary, s.env(), name, kPlugin);
}

void note_story(Scene& s) {
  void* library = dlopen(kPlugin, RTLD_NOW | RTLD_NOLOAD);
  auto* next = library ? reinterpret_cast<const char* (*)()>(dlsym(library, "choosing_story")) : nullptr;
  while (const char* line = next ? next() : nullptr) s.note("told", line);
  if (library) dlclose(library);
}

Maker negative() { return Maker().floats_in("x", {2}).node("Neg", {"x"}, {"y"}).floats_out("y", {2}); }

/// Opens the model and runs it once.
void run(Scene& s, const OrtSessionOptions* options, const Maker& model = negative()) {
  OrtSession* session = model.open(s, options);
  if (session) {
    float data[2] = {1, -2};
    const OrtValue* x = scenes::floats(s, data, {2});
    const char *in = "x", *out = "y";
    OrtValue* y = nullptr;
    CALL(Run, session, nullptr, &in, &x, 1, &out, 1, &y);
    scenes::note_value(s, "y", y);
    s.api.ReleaseValue(y);
  }
  s.api.ReleaseSession(session);
  note_story(s);
}

void each_policy(Scene& s, const std::vector<const char*>& names,
                 const std::vector<std::pair<const char*, const char*>>& config = {}) {
  offer(s, names);
  for (int policy = OrtExecutionProviderDevicePolicy_DEFAULT;
       policy <= OrtExecutionProviderDevicePolicy_MIN_OVERALL_POWER; ++policy) {
    s.note("policy", policy);
    OrtSessionOptions* o = s.options();
    for (const auto& [key, value] : config) CALL(AddSessionConfigEntry, o, key, value);
    CALL(SessionOptionsSetEpSelectionPolicy, o, OrtExecutionProviderDevicePolicy(policy));
    run(s, o);
    s.api.ReleaseSessionOptions(o);
  }
}

struct Offered {
  Scene* s;
  size_t take;
};

/// Notes the devices that it is offered and selects the first `take`.
OrtStatus* ORT_API_CALL look(const OrtEpDevice** all, size_t n, const OrtKeyValuePairs*, const OrtKeyValuePairs*,
                             const OrtEpDevice** selected, size_t, size_t* count, void* state) {
  const Offered& offered = *static_cast<Offered*>(state);
  for (size_t i = 0; i < n; ++i) offered.s->note("offered", offered.s->api.EpDevice_EpName(all[i]));
  for (size_t i = 0; i < offered.take; ++i) selected[i] = all[i];
  *count = offered.take;
  return nullptr;
}

const std::vector<const char*> kMany = {"c:cpu:none", "g:gpu:none", "b:card:none", "n:npu:none",
                                        "m:npu:id",   "h:gpu:name", "a:card:none", "d:cpu:id"};

}  // namespace

SCENE(choice, no_policy) {
  offer(s, {"a:cpu:none"});
  OrtSessionOptions* o = s.options();
  run(s, o);
  s.api.ReleaseSessionOptions(o);
}
SCENE(choice, a_processor) { each_policy(s, {"a:cpu:none"}); }
SCENE(choice, processors_by_name) { each_policy(s, {"b:cpu:none", "a:cpu:none"}); }
SCENE(choice, processors_by_vendor_name) { each_policy(s, {"a:cpu:none", "b:cpu:name"}); }
SCENE(choice, processors_by_vendor_id) { each_policy(s, {"a:cpu:none", "b:cpu:id", "c:cpu:none"}); }
// The library's own provider of the CPU is told by its vendor, which other providers may name, too.
SCENE(choice, a_processor_of_microsoft) { each_policy(s, {"a:cpu:microsoft"}); }
SCENE(choice, a_processor_of_microsoft_by_name) { each_policy(s, {"Above:cpu:microsoft"}); }
SCENE(choice, processors_and_one_of_microsoft) { each_policy(s, {"b:cpu:none", "a:cpu:microsoft"}); }
SCENE(choice, processors_by_vendor_and_one_of_microsoft) { each_policy(s, {"a:cpu:microsoft", "b:cpu:id"}); }
SCENE(choice, cards_of_microsoft) { each_policy(s, {"a:card:microsoft", "n:npu:microsoft", "b:card:none"}); }
SCENE(choice, an_npu) { each_policy(s, {"n:npu:none"}); }
SCENE(choice, a_gpu_and_a_processor) { each_policy(s, {"c:cpu:none", "g:gpu:none"}); }
SCENE(choice, gpus) { each_policy(s, {"a:gpu:id", "b:card:none", "c:card:name"}); }
SCENE(choice, many) { each_policy(s, kMany); }
SCENE(choice, without_the_cpu) {
  each_policy(s, {"a:cpu:none", "n:npu:none"}, {{"session.disable_cpu_ep_fallback", "1"}});
}
SCENE(choice, options_of_the_program_stay) { each_policy(s, {"a:cpu:none"}, {{"ep.a.level", "9"}}); }

SCENE(choice, delegates_see_the_best_first) {
  offer(s, kMany);
  for (const size_t take : {size_t(1), size_t(3), kMany.size()}) {
    Offered offered{&s, take};
    OrtSessionOptions* o = s.options();
    CALL(SessionOptionsSetEpSelectionPolicyDelegate, o, look, &offered);
    run(s, o);
    s.api.ReleaseSessionOptions(o);
  }
}

SCENE(choice, delegates_see_microsoft) {
  offer(s, {"b:cpu:none", "a:cpu:microsoft", "Above:cpu:microsoft", "c:cpu:id"});
  Offered offered{&s, 1};
  OrtSessionOptions* o = s.options();
  CALL(SessionOptionsSetEpSelectionPolicyDelegate, o, look, &offered);
  run(s, o);
  s.api.ReleaseSessionOptions(o);
}

// The options of a device that a program adds.
SCENE(choice, options_of_an_added_device) {
  offer(s, {"a:cpu:none"});
  const OrtEpDevice* device = s.device("a");
  const char *key = "level", *value = "8";
  for (const size_t given : {size_t(0), size_t(1)}) {
    for (const bool before : {false, true}) {
      OrtSessionOptions* o = s.options();
      if (before) CALL(AddSessionConfigEntry, o, "ep.a.level", "9");
      CALL(SessionOptionsAppendExecutionProvider_V2, o, s.env(), &device, 1, &key, &value, given);
      int has = 77;
      CALL(HasSessionConfigEntry, o, "ep.a.level", &has);
      s.note("has", has);
      run(s, o);
      s.api.ReleaseSessionOptions(o);
    }
  }
}

// All parts of a graph go to one call of Compile.
SCENE(choice, parts_are_compiled_together) {
  offer(s, {"a:cpu:none"});
  const Maker model = Maker()
                          .floats_in("x", {2})
                          .node("Neg", {"x"}, {"a"})
                          .node("Abs", {"a"}, {"b"})
                          .node("Neg", {"b"}, {"c"})
                          .node("Exp", {"c"}, {"d"})
                          .node("Neg", {"d"}, {"y"})
                          .floats_out("y", {2});
  OrtSessionOptions* o = s.options();
  CALL(SessionOptionsSetEpSelectionPolicy, o, OrtExecutionProviderDevicePolicy_PREFER_CPU);
  run(s, o, model);
  s.api.ReleaseSessionOptions(o);
}

// A claim around nodes of others is dropped.
SCENE(choice, a_claim_that_cannot_be_a_part) {
  offer(s, {"a:cpu:none"});
  const Maker model = Maker()
                          .floats_in("x", {2})
                          .node("Neg", {"x"}, {"a"})
                          .node("Abs", {"a"}, {"b"})
                          .node("Neg", {"b"}, {"y"})
                          .floats_out("y", {2});
  OrtSessionOptions* o = s.options();
  CALL(SetSessionLogSeverityLevel, o, ORT_LOGGING_LEVEL_FATAL);
  CALL(AddSessionConfigEntry, o, "ep.a.whole", "1");
  CALL(SessionOptionsSetEpSelectionPolicy, o, OrtExecutionProviderDevicePolicy_PREFER_CPU);
  run(s, o, model);
  s.api.ReleaseSessionOptions(o);
}

// What follows from shapes is computed before plug-ins are asked: this one would claim the Neg of the extents, too.
SCENE(choice, known_shapes_and_casts) {
  offer(s, {"a:cpu:none"});
  const Maker model = Maker()
                          .floats_in("x", {2})
                          .node("Shape", {"x"}, {"extents"})
                          .node("Neg", {"extents"}, {"less"})
                          .node("Abs", {"less"}, {"to"})
                          .node("Neg", {"x"}, {"a"})
                          .node("Cast", {"a"}, {"b"}, {attribute("to", 1)})
                          .node("Neg", {"b"}, {"c"})
                          .node("Reshape", {"c", "to"}, {"d"})
                          .node("Neg", {"d"}, {"y"})
                          .floats_out("y", {2});
  OrtSessionOptions* o = s.options();
  CALL(SessionOptionsSetEpSelectionPolicy, o, OrtExecutionProviderDevicePolicy_PREFER_CPU);
  run(s, o, model);
  s.api.ReleaseSessionOptions(o);
}

namespace {

/// One Neg that the CPU has kernels for, and a node that only the plug-ins run; both read x, and one reads the other.
Maker shared_work() {
  return Maker()
      .floats_in("x", {2})
      .node("Neg", {"x"}, {"a"})
      .import("com.microsoft", 1)
      .node("EPContext", {"x"}, {"b"}, {}, "com.microsoft")
      .node("Abs", {"a"}, {"c"})
      .node("Neg", {"b"}, {"d"})
      .floats_out("c", {2})
      .floats_out("b", {2})
      .floats_out("d", {2});
}

/// Who runs which nodes, and which devices the ports are said to be on.
void note_places(Scene& s, OrtSessionOptions* o, const Maker& model, size_t inputs, size_t outputs) {
  CALL(AddSessionConfigEntry, o, "session.record_ep_graph_assignment_info", "1");
  OrtSession* session = model.open(s, o);
  if (!session) return;
  const OrtEpAssignedSubgraph* const* parts = nullptr;
  size_t count = 0;
  CALL(Session_GetEpGraphAssignmentInfo, session, &parts, &count);
  std::vector<std::string> lines;
  for (size_t i = 0; i < count; ++i) {
    const char* provider = nullptr;
    const OrtEpAssignedNode* const* nodes = nullptr;
    size_t n = 0;
    CALL(EpAssignedSubgraph_GetEpName, parts[i], &provider);
    CALL(EpAssignedSubgraph_GetNodes, parts[i], &nodes, &n);
    std::string line = provider;
    for (size_t j = 0; j < n; ++j) {
      const char* type = nullptr;
      CALL(EpAssignedNode_GetOperatorType, nodes[j], &type);
      line += std::string(" ") + type;
    }
    lines.push_back(line);
  }
  std::ranges::sort(lines);
  for (const std::string& line : lines) s.note("part", line);
  std::vector<const OrtEpDevice*> found(std::max(inputs, outputs));
  CALL(SessionGetEpDeviceForInputs, session, found.data(), inputs);
  for (size_t i = 0; i < inputs; ++i) s.note("input", found[i] ? s.api.EpDevice_EpName(found[i]) : "none");
  CALL(SessionGetEpDeviceForOutputs, session, found.data(), outputs);
  for (size_t i = 0; i < outputs; ++i) s.note("output", found[i] ? s.api.EpDevice_EpName(found[i]) : "none");
  s.api.ReleaseSession(session);
  note_story(s);
}

/// Adds the devices of these providers, each by a call of its own.
OrtSessionOptions* with(Scene& s, const std::vector<const char*>& providers) {
  OrtSessionOptions* o = s.options();
  for (const char* name : providers) {
    const OrtEpDevice* device = s.device(name);
    CALL(SessionOptionsAppendExecutionProvider_V2, o, s.env(), &device, 1, nullptr, nullptr, 0);
  }
  return o;
}

/// Selects the devices of the providers that its state names, in that order.
OrtStatus* ORT_API_CALL select_named(const OrtEpDevice** all, size_t n, const OrtKeyValuePairs*,
                                     const OrtKeyValuePairs*, const OrtEpDevice** selected, size_t, size_t* count,
                                     void* state) {
  const auto& [s, names] = *static_cast<std::pair<Scene*, std::vector<const char*>>*>(state);
  for (const char* name : names) {
    for (size_t i = 0; i < n; ++i) {
      if (std::string_view(s->api.EpDevice_EpName(all[i])) == name) selected[(*count)++] = all[i];
    }
  }
  return nullptr;
}

constexpr const char* kCpu = "CPUExecutionProvider";
const std::vector<std::vector<const char*>> kOrders = {{"a"},      {"a", kCpu},      {kCpu, "a"},      {"a", "b"},
                                                       {"b", "a"}, {"a", kCpu, "b"}, {kCpu, "b", "a"}, {kCpu}};

}  // namespace

// Providers get nodes in the order in which they were added, and so does the CPU.
SCENE(choice, added_in_each_order) {
  offer(s, {"a:cpu:none", "b:npu:none"});
  for (const auto& order : kOrders) {
    s.note("order of", order.size());
    OrtSessionOptions* o = with(s, order);
    note_places(s, o, shared_work(), 1, 3);
    s.api.ReleaseSessionOptions(o);
  }
}

SCENE(choice, selected_in_each_order) {
  offer(s, {"a:cpu:none", "b:npu:none"});
  for (const auto& order : kOrders) {
    s.note("order of", order.size());
    std::pair state(&s, order);
    OrtSessionOptions* o = s.options();
    CALL(SessionOptionsSetEpSelectionPolicyDelegate, o, select_named, &state);
    note_places(s, o, shared_work(), 1, 3);
    s.api.ReleaseSessionOptions(o);
  }
}

SCENE(choice, selected_twice) {
  offer(s, {"a:cpu:none", "b:npu:none"});
  using Names = std::vector<const char*>;
  for (const Names& names :
       {Names{"a", "a"}, Names{"a", "b", "a"}, Names{kCpu, kCpu}, Names{"a", kCpu, kCpu}, Names{kCpu, "a", kCpu}}) {
    s.note("selected", names.size());
    std::pair state(&s, names);
    OrtSessionOptions* o = s.options();
    CALL(SessionOptionsSetEpSelectionPolicyDelegate, o, select_named, &state);
    note_places(s, o, negative(), 1, 1);
    s.api.ReleaseSessionOptions(o);
  }
}

// Ports whose reader or maker is a plug-in that works in the memory of the host; those that no node reads or makes.
SCENE(choice, ports_of_each_kind) {
  offer(s, {"a:cpu:none"});
  const Maker model = Maker()
                          .floats_in("both", {2})
                          .floats_in("theirs", {2})
                          .floats_in("ours", {2})
                          .floats_in("unread", {2})
                          .node("Abs", {"both"}, {"p"})
                          .node("Neg", {"both"}, {"q"})
                          .node("Neg", {"theirs"}, {"r"})
                          .node("Abs", {"ours"}, {"t"})
                          .node("Identity", {"r"}, {"u"})
                          .floats_out("p", {2})
                          .floats_out("q", {2})
                          .floats_out("r", {2})
                          .floats_out("t", {2})
                          .floats_out("u", {2});
  OrtSessionOptions* o = with(s, {"a"});
  note_places(s, o, model, 4, 5);
  s.api.ReleaseSessionOptions(o);
}

// Of several parts that read an input, one is named; kernels come in the order of the file.
SCENE(choice, ports_that_several_nodes_read) {
  offer(s, {"a:cpu:none", "b:npu:none"});
  const Maker model = Maker()
                          .floats_in("first", {2})
                          .floats_in("last", {2})
                          .node("Neg", {"first"}, {"p"})
                          .node("Abs", {"first"}, {"q"})
                          .node("Abs", {"last"}, {"r"})
                          .node("Neg", {"last"}, {"t"})
                          .node("Add", {"first", "last"}, {"u"})
                          .floats_out("p", {2})
                          .floats_out("q", {2})
                          .floats_out("r", {2})
                          .floats_out("t", {2})
                          .floats_out("u", {2});
  for (const auto& order : kOrders) {
    OrtSessionOptions* o = with(s, order);
    note_places(s, o, model, 2, 5);
    s.api.ReleaseSessionOptions(o);
  }
}

SCENE(choice, an_output_that_is_a_constant) {
  offer(s, {"a:cpu:none"});
  const Maker model = Maker()
                          .floats_in("x", {2})
                          .node("Neg", {"x"}, {"y"})
                          .node("Constant", {}, {"fixed"}, {attribute("value_int", 3)})
                          .floats_out("y", {2})
                          .output("fixed", scenes::tensor_type(7, {}));
  OrtSessionOptions* o = with(s, {"a"});
  note_places(s, o, model, 1, 2);
  s.api.ReleaseSessionOptions(o);
}

SCENE(choice, an_output_that_is_an_input) {
  offer(s, {"a:cpu:none"});
  const Maker model = Maker()
                          .floats_in("x", {2})
                          .floats_in("through", {2})
                          .node("Neg", {"x"}, {"y"})
                          .floats_out("y", {2})
                          .floats_out("through", {2});
  OrtSessionOptions* o = with(s, {"a"});
  note_places(s, o, model, 2, 2);
  s.api.ReleaseSessionOptions(o);
}
