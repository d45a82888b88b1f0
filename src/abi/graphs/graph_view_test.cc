// Tests what views of models' graphs show, and compares them with the graphs that the official library passes to a
// provider.
//   RETORT_ORACLE=/path/libonnxruntime.so.1.x   the official library; without it, the comparison is skipped
//   RETORT_GRAPH_MODELS=/folder                 also compares the models of that folder
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "abi/graphs/graph.h"
#include "abi/graphs/graph_text_testing.h"
#include "abi/slots.h"

namespace retort::abi {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<OrtGraph> viewed(const std::string& path) {
  std::vector<ExternalFile> files;
  std::shared_ptr<Model> model = read_model(path, {.unaligned_from = size_t(64) << 10, .files = &files});
  return view_graph(view_model(std::move(model), files));
}

const OrtApi& ours() { return *base_api::GetApi(ORT_API_VERSION); }

std::vector<std::string> lines_of(std::istream& in) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// Sessions of the official library with a provider that writes the graph it receives.
class Official {
 public:
  explicit Official(const char* library) {
    void* opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    void* get = opened ? dlsym(opened, "OrtGetApiBase") : nullptr;
    if (!get) throw std::runtime_error(dlerror());
    api_ = reinterpret_cast<const OrtApiBase*(ORT_API_CALL*)()>(get)()->GetApi(ORT_API_VERSION);
    check(api_->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "test", &env_));
    check(api_->RegisterExecutionProviderLibrary(env_, "graph_text", RETORT_GRAPH_PROVIDER));
    const OrtEpDevice* const* devices = nullptr;
    size_t count = 0;
    check(api_->GetEpDevices(env_, &devices, &count));
    check(api_->CreateSessionOptions(&options_));
    check(api_->SetSessionGraphOptimizationLevel(options_, ORT_DISABLE_ALL));
    for (size_t i = 0; i < count; ++i) {
      if (std::strcmp(api_->EpDevice_EpName(devices[i]), "graph_text") != 0) continue;
      check(api_->SessionOptionsAppendExecutionProvider_V2(options_, env_, &devices[i], 1, nullptr, nullptr, 0));
    }
  }
  ~Official() {
    api_->ReleaseSessionOptions(options_);
    api_->ReleaseStatus(api_->UnregisterExecutionProviderLibrary(env_, "graph_text"));
    api_->ReleaseEnv(env_);
  }
  Official(const Official&) = delete;

  std::vector<std::string> shows(const std::string& model) {
    const std::string path = ::testing::TempDir() + "retort_graph_" + std::to_string(getpid()) + ".txt";
    setenv("RETORT_GRAPH_TEXT", path.c_str(), 1);
    OrtSession* session = nullptr;
    check(api_->CreateSession(env_, model.c_str(), options_, &session));
    api_->ReleaseSession(session);
    std::ifstream in(path);
    std::vector<std::string> lines = lines_of(in);
    fs::remove(path);
    return lines;
  }

 private:
  void check(OrtStatus* status) {
    if (!status) return;
    const std::string text = api_->GetErrorMessage(status);
    api_->ReleaseStatus(status);
    throw std::runtime_error(text);
  }
  const OrtApi* api_ = nullptr;
  OrtEnv* env_ = nullptr;
  OrtSessionOptions* options_ = nullptr;
};

/// Either library may know more of a shape; the shapes agree if all extents that both know are equal.
std::string without_shape(const std::string& line, std::vector<std::string>& shape) {
  const size_t at = line.find(" of "), begin = at == line.npos ? at : line.find(' ', at + 4);
  if (line.find("value ") == line.npos || begin == line.npos) return line;
  const bool ranked = line[begin + 1] == '[';
  const size_t end = ranked ? line.find(']', begin) + 1 : begin + std::strlen(" unranked");
  std::istringstream extents(ranked ? line.substr(begin + 2, end - begin - 3) : "unranked");
  shape = {std::istream_iterator<std::string>(extents), {}};
  return line.substr(0, begin) + line.substr(end);
}

bool same(const std::string& a, const std::string& b) {
  std::vector<std::string> x, y;
  if (without_shape(a, x) != without_shape(b, y)) return false;
  const std::vector<std::string> unranked{"unranked"};
  if (x == unranked || y == unranked) return true;
  return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                    [](const auto& p, const auto& q) { return p == q || p == "-1" || q == "-1"; });
}

