// A plan: what a part does for one set of input shapes. It is made once for these shapes, on the host, and then only
// its steps are submitted to the stream of each run: no allocation, no shape arithmetic.
#pragma once
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/graph.h"
#include "device.h"
#include "kernels.h"
#include "memory.h"

namespace providers::cuda {

using Type = ONNXTensorElementDataType;

/// The order of a tensor's elements in memory. `dims` are always in ONNX's order (N, C, spatial axes).
enum class Layout {
  rows,          ///< the last axis varies fastest
  channels_last  ///< axis 1 varies fastest, the other axes as in `rows`; for ranks above 2
};

/// Values of a small tensor that the host knows while it plans: constants, and what follows from shapes.
struct Known {
  std::vector<int64_t> integers;  ///< of integer and bool types
  std::vector<double> reals;      ///< of floating-point types
};
constexpr size_t kMostKnown = 1024;  ///< elements

/// A tensor while a plan is made. A copy is another view of the same memory.
struct Operand {
  Type type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  Dims dims;
  Layout layout = Layout::rows;
  int buffer = -1;    ///< -1: no memory yet (only `known`), or no tensor at all
  size_t offset = 0;  ///< bytes from the buffer's begin
  std::shared_ptr<const Known> known;

  size_t count() const;  ///< elements
  size_t bytes() const;
  size_t rank() const { return dims.size(); }
};

/// The begin of each buffer in one run.
struct Run {
  Device& device;
  CUstream stream = nullptr;
  const Address* base = nullptr;  ///< by buffer
  Address operator()(const Operand& operand) const {
    return operand.buffer < 0 ? 0 : base[operand.buffer] + operand.offset;
  }
};

/// An argument of a kernel: an operand (its address in the run), or a value that is copied into the plan. The kernel's
/// parameter must have exactly this size: pointer, int (int32_t), long long (int64_t), float, or a struct.
class Argument {
 public:
  Argument(const Operand& operand) : operand_(operand), size_(sizeof(Address)) {}  // NOLINT: implicit on purpose
  Argument(int32_t v) { put(&v, sizeof v); }                                       // NOLINT
  Argument(int64_t v) { put(&v, sizeof v); }                                       // NOLINT
  Argument(float v) { put(&v, sizeof v); }                                         // NOLINT
  /// A struct that the kernel takes by value; trivially copyable.
  template <typename T>
  static Argument of(const T& value) {
    Argument a;
    a.put(&value, sizeof value);
    return a;
  }
  const std::optional<Operand>& operand() const { return operand_; }
  const std::vector<unsigned char>& bytes() const { return bytes_; }
  size_t size() const { return size_; }

 private:
  Argument() = default;
  void put(const void* data, size_t size) {
    bytes_.assign(static_cast<const unsigned char*>(data), static_cast<const unsigned char*>(data) + size);
    size_ = size;
  }
  std::optional<Operand> operand_;
  std::vector<unsigned char> bytes_;
  size_t size_ = 0;
};

struct Extent {
  unsigned x = 1, y = 1, z = 1;
};
/// Blocks of a launch, threads of a block, dynamic shared memory of a block.
struct Grid {
  Extent blocks, threads;
  size_t shared_bytes = 0;
};

/// Submits a launch. A kernel that waits for those before it begins while they end.
void submit(const Kernel& kernel, const Grid& grid, void** parameters, CUstream stream);

class Op;
class PlanState;
struct KnownOp;

/// What an operator sees while it adds its steps to a plan. `i` counts the operator's own inputs and outputs
/// (`Op::in`, `Op::out`). All functions throw Error that names the node.
class Emitter {
 public:
  Emitter(PlanState& state, const Op& op) : state_(state), op_(op) {}

  Device& device() const;
  size_t inputs() const;
  size_t outputs() const;
  /// Whether the input or output is there (not omitted).
  bool has(size_t i) const;
  bool has_out(size_t i) const;
  /// The input in device memory, in layout `rows`; steps that bring it there are added if needed.
  Operand in(size_t i);
  /// The input in device memory, in the layout that it has. The caller handles both.
  Operand in_any_layout(size_t i);
  /// The input in device memory, with the channels last; a step that brings it there is added if needed.
  Operand in_channels_last(size_t i);
  /// Type and dims of an input, without bringing it to the device; the buffer may be -1.
  const Operand& look(size_t i) const;
  /// The integers of an input that the host knows while it plans; throws Error if it does not.
  const std::vector<int64_t>& integers(size_t i) const;
  bool is_known(size_t i) const;
  /// Whether the input is a constant of the model, or left out.
  bool is_constant(size_t i) const;

  /// Makes an output, with memory: of the part's output, or else of the plan. Call it once per output.
  Operand out(size_t i, Type type, const Dims& dims, Layout layout = Layout::rows);
  /// Makes an output that is another view of `of` (same bytes in layout `rows`, other dims): no step, unless it is an
  /// output of the part.
  void alias(size_t i, const Operand& of, const Dims& dims);
  /// Memory that only this operator's steps use.
  Operand scratch(size_t bytes);
  /// Memory with these bytes, written once when the plan is made (tables of offsets, for instance).
  Operand table(const void* bytes, size_t size);

  /// Adds a launch. Operands among the arguments that are outputs or scratch must have been made by this emitter.
  void launch(const Kernel& kernel, const Grid& grid, const std::vector<Argument>& arguments);
  /// Adds a step in C++, which submits work to run.stream and must neither wait for it nor allocate. It is also run
  /// while a CUDA graph is captured. `uses`: all operands that it touches.
  void call(const std::vector<Operand>& uses, std::function<void(const Run&)> step);
  /// Adds a copy on the device of `from.bytes()` bytes.
  void copy(const Operand& from, const Operand& to);

  /// A kernel of kernels/*.cu, see kernels.h.
  Kernel kernel(const std::string& file, const std::string& entry, const Defines& defines = {},
                size_t shared_bytes = 0) const;
  /// Throws Error: the node, its inputs with types and shapes, and `why`.
  [[noreturn]] void fail(const std::string& why) const;

 private:
  PlanState& state_;
  const Op& op_;
};

/// An operator of a part, made while the part is compiled: it has what it needs of attributes and constants, since the
/// host's graph is gone when plans are made. Immutable afterwards: several threads may emit at once.
class Op {
 public:
  virtual ~Op() = default;
  virtual void emit(Emitter& e) const = 0;

  std::string who;           ///< "node 'name' (Type)", for messages
  std::vector<int> in, out;  ///< numbers of values (Builder::number); -1: omitted
  /// How the host evaluates the operator if it knows all inputs; null if it cannot. Such an operator is not emitted.
  std::shared_ptr<const KnownOp> known;
  std::vector<int> known_in;  ///< the node's inputs, which `in` may have in another form
};

/// "float", "f16", "bf16", "int", "long long"…: the name in kernels/prelude.cuh of the type that stores an element;
/// those of float8 are in kernels/floats8.cuh.
const char* kernel_type(Type type);

/// Elements that each block of `threads` handles, for flat loops: {blocks, threads} for `count` elements.
Grid flat_grid(size_t count, unsigned threads = 256, size_t each = 1);

}  // namespace providers::cuda
