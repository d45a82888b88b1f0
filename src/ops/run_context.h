// The arguments of kernels: those of prepare(), called once per session, and of run(), called in every run.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/function_ref.h"
#include "base/parallel.h"
#include "memory/host.h"
#include "memory/packed_cache.h"
#include "memory/shared_blocks.h"
#include "ops/slot.h"
#include "ops/step_values.h"

namespace retort {

/// What a kernel keeps between runs: packed weights, chosen variants, tables. It is immutable after prepare() and
/// shared by concurrent runs.
struct State {
  virtual ~State() = default;
};

/// Options of a session for its kernels.
struct PrepareOptions {
  /// Excludes algorithms that change results by more than the order of summation: Winograd and Strassen.
  bool strict = false;
  /// Weights that 16 bits represent exactly are stored in 16 bits, which gives the same results.
  bool weights_16bit = true;
  /// Constant matrices and filters, and the factors of attention, are rounded to bfloat16 and multiplied in
  /// bfloat16 arithmetic where the processor has it; sums, and all other operators, stay in float32.
  bool bf16_products = false;
  /// Pairs of products of 8-bit codes stop at the limits of 16 bits where ONNX Runtime's do on processors without VNNI
  /// (ops/quant/common/codes.h).
  bool saturating_sums = false;
};

/// Where packed weights are stored, and where they may be found. All members may be null.
struct PackedStore {
  BlockPool* memory = nullptr;     ///< null: each allocation is a block of its own
  SharedBlocks* shared = nullptr;  ///< packed weights of other sessions
  /// Packed weights of the last start; `plan` and `step` identify what is being prepared.
  PackedCache* cache = nullptr;
  uint32_t plan = 0, step = 0;
};

/// What the form of packed weights depends on besides the library version, the operator and the shapes: the processor.
std::string packed_form();
/// Whether the processor has bfloat16 arithmetic, which PrepareOptions::bf16_products needs.
bool multiplies_bf16();
/// Whether large products take fewer multiplications at this level on this processor, in sessions that are not strict.
bool saves_multiplications();

/// The argument of prepare(): types as far as they are known before any run, and the constant inputs.
class PrepareContext {
 public:
  PrepareContext(std::span<const ValueType* const> types, std::span<const Tensor* const> constants,
                 const Parallel& parallel, const PrepareOptions& options, const PackedStore& store = {})
      : types_(types), constants_(constants), parallel_(parallel), options_(options), store_(store) {}

  bool has(size_t i) const { return i < types_.size() && types_[i]; }
  const ValueType& type(size_t i) const { return *types_[i]; }
  /// The constant in input i, or null. A constant that is not aligned in the file is copied; the copy lives as long as
  /// the context.
  const Tensor* constant(size_t i) {
    const Tensor* t = unaligned_constant(i);
    if (!t || is_aligned(t->dtype(), t->data())) return t;
    copies_.resize(constants_.size());
    if (!copies_[i]) copies_[i] = aligned(*t);
    return &copies_[i];
  }
  /// The constant in place, which may not be aligned for its elements: for packers that can read such data.
  const Tensor* unaligned_constant(size_t i) const { return i < constants_.size() ? constants_[i] : nullptr; }
  const Parallel& parallel() const { return parallel_; }
  const PrepareOptions& options() const { return options_; }
  /// Returns memory for packed weights, 64-byte aligned: `bytes` zeros that `write(void*)` has filled, or equal memory
  /// from another session or from the file of an earlier start. `write` may not be called, and must do nothing but fill
  /// the memory; it may return early once loading is cancelled, which is then an error (base/loading.h). The memory is
  /// alive as long as the State keeps the pointer, and must not be written to any more.
  std::shared_ptr<const void> packed(size_t bytes, FunctionRef<void(void*)> write) const;
  /// Says that the kernel's run() will not read constant input i, so its memory may be freed.
  void release(size_t i) { released_ |= uint64_t(1) << i; }
  bool released(size_t i) const { return released_ >> i & 1; }
  /// Types of the outputs as far as inference has determined them; null for omitted ones.
  std::span<const ValueType* const> outputs() const { return outputs_; }
  void set_outputs(std::span<const ValueType* const> types) { outputs_ = types; }

 private:
  std::span<const ValueType* const> types_;
  std::span<const Tensor* const> constants_;
  std::span<const ValueType* const> outputs_;
  const Parallel& parallel_;
  PrepareOptions options_;
  PackedStore store_;
  mutable uint32_t blocks_ = 0;  ///< number of packed() calls so far
  std::vector<Tensor> copies_;   ///< per input; empty if no copy was needed
  uint64_t released_ = 0;
};

/// Runs a body graph (If, Loop, Scan) inside a step. Implemented by the executor.
class BodyRunner {
 public:
  virtual ~BodyRunner() = default;
  /// `inputs` and `outputs` are the body's formal inputs and outputs in order, without captures. The outputs own their
  /// memory. `spaces` gives the memory of each output; empty means the host.
  virtual void run(size_t body, std::span<const Value> inputs, std::span<Value> outputs,
                   std::span<const MemorySpace> spaces) = 0;
  void run(size_t body, std::span<const Value> inputs, std::span<Value> outputs) { run(body, inputs, outputs, {}); }
  /// The memory in which a formal input is read; it may be passed in another one.
  virtual MemorySpace input_space(size_t body, size_t input) const = 0;
  /// The body that a graph attribute names; throws invalid_graph if there is none.
  virtual size_t index(std::string_view attribute) const = 0;
  /// Number of formal inputs, without captures.
  virtual size_t input_count(size_t body) const = 0;
  virtual size_t output_count(size_t body) const = 0;
  /// As far as it is known before any run.
  virtual const ValueType& output_type(size_t body, size_t output) const = 0;
};

/// A run's use of devices. Operators pass it on; ep/device_run.h defines the class that derives from it.
class RunDevices {
 protected:
  ~RunDevices() = default;
};

/// The argument of a kernel's run(): the values of the step, and what the kernel may use. A kernel only computes.
class RunContext : public StepValues {
 public:
  RunContext(std::span<Slot* const> inputs, std::span<Slot* const> outputs, const State* state, void* scratch,
             const Parallel& parallel, BodyRunner* bodies = nullptr)
      : StepValues(inputs, outputs), state_(state), scratch_(scratch), parallel_(parallel), bodies_(bodies) {}

  template <typename S>
  const S* state() const {
    return static_cast<const S*>(state_);
  }
  /// The bytes that the op's scratch() asked for: 64-byte aligned, and not shared with other steps.
  void* scratch() const { return scratch_; }
  const Parallel& parallel() const { return parallel_; }
  BodyRunner& bodies() const { return *bodies_; }

  /// In a reference: the type of the tensor from which input i was converted to the carrier; otherwise dtype(i).
  DType carried_type(size_t i) const { return carried_ == DType::undefined ? dtype(i) : carried_; }
  /// For run_reference() only.
  void set_carried(DType type) { carried_ = type; }
  /// Null outside of sessions.
  RunDevices* devices() const { return devices_; }
  void set_devices(RunDevices* devices) { devices_ = devices; }

 private:
  const State* state_;
  void* scratch_;
  const Parallel& parallel_;
  BodyRunner* bodies_;
  RunDevices* devices_ = nullptr;
  DType carried_ = DType::undefined;
};

}  // namespace retort
