#include "alone.h"

#include <algorithm>

#include "common/sizes.h"
#include "known_data.h"
#include "transfer.h"

namespace providers::cuda {
namespace {

class HostRun : public AloneRun {
 public:
  HostRun(const Program& program, const AloneOp& op, Device& device, const PartRun& run)
      : AloneRun(device, run.stream), program_(program), op_(op), context_(run.context) {
    for (const int number : op.in) in.push_back(input(number));
  }

  Address out(size_t i, Type, const Dims& dims) override {
    if (i >= op_.out.size() || op_.out[i] < 0) throw Error(text(op_.who, ": there is no output ", i));
    const int output = program_.values[size_t(op_.out[i])].output;
    if (output < 0) return scratch(1);  // no node reads it
    OrtValue* value = nullptr;
    check(api().KernelContext_GetOutput(context_, size_t(output), dims.data(), dims.size(), &value));
    if (!value) throw Error(text(op_.who, ": the host has no value for output ", i));
    const TensorView view = view_of(value);
    if (view.count() && on_host(value))
      throw Error(text(op_.who, ": output ", i, " lies in memory of the host, where the device cannot write it"));
    return reinterpret_cast<Address>(view.data);
  }

 private:
  AloneInput input(int number) {
    AloneInput made;
    if (number < 0) return made;
    const ProgramValue& v = program_.values[size_t(number)];
    if (v.constant >= 0) {
      const Constant& c = program_.constants[size_t(v.constant)];
      return {c.operand, c.memory.address()};
    }
    const OrtValue* value = nullptr;
    check(api().KernelContext_GetInput(context_, size_t(v.input), &value));
    if (!value) throw Error(text(op_.who, ": the host passed no value for '", v.name, "'"));
    const TensorView view = view_of(value);
    made.operand.type = view.type;
    made.operand.dims = view.dims;
    if (view.count() == 0) return made;
    made.address = reinterpret_cast<Address>(view.data);
    if (!on_host(value)) return made;
    made.operand.known = load_known(view);
    made.address = scratch(view.bytes());
    upload(made.address, view.data, view.bytes(), device, stream);
    return made;
  }

  const Program& program_;
  const AloneOp& op_;
  OrtKernelContext* const context_;
};

class AlonePart : public DevicePart {
 public:
  AlonePart(std::unique_ptr<Program> program, std::string name, Device& device)
      : program_(std::move(program)), name_(std::move(name)), device_(device) {}
  ~AlonePart() override { device_.try_enter(); }

  void run(const PartRun& run) override {
    device_.enter();
    if (run.keep)
      throw Error(
          text("part ", name_, ": the shape of its output depends on data, so a run with it cannot be captured"));
    const AloneOp& op = *alone_op(*program_);
    try {
      HostRun host(*program_, op, device_, run);
      op.run(host);
    } catch (const Error& e) {
      const std::string what = e.what();
      if (what.find(op.who) == std::string::npos) throw Error(op.who + ": " + what, e.code());
      throw;
    }
  }

 private:
  const std::unique_ptr<Program> program_;
  const std::string name_;
  Device& device_;
};

}  // namespace

void AloneRun::read_back(void* to, Address from, size_t bytes) {
  if (bytes) check(driver().copy_to_host(to, from, bytes, stream), "reading a result back");
  check(driver().stream_synchronize(stream), "reading a result back");
}

double AloneRun::number(size_t i, double otherwise) {
  if (!has(i) || in[i].operand.count() == 0) return otherwise;
  const Operand& operand = in[i].operand;
  if (operand.count() != 1) throw Error(text("input ", i, " has ", operand.count(), " elements, expected one"));
  std::shared_ptr<const Known> known = operand.known;
  if (!known) {
    char bytes[8] = {};
    read_back(bytes, in[i].address, operand.bytes());
    TensorView view;
    view.type = operand.type;
    view.dims = operand.dims;
    view.data = bytes;
    known = load_known(view);
  }
  if (!known) throw Error(text("input ", i, " has elements of type ", name_of(operand.type)));
  return known->reals.empty() ? double(known->integers.at(0)) : known->reals[0];
}

Address AloneRun::scratch(size_t bytes) { return scratch_.emplace_back(device, bytes, stream).address(); }

void AloneRun::launch(const Kernel& kernel, const Grid& grid, const std::vector<Argument>& arguments) {
  std::vector<void*> parameters;
  for (const Argument& a : arguments) parameters.push_back(const_cast<unsigned char*>(a.bytes().data()));
  const Extent& b = grid.blocks;
  if (b.x == 0 || b.y == 0 || b.z == 0) return;
  submit(kernel, grid, parameters.data(), stream);
}

const AloneOp* alone_op(const Program& program) {
  return program.ops.size() == 1 ? dynamic_cast<const AloneOp*>(program.ops[0].get()) : nullptr;
}

std::unique_ptr<DevicePart> make_alone_part(std::unique_ptr<Program> program, std::string name, Device& device) {
  return std::make_unique<AlonePart>(std::move(program), std::move(name), device);
}

}  // namespace providers::cuda
