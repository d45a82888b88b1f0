// Operators whose output's shape depends on data. Each is a part of its own: its runs wait for the device.
#pragma once
#include <deque>

#include "part.h"

namespace providers::cuda {

/// An input of a run; `address` is 0 if it is omitted or empty.
struct AloneInput {
  Operand operand;
  Address address = 0;
};

/// What an operator sees of one run.
class AloneRun {
 public:
  virtual ~AloneRun() = default;
  AloneRun(Device& on, CUstream with) : device(on), stream(with) {}

  Device& device;
  const CUstream stream;
  std::vector<AloneInput> in;  ///< the operator's inputs; the type of an omitted one is UNDEFINED

  bool has(size_t i) const { return i < in.size() && in[i].operand.type != ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED; }
  /// Makes output `i`, in memory that the host chose, and returns its address. Call it once per output.
  virtual Address out(size_t i, Type type, const Dims& dims) = 0;

  /// Copies to the host's memory when the work before it on the stream is done, and waits.
  void read_back(void* to, Address from, size_t bytes);
  /// The only element of input `i`, read back unless it is known; `otherwise` if the input is omitted or empty.
  double number(size_t i, double otherwise);
  /// Device memory until the end of the run, aligned to 256 bytes.
  Address scratch(size_t bytes);
  /// Submits a launch. Addresses are passed as `at(address)`.
  void launch(const Kernel& kernel, const Grid& grid, const std::vector<Argument>& arguments);
  static Argument at(Address address) { return int64_t(address); }

 private:
  std::deque<Block> scratch_;
};

/// An operator that runs alone. Thread-safe.
class AloneOp : public Op {
 public:
  void emit(Emitter& e) const final { e.fail("it runs alone, and has no plan"); }
  /// Throws Error that says what is wrong with the inputs.
  virtual void run(AloneRun& run) const = 0;
};

/// The operator, if the program is nothing but one that runs alone; null otherwise.
const AloneOp* alone_op(const Program& program);
/// The part that runs it.
std::unique_ptr<DevicePart> make_alone_part(std::unique_ptr<Program> program, std::string name, Device& device);

}  // namespace providers::cuda
