// Loads the provider in engines with the interface of ONNX Runtime, and looks at what it claims and computes.
//   check_provider PLUGIN [ENGINE]...
// RETORT_LIBRARY names one more engine. The last line is "N passed, N failed".
#include <dlfcn.h>
#include <onnxruntime_c_api.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr const char* kProvider = "SampleProviderExecutionProvider";
using Names = std::set<std::string>;
using Floats = std::vector<float>;

struct Node {
  const char *name, *type;
  std::vector<const char*> in;
  const char* out;
};
/// The model of the test. "minus" and "broadcast" are not the provider's; what it makes goes to others and comes back.
const std::vector<Node> kNodes{
    {"plus", "Add", {"a", "b"}, "s"}, {"times", "Mul", {"s", "a"}, "m"}, {"minus", "Sub", {"m", "b"}, "d"},
    {"positive", "Relu", {"d"}, "r"}, {"again", "Add", {"r", "s"}, "t"}, {"broadcast", "Add", {"t", "row"}, "y"},
};
const Names kOurs{"plus", "times", "positive", "again"};
constexpr int64_t kRows = 2, kColumns = 3;
const Floats kA{1, -2, 3, -4, 5, -6}, kB{0.5f, 0.25f, -8, 2, 30, -1}, kRow{100, 200, 300};

Floats expected() {
  Floats y;
  for (size_t i = 0; i < kA.size(); ++i) {
    const float s = kA[i] + kB[i], d = s * kA[i] - kB[i];
    y.push_back((d < 0 ? 0 : d) + s + kRow[i % kRow.size()]);
  }
  return y;
}

std::string text(const Names& names) {
  std::string all;
  for (const std::string& n : names) all += (all.empty() ? "" : " ") + n;
  return all.empty() ? "nothing" : all;
}

/// One engine with the provider loaded.
class Engine {
 public:
  Engine(const std::string& library, const std::string& plugin) {
    void* opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);  // never closed: engines keep threads
    if (!opened) throw std::runtime_error(dlerror());
    const auto base = reinterpret_cast<const OrtApiBase* (*)()>(dlsym(opened, "OrtGetApiBase"));
    api_ = base ? base()->GetApi(ORT_API_VERSION) : nullptr;
    if (!api_) throw std::runtime_error("it has not the interface of these headers");
    check(api_->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "check", &env_));
    check(api_->RegisterExecutionProviderLibrary(env_, "under_test", plugin.c_str()));
    const OrtEpDevice* const* all = nullptr;
    size_t count = 0;
    check(api_->GetEpDevices(env_, &all, &count));
    for (size_t i = 0; i < count; ++i) {
      if (std::string(api_->EpDevice_EpName(all[i])) == kProvider) devices_.push_back(all[i]);
    }
    if (devices_.empty()) throw std::runtime_error("the provider offers no device");
  }

  /// The engine lets the library go while its environment lives.
  void close() {
    check(api_->UnregisterExecutionProviderLibrary(env_, "under_test"));
    api_->ReleaseEnv(env_);
  }

  struct Outcome {
    Names claimed;
    Floats y;
  };
  /// `claim`: the option, "" to leave it out; `cpu`: whether the processor may run the rest.
  Outcome run(const std::string& claim, bool cpu = true) const {
    OrtSessionOptions* options = nullptr;
    check(api_->CreateSessionOptions(&options));
    const Kept<OrtSessionOptions> kept_options(options, api_->ReleaseSessionOptions);
    check(api_->SetSessionGraphOptimizationLevel(options, ORT_DISABLE_ALL));
    check(api_->AddSessionConfigEntry(options, "session.record_ep_graph_assignment_info", "1"));
    if (!cpu) check(api_->AddSessionConfigEntry(options, "session.disable_cpu_ep_fallback", "1"));
    const char *key = "claim", *value = claim.c_str();
    check(api_->SessionOptionsAppendExecutionProvider_V2(options, env_, devices_.data(), devices_.size(), &key, &value,
                                                         claim.empty() ? 0 : 1));
    OrtModel* model = make_model();
    const Kept<OrtModel> kept_model(model, api_->ReleaseModel);
    OrtSession* session = nullptr;
    check(api_->GetModelEditorApi()->CreateSessionFromModel(env_, model, options, &session));
    const Kept<OrtSession> kept_session(session, api_->ReleaseSession);
    return {claimed(session), compute(session)};
  }

 private:
  template <typename T>
  using Kept = std::unique_ptr<T, void (*)(T*)>;

  void check(OrtStatus* status) const {
    if (!status) return;
    const std::string message = api_->GetErrorMessage(status);
    api_->ReleaseStatus(status);
    throw std::runtime_error(message);
  }

  OrtValueInfo* port(const char* name, const std::vector<int64_t>& shape) const {
    OrtTensorTypeAndShapeInfo* tensor = nullptr;
    OrtTypeInfo* type = nullptr;
    OrtValueInfo* made = nullptr;
    check(api_->CreateTensorTypeAndShapeInfo(&tensor));
    check(api_->SetTensorElementType(tensor, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT));
    check(api_->SetDimensions(tensor, shape.data(), shape.size()));
    check(api_->GetModelEditorApi()->CreateTensorTypeInfo(tensor, &type));
    check(api_->GetModelEditorApi()->CreateValueInfo(name, type, &made));
    api_->ReleaseTypeInfo(type);
    api_->ReleaseTensorTypeAndShapeInfo(tensor);
    return made;
  }

  OrtModel* make_model() const {
    const OrtModelEditorApi& editor = *api_->GetModelEditorApi();
    OrtGraph* graph = nullptr;
    OrtModel* model = nullptr;
    check(editor.CreateGraph(&graph));
    OrtValueInfo* in[] = {port("a", {kRows, kColumns}), port("b", {kRows, kColumns}), port("row", {kColumns})};
    OrtValueInfo* out[] = {port("y", {kRows, kColumns})};
    check(editor.SetGraphInputs(graph, in, 3));
    check(editor.SetGraphOutputs(graph, out, 1));
    for (const Node& n : kNodes) {
      OrtNode* node = nullptr;
      check(editor.CreateNode(n.type, "", n.name, n.in.data(), n.in.size(), &n.out, 1, nullptr, 0, &node));
      check(editor.AddNodeToGraph(graph, node));
    }
    const char* domain = "";
    const int version = 17;
    check(editor.CreateModel(&domain, &version, 1, &model));
    check(editor.AddGraphToModel(model, graph));
    return model;
  }

  Names claimed(const OrtSession* session) const {
    const OrtEpAssignedSubgraph* const* parts = nullptr;
    size_t count = 0;
    check(api_->Session_GetEpGraphAssignmentInfo(session, &parts, &count));
    Names names;
    for (size_t i = 0; i < count; ++i) {
      const char* provider = nullptr;
      const OrtEpAssignedNode* const* nodes = nullptr;
      size_t n = 0;
      check(api_->EpAssignedSubgraph_GetEpName(parts[i], &provider));
      check(api_->EpAssignedSubgraph_GetNodes(parts[i], &nodes, &n));
      for (size_t k = 0; k < n && std::string(provider) == kProvider; ++k) {
        const char* name = nullptr;
        check(api_->EpAssignedNode_GetName(nodes[k], &name));
        names.insert(name);
      }
    }
    return names;
  }

  Floats compute(OrtSession* session) const {
    OrtMemoryInfo* memory = nullptr;
    check(api_->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &memory));
    const Kept<OrtMemoryInfo> kept_memory(memory, api_->ReleaseMemoryInfo);
    std::vector<Kept<OrtValue>> kept;
    const auto tensor = [&](const Floats& data, const std::vector<int64_t>& shape) {
      OrtValue* made = nullptr;
      check(api_->CreateTensorWithDataAsOrtValue(memory, const_cast<float*>(data.data()), data.size() * sizeof(float),
                                                 shape.data(), shape.size(), ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
                                                 &made));
      kept.emplace_back(made, api_->ReleaseValue);
      return made;
    };
    const OrtValue* in[] = {tensor(kA, {kRows, kColumns}), tensor(kB, {kRows, kColumns}), tensor(kRow, {kColumns})};
    const char *names[] = {"a", "b", "row"}, *out = "y";
    OrtValue* y = nullptr;
    check(api_->Run(session, nullptr, names, in, 3, &out, 1, &y));
    kept.emplace_back(y, api_->ReleaseValue);
    void* data = nullptr;
    check(api_->GetTensorMutableData(y, &data));
    return {static_cast<float*>(data), static_cast<float*>(data) + kA.size()};
  }

  const OrtApi* api_ = nullptr;
  OrtEnv* env_ = nullptr;
  std::vector<const OrtEpDevice*> devices_;
};

