#include "convolutions.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "convolution_graph.h"
#include "convolution_trial.h"

namespace providers::cuda {
namespace {

constexpr size_t kMostPlans = 2000;  // in the cache
constexpr size_t kMostTries = 10;    // plans of a problem that are measured
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
  k += text(e.bias, e.residual, int(e.activation), ',', e.alpha, ',', e.beta);
  return k;
}

ConvPlan::ConvPlan(Convolutions& owner, const ConvProblem& problem, std::shared_ptr<const void> graph,
                   dnn::Descriptor configuration, dnn::Handle handle)
    : owner_(owner),
      graph_(std::move(graph)),
      configuration_(std::move(configuration)),
      plan_(dnn::kExecutionPlan, "execution plan"),
      bias_(problem.epilogue.bias),
      residual_(problem.epilogue.residual) {
  fused_ = !problem.epilogue.empty();
  plan_.set_handle(dnn::kPlanHandle, handle);
  plan_.set_descriptor(dnn::kPlanConfiguration, configuration_);
  plan_.finalize();
  int64_t bytes = 0, count = 0;
  dnn::check(dnn::table().get(plan_.raw(), dnn::kPlanWorkspace, dnn::kInt64, 1, &count, &bytes),
             "workspace of an execution plan");
  workspace_ = size_t(std::max<int64_t>(bytes, 0));
}

dnn::Descriptor ConvPlan::pack(const ConvPointers& at) const {
  std::vector<int64_t> ids{kX, kW, kY};
  std::vector<Address> pointers{at.x, at.w, at.y};
  if (bias_) {
    ids.push_back(kBias);
    pointers.push_back(at.bias);
  }
  if (residual_) {
    ids.push_back(kResidual);
    pointers.push_back(at.residual);
  }
  dnn::Descriptor pack(dnn::kVariantPack, "variant pack");
  pack.set_numbers(dnn::kPackIds, ids);
  pack.set(dnn::kPackPointers, dnn::kPointer, int64_t(pointers.size()), pointers.data());
  pack.set(dnn::kPackWorkspace, dnn::kPointer, 1, &at.workspace);
  pack.finalize();
  return pack;
}

/// A handle that no other thread uses, while this object lives.
class Convolutions::Loan {
 public:
  /// Makes no handle while the stream is captured, since that allocates: waits for another thread's instead.
  Loan(Convolutions& owner, CUstream stream) : owner_(owner) {
    std::unique_lock lock(owner.mutex_);
    if (owner.idle_.empty() && owner.handles_ > 0 && capturing(stream))
      owner.returned_.wait(lock, [&] { return !owner.idle_.empty(); });
    if (owner.idle_.empty()) {
      dnn::check(dnn::table().create(&handle_), "cannot create a handle");
      ++owner.handles_;
    } else {
      handle_ = owner.idle_.back();
      owner.idle_.pop_back();
    }
    lock.unlock();
    const int status = dnn::table().set_stream(handle_, stream);
    if (status == 0) return;
    back();
    dnn::check(status, "cannot set the stream");
  }
  ~Loan() { back(); }
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;
  dnn::Handle handle() const { return handle_; }

 private:
  static bool capturing(CUstream stream) {
    int status = kCaptureNone;
    return driver().stream_is_capturing(stream, &status) == 0 && status != kCaptureNone;
  }
  void back() {
    {
      const std::lock_guard lock(owner_.mutex_);
      owner_.idle_.push_back(handle_);
    }
    owner_.returned_.notify_one();
  }
  Convolutions& owner_;
  dnn::Handle handle_ = nullptr;
};

void ConvPlan::run(CUstream stream, const ConvPointers& at) const {
  const Convolutions::Loan loan(owner_, stream);
  const std::lock_guard lock(mutex_);
  const auto same = [](const ConvPointers& a, const ConvPointers& b) {
    return a.x == b.x && a.w == b.w && a.y == b.y && a.bias == b.bias && a.residual == b.residual &&
           a.workspace == b.workspace;
  };
  if (!last_pack_ || !same(last_, at)) {
    last_pack_ = std::make_unique<dnn::Descriptor>(pack(at));
    last_ = at;
  }
  const int status = dnn::table().execute(loan.handle(), plan_.raw(), last_pack_->raw());
  if (status != 0) dnn::check(status, "execution by " + engine_);
}

Convolutions::Convolutions(Device& device) : device_(device) { dnn::table(); }

Convolutions::~Convolutions() {
  for (const auto handle : idle_) dnn::table().destroy(handle);
}

std::vector<std::shared_ptr<ConvPlan>> Convolutions::candidates(const ConvProblem& problem, size_t most, bool measure,
                                                                std::string& reasons) {
  device_.enter();
  std::vector<std::shared_ptr<ConvPlan>> found;
  auto start = std::chrono::steady_clock::now();
  const auto late = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > kMostSeconds;
  };
  const Loan loan(*this, nullptr);
  const auto graph = make_graph(problem, loan.handle());
  std::optional<ConvTrial> trial;
  // Those that are compiled come last, and only where nothing else can do a bare convolution.
  for (const auto& [mode, with_compiled] :
       {std::pair(dnn::kHeuristicsA, false), std::pair(dnn::kHeuristicsFallback, false),
        std::pair(dnn::kHeuristicsA, problem.epilogue.empty())}) {
    if (!found.empty()) break;
    for (auto& configuration : configurations(*graph, mode, reasons)) {
      if (found.size() >= most || (!found.empty() && late())) break;
      EngineFacts facts;
      try {
        facts = facts_of(configuration);
        // Such engines round what the model did not allow to be rounded.
        const bool exact = problem.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT && !problem.tf32;
        if (facts.has(dnn::kNoteDownConvert) || (exact && facts.has(dnn::kNoteTensorCore)))
          throw Error("it rounds its inputs");
        if (facts.compiled && !with_compiled) throw Error("it would have to be compiled");
        auto plan = std::make_shared<ConvPlan>(*this, problem, graph, std::move(configuration), loan.handle());
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
  const std::string key = text(search ? "s" : "h", problem.key());
  const std::lock_guard lock(planning_);
  const auto found = plans_.find(key);
  if (found != plans_.end()) {
    ages_.splice(ages_.end(), ages_, found->second.age);
    return found->second.plan;
  }
  auto made = choose(problem, search);
  ages_.push_back(key);
  plans_[key] = {made, std::prev(ages_.end())};
  if (ages_.size() > kMostPlans) {
    plans_.erase(ages_.front());
    ages_.pop_front();
  }
  return made;
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
