#include "part.h"

#include <algorithm>

#include "capture.h"
#include "graph.h"

namespace loopback {
namespace {

/// Maps names to values of a program.
class Names {
 public:
  void add(const std::string& name) { names_.push_back(name); }
  size_t operator[](const std::string& name) const {
    const auto at = std::find(names_.begin(), names_.end(), name);
    if (at == names_.end()) throw Error("nothing in the part makes '" + name + "'");
    return size_t(at - names_.begin());
  }
  bool has(const std::string& name) const { return std::find(names_.begin(), names_.end(), name) != names_.end(); }

 private:
  std::vector<std::string> names_;
};

/// The same tensors at the device's own addresses, for code that runs on the device.
std::vector<Tensor> seen_by(const Device& device, std::vector<Tensor> tensors) {
  for (Tensor& t : tensors) t.data = bytes(t) ? device.behind(t.data, bytes(t)) : nullptr;
  return tensors;
}

/// Whether an operation reads the input on the device: all but the one that was read at compile time.
bool reads(const Operation& op, size_t input) {
  const size_t constant = operator_of(op.type).constant_input;
  return !constant || input != constant;
}

}  // namespace

Program compile(const Host& host, const OrtGraph* graph, const OrtNode* fused, bool own_constants) {
  Program program;
  Names names;
  for (const std::string& name : names_of(host, inputs_of(host, fused))) names.add(name);
  program.inputs = inputs_of(host, fused).size();
  const auto nodes = nodes_of(host, graph);
  for (const OrtNode* node : nodes) {
    const Operation op = operation_of(host, node);
    const auto inputs = inputs_of(host, node);
    for (size_t i = 0; own_constants && i < inputs.size(); ++i) {
      const OrtValue* data = constant_of(host, inputs[i]);
      if (!data || !reads(op, i) || names.has(name_of(host, inputs[i]))) continue;
      const Tensor t = tensor_of(host, data);
      const auto* floats = static_cast<const float*>(t.data);
      program.constants.push_back({t.shape, {floats, floats + t.elements()}});
      names.add(name_of(host, inputs[i]));
    }
  }
  for (const OrtNode* node : nodes) {
    Program::Step step{operation_of(host, node), {}};
    const auto inputs = names_of(host, inputs_of(host, node));
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (reads(step.operation, i)) step.in.push_back(names[inputs[i]]);
    }
    program.steps.push_back(std::move(step));
    names.add(name_of(host, outputs_of(host, node).at(0)));
  }
  for (const std::string& name : names_of(host, outputs_of(host, fused))) program.outputs.push_back(names[name]);
  return program;
}

Tensor result_of(Device& device, Stream* stream, const Operation& op, const std::vector<Tensor>& in) {
  const Operator& kind = operator_of(op.type);
  if (!kind.shape_from_data) return kind.result(op, in);
  if (stream) stream->wait();
  return kind.result(op, seen_by(device, in));
}

void launch(Device& device, Stream* stream, const Operation& op, std::vector<Tensor> in, Tensor out,
            std::vector<std::shared_ptr<const void>> keep) {
  Control::get().count(kKernels);
  const std::function<void()> work = [&device, &op, in = std::move(in), out, keep = std::move(keep),
                                      number = stream ? stream->number() : 0] {
    Control& control = Control::get();
    control.fail_if_told("Kernel");
    const int64_t begin = now();
    if (out.elements()) operator_of(op.type).compute(op, seen_by(device, in), seen_by(device, {out})[0]);
    if (const int64_t delay = control.delay) pause_until(begin + delay);
    control.wait_while_held();
    control.happened(operators().find(op.type)->first.c_str(), begin, int64_t(bytes(out)), number);
  };
  Captures::record(work);
  perform(stream, work);
}

Part::Part(const Host& host, int device, Program program)
    : OrtNodeComputeInfo{},
      host_(host),
      device_(Device::get(device)),
      number_(device),
      program_(std::make_shared<const Program>(std::move(program))) {
  ort_version_supported = ORT_API_VERSION;
  // A part may run in several threads at once. Per-run state would be made here; this part has none.
  CreateState = [](OrtNodeComputeInfo* p, OrtNodeComputeContext*, void** state) -> OrtStatus* {
    return entry(static_cast<Part*>(p)->host_, "CreateState", [&] { *state = p; });
  };
  Compute = [](OrtNodeComputeInfo* p, void*, OrtKernelContext* context) -> OrtStatus* {
    const Part& self = *static_cast<Part*>(p);
    return entry(self.host_, "Compute", [&] { self.run(context); });
  };
  ReleaseState = [](OrtNodeComputeInfo*, void*) {};
  for (const Constant& c : program_->constants) {
    const size_t size = c.data.size() * sizeof(float);
    const auto memory = scratch(device_, size);
    const Place from{nullptr, const_cast<float*>(c.data.data())}, to{&device_, memory.get()};
    count_copy(from, to, size);
    copy(from, to, size, 0);
    constants_.push_back({ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, c.shape, memory.get()});
    keep_.push_back(memory);
  }
  keep_.push_back(program_);
  Control::get().count(kCompiled);
}

void Part::run(OrtKernelContext* context) const {
  Control::get().count(kRuns);
  Stream* const stream = Stream::of(host_, context);
  std::vector<Tensor> values;
  for (size_t i = 0; i < program_->inputs; ++i) {
    const OrtValue* value = nullptr;
    check(host_, host_.api->KernelContext_GetInput(context, i, &value));
    if (!reaches(host_, number_, value))
      throw Error("input " + std::to_string(i) + " of a part lies " + place_of(host_, value) + ", where device " +
                  std::to_string(number_) + " cannot reach it");
    values.push_back(tensor_of(host_, value));
  }
  values.insert(values.end(), constants_.begin(), constants_.end());
  auto keep = keep_;  // including intermediate results: until the last step that may read them is done
  for (const Program::Step& step : program_->steps) {
    std::vector<Tensor> in;
    for (const size_t v : step.in) in.push_back(values[v]);
    Tensor out = result_of(device_, stream, step.operation, in);
    const auto result = std::find(program_->outputs.begin(), program_->outputs.end(), values.size());
    if (result != program_->outputs.end()) {
      OrtValue* value = nullptr;
      check(host_, host_.api->KernelContext_GetOutput(context, size_t(result - program_->outputs.begin()),
                                                      out.shape.data(), out.shape.size(), &value));
      out.data = tensor_of(host_, value).data;
    } else {
      const auto memory = scratch(device_, bytes(out));
      out.data = memory.get();
      keep.push_back(memory);
    }
    launch(device_, stream, step.operation, std::move(in), out, keep);
    values.push_back(out);
  }
}

}  // namespace loopback