int passed = 0, failed = 0;

/// `test` returns the error; "" if there is none.
void verdict(const std::string& name, const std::function<std::string()>& test) {
  std::string wrong;
  try {
    wrong = test();
  } catch (const std::exception& e) {
    wrong = e.what();
  }
  ++(wrong.empty() ? passed : failed);
  std::printf("%s %s%s\n", wrong.empty() ? "ok  " : "FAIL", name.c_str(), wrong.empty() ? "" : (": " + wrong).c_str());
}

std::string differs(const Engine::Outcome& got, const Names& claimed) {
  if (got.claimed != claimed) return "claimed: " + text(got.claimed) + "; wanted: " + text(claimed);
  const Floats wanted = expected();
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!(std::abs(got.y[i] - wanted[i]) <= 1e-5f * (1 + std::abs(wanted[i]))))
      return "y[" + std::to_string(i) + "] is " + std::to_string(got.y[i]) + "; wanted: " + std::to_string(wanted[i]);
  }
  return "";
}

void check_engine(const std::string& library, const std::string& plugin) {
  std::unique_ptr<Engine> engine;
  verdict(library + " loads the provider", [&] {
    engine = std::make_unique<Engine>(library, plugin);
    return std::string();
  });
  if (!engine) return;
  verdict("all that it can do", [&] { return differs(engine->run(""), kOurs); });
  verdict("what the option names", [&] { return differs(engine->run("Relu,Mul"), {"positive", "times"}); });
  verdict("nothing", [&] { return differs(engine->run("Nothing"), {}); });
  verdict("without the processor", [&] {
    try {
      engine->run("", false);
      return std::string("the session was made, though no other provider runs 'minus' and 'broadcast'");
    } catch (const std::exception&) {
      return std::string();
    }
  });
  verdict("unloaded", [&] {
    engine->close();
    return std::string();
  });
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> engines(argv + (argc > 1 ? 2 : 1), argv + argc);
  const char* more = std::getenv("RETORT_LIBRARY");
  if (more && *more && std::find(engines.begin(), engines.end(), more) == engines.end()) engines.emplace_back(more);
  if (argc < 2 || engines.empty()) {
    std::fprintf(stderr, "usage: check_provider PLUGIN ENGINE...; RETORT_LIBRARY names an engine, too\n");
    return 2;
  }
  // ONNX Runtime looks for other paths beside itself.
  const std::string plugin = std::filesystem::absolute(argv[1]);
  for (const std::string& engine : engines) check_engine(engine, plugin);
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed ? 1 : 0;
}
