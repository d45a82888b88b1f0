#include "convolutions.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <optional>

#include "convolution_graph.h"
#include "convolution_trial.h"

namespace providers::cuda {
namespace {

constexpr size_t kMostTries = 10;  // plans of a problem that are measured
// No further plan of a problem is tried after this time: loading a kernel may take long.
constexpr double kMostSeconds = 1.5;
constexpr size_t kMostWorkspace = size_t(512) << 20;

void append(std::string& to, const Dims& dims) {
  for (const int64_t d : dims) to += std::to_string(d) + ",";
  to += ';';
}

/// Microseconds of a kernel that reads and writes the output once more: its launch, and memory at a moderate speed.
float epilogue_time(const ConvProblem& p) {
  double bytes = double(size_of(p.type));
  for (const int64_t d : p.y) bytes *= double(d);
  return 2.0f + float(bytes * (p.epilogue.residual ? 3 : 2) / 2e6);
}

/// False where there is no room: the order of the heuristics counts then.
bool prepare(std::optional<ConvTrial>& trial, Device& device, const ConvProblem& problem, std::string& reasons) {
  try {
    trial.emplace(device, problem);
    return true;
  } catch (const Error& e) {
    reasons += text("not measured: ", e.what(), "\n");
    return false;
  }
}

}  // namespace

std::string ConvProblem::key() const {
  std::string k = text(transposed, int(type), channels_last, tf32, ':');
  for (const Dims* d : {&x, &w, &y, &strides, &dilations, &begins, &ends}) append(k, *d);
  const auto& e = epilogue;
  // All bits of the constants: as decimal text, two that differ little would be one.
  k += text(e.bias, e.residual, int(e.activation), ',', std::bit_cast<uint32_t>(e.alpha), ',',
            std::bit_cast<uint32_t>(e.beta));
  return k;
}

namespace {

std::vector<int64_t> tensors_of(const ConvEpilogue& e) {
  std::vector<int64_t> ids{kX, kW, kY};
  if (e.bias) ids.push_back(kBias);
  if (e.residual) ids.push_back(kResidual);
  return ids;
}

}  // namespace

ConvPlan::ConvPlan(dnn::Handles& owner, const ConvProblem& problem, std::shared_ptr<const void> graph,
                   dnn::Descriptor configuration, dnn::Handle handle)
    : plan_(owner, handle, std::move(graph), std::move(configuration), tensors_of(problem.epilogue)),
      fused_(!problem.epilogue.empty()),
      bias_(problem.epilogue.bias),
      residual_(problem.epilogue.residual) {}

void ConvPlan::run(CUstream stream, const ConvPointers& at) const {
  std::vector<Address> places{at.x, at.w, at.y};
  if (bias_) places.push_back(at.bias);
  if (residual_) places.push_back(at.residual);
  plan_.run(stream, places, at.workspace, engine_);
}

Convolutions::Convolutions(Device& device, dnn::Handles& handles) : device_(device), handles_(handles) { dnn::table(); }

std::vector<std::shared_ptr<ConvPlan>> Convolutions::candidates(const ConvProblem& problem, size_t most, bool measure,
                                                                std::string& reasons) {
  device_.enter();
  std::vector<std::shared_ptr<ConvPlan>> found;
  auto start = std::chrono::steady_clock::now();
  const auto late = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > kMostSeconds;
  };
  const dnn::Loan loan(handles_, nullptr);
  const auto graph = make_graph(problem, loan.handle());
  std::optional<ConvTrial> trial;
  // Those that are compiled come last, and only where nothing else can do a bare convolution.
  for (const auto& [mode, with_compiled] :
       {std::pair(dnn::kHeuristicsA, false), std::pair(dnn::kHeuristicsFallback, false),
        std::pair(dnn::kHeuristicsA, problem.epilogue.empty())}) {
    if (!found.empty()) break;
    for (auto& configuration : dnn::configurations(*graph, mode, reasons)) {
      if (found.size() >= most || (!found.empty() && late())) break;
      dnn::EngineFacts facts;
      try {
        facts = dnn::facts_of(configuration);
        // Such engines round what the model did not allow to be rounded.
        const bool exact = problem.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT && !problem.tf32;
        if (facts.has(dnn::kNoteDownConvert) || (exact && facts.has(dnn::kNoteTensorCore)))
          throw Error("it rounds its inputs");
        if (facts.compiled && !with_compiled) throw Error("it would have to be compiled");
        auto plan = std::make_shared<ConvPlan>(handles_, problem, graph, std::move(configuration), loan.handle());
        plan->engine_ = facts.text();
        if (plan->workspace() > kMostWorkspace)
          throw Error(text("workspace: actual ", plan->workspace(), " bytes, at most ", kMostWorkspace));
        if (measure && !trial) measure = prepare(trial, device_, problem, reasons);
        if (measure) plan->microseconds_ = trial->measure(*plan);
        found.push_back(std::move(plan));
        // The first plan of a process waits for cuDNN to load its engines.
        if (found.size() == 1) start = std::chrono::steady_clock::now();
      } catch (const Error& e) {
        reasons += text(facts.text(), ": ", e.what(), "\n");
      }
    }
  }
  return found;
}

std::shared_ptr<const ConvPlan> Convolutions::choose(const ConvProblem& problem, bool search) {
  const bool bare = problem.epilogue.empty();
  std::shared_ptr<const ConvPlan> best;
  float time = 0;
  std::string reasons;
  const auto consider = [&](const ConvProblem& p, size_t most, float more) {
    try {
      for (const auto& plan : candidates(p, most, search && most > 1, reasons)) {
        const float t = plan->microseconds() + more;
        if (best && t >= time) continue;
        best = plan;
        time = t;
      }
    } catch (const Error& e) {  // the graph is refused
      reasons += text(e.what(), "\n");
    }
  };
  if (bare) {
    consider(problem, search ? kMostTries : 1, 0);
    return best;
  }
  if (!problem.transposed && in_graph(problem.epilogue)) consider(problem, search ? kMostTries - 2 : 1, 0);
  if (best && !search) return best;
  ConvProblem plain = problem;
  plain.epilogue = {};
  consider(plain, search ? (best ? kMostTries / 2 : kMostTries) : 1, epilogue_time(problem));
  return best;
}

std::shared_ptr<const ConvPlan> Convolutions::plan(const ConvProblem& problem, bool search) {
  const std::lock_guard lock(planning_);
  return plans_.get(text(search ? "s" : "h", problem.key()), [&] { return choose(problem, search); });
}

std::string Convolutions::refusals(const ConvProblem& problem) {
  std::string reasons;
  try {
    candidates(problem, 1, false, reasons);
  } catch (const Error& e) {
    reasons += e.what();
  }
  return reasons;
}

}  // namespace providers::cuda
