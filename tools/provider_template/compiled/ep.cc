// Nodes that are next to each other become parts. A part is compiled once, when the session is made, and runs as one.
#include "ep.h"

#include <algorithm>
#include <memory>
#include <set>

#include "graph.h"
#include "memory.h"
#include "operators.h"

namespace sample_provider {
namespace {

/// Which nodes go into one part. A part runs at once, so nothing that it makes may come back into it by way of a node
/// outside. Nodes come in an order in which they can run: `outside_` gathers what nodes outside make of its results.
class Group {
 public:
  bool may_take(const std::vector<std::string>& inputs) const { return !reads(inputs, outside_); }
  void take(const OrtNode* node, const std::vector<std::string>& outputs) {
    nodes_.push_back(node);
    made_.insert(outputs.begin(), outputs.end());
  }
  void leave_out(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
    if (reads(inputs, made_) || reads(inputs, outside_)) outside_.insert(outputs.begin(), outputs.end());
  }
  void claim(const Host& host, OrtEpGraphSupportInfo* info) {
    const OrtNodeFusionOptions options{ORT_API_VERSION, false};  // constants stay the host's: they come as inputs
    if (!nodes_.empty())
      check(host, host.ep->EpGraphSupportInfo_AddNodesToFuse(info, nodes_.data(), nodes_.size(), &options));
    *this = Group();
  }

 private:
  static bool reads(const std::vector<std::string>& inputs, const std::set<std::string>& values) {
    return std::any_of(inputs.begin(), inputs.end(), [&](const std::string& v) { return values.count(v) > 0; });
  }
  std::vector<const OrtNode*> nodes_;
  std::set<std::string> made_, outside_;
};

void claim(const Ep& ep, const OrtGraph* graph, OrtEpGraphSupportInfo* info) {
  if (is_body(ep.host, graph)) return;
  Group group;
  for (const OrtNode* node : nodes_of(ep.host, graph)) {
    auto inputs = inputs_of(ep.host, node);
    const auto outputs = outputs_of(ep.host, node), captures = captures_of(ep.host, node);
    inputs.insert(inputs.end(), captures.begin(), captures.end());
    if (!ep.takes(node)) {
      group.leave_out(inputs, outputs);
      continue;
    }
    if (!group.may_take(inputs)) group.claim(ep.host, info);
    group.take(node, outputs);
  }
  group.claim(ep.host, info);
}

/// What a part does: steps on values by number, the part's inputs first, then a result per step. (Operators with
/// several results need a list here, as inputs have.)
struct Step {
  std::string type;
  std::vector<size_t> in;
};

class Part : public OrtNodeComputeInfo {
 public:
  /// The graphs are freed after compiling, so everything that runs need is copied from them here.
  Part(const Host& host, const OrtGraph* graph, const OrtNode* fused) : OrtNodeComputeInfo{}, host_(host) {
    std::vector<std::string> values = inputs_of(host, fused);
    inputs_ = values.size();
    const auto number = [&](const std::string& name) {
      const auto at = std::find(values.begin(), values.end(), name);
      if (at == values.end()) throw Error("nothing in the part makes '" + name + "'");
      return size_t(at - values.begin());
    };
    for (const OrtNode* node : nodes_of(host, graph)) {
      Step step{type_of(host, node), {}};
      for (const std::string& name : inputs_of(host, node)) step.in.push_back(number(name));
      steps_.push_back(std::move(step));
      values.push_back(outputs_of(host, node).at(0));
    }
    for (const std::string& name : outputs_of(host, fused)) outputs_.push_back(number(name));
    ort_version_supported = ORT_API_VERSION;
    // A part may run in several threads at once. State of a single run would be made here; this part needs none.
    CreateState = [](OrtNodeComputeInfo* p, OrtNodeComputeContext*, void** state) noexcept -> OrtStatus* {
      *state = p;
      return nullptr;
    };
    Compute = [](OrtNodeComputeInfo* p, void*, OrtKernelContext* context) noexcept {
      const Part& self = *static_cast<Part*>(p);
      return entry(self.host_, [&] { self.run(context); });
    };
    ReleaseState = [](OrtNodeComputeInfo*, void*) noexcept {};
  }

 private:
  void run(OrtKernelContext* context) const {
    std::vector<Tensor> values;
    std::vector<std::shared_ptr<float>> between;  // results that do not leave the part
    for (size_t i = 0; i < inputs_; ++i) values.push_back(input_of(host_, context, i));
    for (const Step& step : steps_) {
      std::vector<Tensor> in;
      for (const size_t v : step.in) in.push_back(values[v]);
      Tensor out{result_shape(step.type, in)};
      const auto leaves = std::find(outputs_.begin(), outputs_.end(), values.size());
      if (leaves != outputs_.end()) {
        out = output_of(host_, context, size_t(leaves - outputs_.begin()), out.shape);
      } else {
        between.push_back(scratch(out.elements()));
        out.data = between.back().get();
      }
      operators().at(step.type).compute(in, out);
      values.push_back(out);
    }
  }

  const Host host_;
  size_t inputs_ = 0;
  std::vector<Step> steps_;
  std::vector<size_t> outputs_;
};

}  // namespace

void Ep::add_kernels() {}

void Ep::set_functions() {
  GetCapability = [](OrtEp* ep, const OrtGraph* graph, OrtEpGraphSupportInfo* info) noexcept {
    const Ep& self = *static_cast<Ep*>(ep);
    return entry(self.host, [&] { claim(self, graph, info); });
  };
  OrtEp::Compile = [](OrtEp* ep, const OrtGraph** graphs, const OrtNode** fused, size_t count,
                      OrtNodeComputeInfo** parts, OrtNode**) noexcept {
    const Host& host = static_cast<Ep*>(ep)->host;
    return entry(host, [&] {
      for (size_t i = 0; i < count; ++i) parts[i] = new Part(host, graphs[i], fused[i]);
    });
  };
  ReleaseNodeComputeInfos = [](OrtEp*, OrtNodeComputeInfo** parts, size_t count) noexcept {
    for (size_t i = 0; i < count; ++i) delete static_cast<Part*>(parts[i]);
  };
}

}  // namespace sample_provider