std::vector<std::string> models() {
  std::vector<std::string> all;
  const char* more = std::getenv("RETORT_GRAPH_MODELS");
  for (const char* folder : {RETORT_MODELS, more ? more : ""}) {
    if (!*folder) continue;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      const std::string name = entry.path().filename();
      const bool custom = name.starts_with("custom_") || name.starts_with("lite_");  // operators of scenes and clients
      if (entry.path().extension() == ".onnx" && !custom) all.push_back(entry.path());
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

const OrtNode& node_called(const OrtGraph& graph, std::string_view name) {
  for (const auto& n : graph.nodes) {
    if (n->name == name) return *n;
  }
  throw std::runtime_error("no such node");
}

TEST(GraphView, OfAPartOfABody) {
  const auto graph = viewed(std::string(RETORT_MODELS) + "/scopes.onnx");
  const OrtGraph& body = *node_called(*graph, "loop").subgraphs.at(0).graph;
  const OrtNode* choice = &node_called(body, "choice");
  OrtGraph* part = nullptr;
  ASSERT_EQ(Graph_GetGraphView(&body, &choice, 1, &part), nullptr);
  ASSERT_EQ(part->view->inputs.size(), 2u);  // the condition and the state; constants are part of the view
  EXPECT_EQ(part->view->inputs[0]->name, "go");
  EXPECT_EQ(part->view->inputs[1]->name, "state");
  EXPECT_EQ(part->view->outputs.at(0)->name, "chosen");
  EXPECT_EQ(part->view->initializers.at(0)->name, "k");
  const OrtNode* of_another = &node_called(*graph, "loop");
  OrtGraph* none = nullptr;
  OrtStatusPtr status = Graph_GetGraphView(&body, &of_another, 1, &none);
  ASSERT_NE(status, nullptr);
  EXPECT_EQ(GetErrorCode(status), ORT_INVALID_ARGUMENT);
  EXPECT_NE(std::string(GetErrorMessage(status)).find("'loop'"), std::string::npos);
  ReleaseStatus(status);
  ReleaseGraph(part);
}

TEST(GraphView, OwnsWhatItShows) {
  const auto graph = viewed(std::string(RETORT_MODELS) + "/scopes.onnx");
  const OrtNode* loop = &node_called(*graph, "loop");
  ReleaseNode(const_cast<OrtNode*>(loop));
  ReleaseGraph(loop->subgraphs.at(0).graph.get());
  ReleaseValueInfo(const_cast<OrtValueInfo*>(loop->inputs.at(0)));
  const OrtValue *first = nullptr, *second = nullptr;
  ASSERT_EQ(ValueInfo_GetInitializerValue(loop->inputs.at(0), &first), nullptr);
  ASSERT_EQ(ValueInfo_GetInitializerValue(loop->inputs.at(0), &second), nullptr);
  EXPECT_NE(first, nullptr);
  EXPECT_EQ(first, second);
}

TEST(GraphView, ArraysThatAreTooShort) {
  const auto graph = viewed(std::string(RETORT_MODELS) + "/scopes.onnx");
  const OrtValueInfo* values[8] = {};
  OrtStatusPtr status = Graph_GetInputs(graph.get(), values, 2);
  ASSERT_NE(status, nullptr);
  EXPECT_EQ(GetErrorCode(status), ORT_INVALID_ARGUMENT);
  ReleaseStatus(status);
  EXPECT_EQ(Graph_GetInputs(graph.get(), values, 8), nullptr);
  EXPECT_EQ(values[3], nullptr);
}

TEST(GraphView, IsWhatTheOfficialLibraryShows) {
  const char* library = std::getenv("RETORT_ORACLE");
  if (!library || !*library) GTEST_SKIP() << "RETORT_ORACLE names no official library";
  Official official(library);
  for (const std::string& model : models()) {
    SCOPED_TRACE(model);
    const std::vector<std::string> theirs = official.shows(model);
    std::istringstream text(graph_text(ours(), viewed(model).get()));
    const std::vector<std::string> mine = lines_of(text);
    EXPECT_FALSE(theirs.empty());
    EXPECT_EQ(mine.size(), theirs.size());
    int told = 0;
    for (size_t i = 0; i < std::min(mine.size(), theirs.size()) && told < 5; ++i) {
      if (same(mine[i], theirs[i])) continue;
      ADD_FAILURE() << "line " << i + 1 << "\n  ours:   " << mine[i] << "\n  theirs: " << theirs[i];
      ++told;
    }
  }
}

}  // namespace
}  // namespace retort::abi
