#include "part.h"

#include <algorithm>

#include "aligned.h"
#include "alone.h"
#include "common/instances.h"
#include "known_data.h"
#include "place.h"

namespace providers::cuda {
namespace {

/// The values of a run, as the host passes them.
struct Arguments {
  std::vector<Operand> operands;
  std::vector<Address> addresses;
};

Address address_of(const void* data) { return reinterpret_cast<Address>(data); }

/// A plan with what orders its memory between streams.
struct Instance {
  std::vector<Dims> shapes;
  std::unique_ptr<Plan> plan;
  CUstream stream = nullptr;  ///< of the last run
  CUevent done = nullptr;     ///< the end of the last run
  Instance() = default;
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;
  ~Instance() {
    if (done) driver().event_destroy(done);
  }
};

class PlannedPart : public DevicePart {
 public:
  PlannedPart(std::unique_ptr<Program> program, std::string name, Device& device)
      : program_(std::move(program)), name_(std::move(name)), device_(device) {
    spare_ = device_.memory().add_spare([this] { instances_.clear(); });
  }
  ~PlannedPart() override {
    device_.memory().remove_spare(spare_);
    device_.try_enter();
  }

  void run(const PartRun& run) override {
    device_.enter();
    Arguments in = arguments(run.context);
    auto instance = take(run, in);
    order_after_last(*instance, run);
    std::vector<Address> out = outputs(run.context, *instance->plan);
    AlignedCopies copies(device_, run, name_);
    for (size_t i = 0; i < in.addresses.size(); ++i)
      if (!in.operands[i].known) copies.input(in.addresses[i], in.operands[i].bytes());
    for (size_t i = 0; i < out.size(); ++i) copies.output(out[i], instance->plan->outputs()[i].bytes());
    instance->plan->submit(device_, run.stream, in.addresses, out);
    copies.copy_back();
    if (run.keep) {
      run.keep(std::shared_ptr<Instance>(std::move(instance)));
      return;
    }
    check(driver().event_record(instance->done, run.stream), "recording the end of a run");
    instance->stream = run.stream;
    instances_.give_back(std::move(instance));
  }

 private:
  Arguments arguments(OrtKernelContext* context) const;
  std::unique_ptr<Instance> take(const PartRun& run, Arguments& in);
  std::unique_ptr<Instance> make(const PartRun& run, const Arguments& in, std::vector<Dims> key) const;
  void read_wanted(const PartRun& run, Arguments& in);
  std::vector<Dims> key_of(const Arguments& in) const;
  std::vector<Address> outputs(OrtKernelContext* context, const Plan& plan) const;

  // Another stream may still use the plan's memory.
  static void order_after_last(const Instance& instance, const PartRun& run) {
    if (!instance.stream || instance.stream == run.stream) return;
    // A captured stream cannot wait for work outside of its graph.
    const Driver& d = driver();
    check(run.keep ? d.event_synchronize(instance.done) : d.stream_wait_event(run.stream, instance.done, 0),
          "waiting for the last run of a part");
  }

  const std::unique_ptr<Program> program_;
  const std::string name_;
  Device& device_;
  std::mutex mutex_;
  std::set<int> wanted_;  ///< inputs that the host reads before it plans
  Instances<Instance> instances_;
  int spare_ = 0;  ///< idle plans, whose memory others may need more
};

Arguments PlannedPart::arguments(OrtKernelContext* context) const {
  Arguments in;
  for (size_t i = 0; i < program_->inputs; ++i) {
    const OrtValue* value = nullptr;
    check(api().KernelContext_GetInput(context, i, &value));
    if (!value) throw Error(text("part ", name_, ": the host passed no value for input ", i));
    const TensorView view = view_of(value);
    Operand operand;
    operand.type = view.type;
    operand.dims = view.dims;
    if (operand.count() && on_host(value)) operand.known = load_known(view);
    if (operand.count() && on_host(value) && !operand.known)
      throw Error(text("part ", name_, ": input ", i, " lies in memory of the host, where the device cannot read it"));
    in.operands.push_back(std::move(operand));
    in.addresses.push_back(address_of(view.data));
  }
  return in;
}

void PlannedPart::read_wanted(const PartRun& run, Arguments& in) {
  std::set<int> wanted;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    wanted = wanted_;
  }
  for (const int i : wanted) {
    Operand& operand = in.operands[size_t(i)];
    if (operand.known) continue;
    if (run.keep)
      throw Error(text("part ", name_, ": input ", i,
                       " holds a shape, which must be read before each run; such a run "
                       "cannot be captured: make the input an initializer of the model"));
    std::vector<char> bytes(std::max<size_t>(operand.bytes(), 1));
    check(driver().copy_to_host(bytes.data(), in.addresses[size_t(i)], operand.bytes(), run.stream),
          "reading an input that holds a shape");
    check(driver().stream_synchronize(run.stream), "reading an input that holds a shape");
    TensorView view;
    view.type = operand.type;
    view.dims = operand.dims;
    view.data = bytes.data();
    operand.known = load_known(view);
    if (!operand.known) throw Error(text("part ", name_, ": input ", i, " is too large to hold a shape"));
  }
}

std::vector<Dims> PlannedPart::key_of(const Arguments& in) const {
  std::vector<Dims> key;
  for (const Operand& o : in.operands) {
    key.push_back(o.dims);
    if (!o.known) continue;
    Dims values{int64_t(o.known->integers.size()), int64_t(o.known->reals.size())};
    values.insert(values.end(), o.known->integers.begin(), o.known->integers.end());
    for (const double real : o.known->reals) {
      int64_t bits = 0;
      std::memcpy(&bits, &real, sizeof bits);
      values.push_back(bits);
    }
    key.push_back(std::move(values));
  }
  return key;
}

std::unique_ptr<Instance> PlannedPart::take(const PartRun& run, Arguments& in) {
  while (true) {
    read_wanted(run, in);
    std::vector<Dims> key = key_of(in);
    try {
      return instances_.take(key, [&] { return make(run, in, key); });
    } catch (const NeedsInput& needed) {
      // Another thread may have found out the same since.
      if (std::all_of(needed.inputs.begin(), needed.inputs.end(), [&](int i) { return in.operands[size_t(i)].known; }))
        throw Error(text("part ", name_, ": a shape depends on data of the device"));
      const std::lock_guard<std::mutex> lock(mutex_);
      wanted_.insert(needed.inputs.begin(), needed.inputs.end());
    }
  }
}

std::unique_ptr<Instance> PlannedPart::make(const PartRun& run, const Arguments& in, std::vector<Dims> key) const {
  if (run.keep)
    throw Error(text("part ", name_,
                     ": no plan is there for these shapes; run once with them before the run that is "
                     "captured"));
  auto instance = std::make_unique<Instance>();
  instance->plan = PlanState(*program_, device_, run.stream).make(in.operands);
  instance->shapes = std::move(key);
  check(driver().event_create(&instance->done, kEventDisableTiming), "making an event");
  return instance;
}

std::vector<Address> PlannedPart::outputs(OrtKernelContext* context, const Plan& plan) const {
  std::vector<Address> out;
  for (size_t i = 0; i < plan.outputs().size(); ++i) {
    const Dims& dims = plan.outputs()[i].dims;
    OrtValue* value = nullptr;
    check(api().KernelContext_GetOutput(context, i, dims.data(), dims.size(), &value));
    if (!value) throw Error(text("part ", name_, ": the host has no value for output ", i));
    if (on_host(value) && plan.outputs()[i].count())
      throw Error(
          text("part ", name_, ": output ", i, " lies in memory of the host, where the device cannot write it"));
    out.push_back(address_of(view_of(value).data));
  }
  return out;
}

}  // namespace

std::unique_ptr<DevicePart> compile(const Compilation& what, Device& device, const Settings& settings) {
  device.enter();
  auto program = compile_program(what.graph, what.inputs, what.outputs, device, settings);
  if (alone_op(*program)) return make_alone_part(std::move(program), what.name, device);
  return std::make_unique<PlannedPart>(std::move(program), what.name, device);
}

}  // namespace providers::cuda
