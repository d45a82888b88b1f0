// What the host's kernels for If, Loop and Scan have in common.
#pragma once
#include "abi/host/plugin.h"
#include "abi/kernels/kernels.h"

namespace retort::abi {

/// One call of such a kernel: a node's inputs and outputs where the kernel's definition has them.
class ControlCall {
 public:
  explicit ControlCall(OrtKernelContext& context) : context_(context) {}
  size_t inputs() const { return context_.inputs.size(); }
  size_t outputs() const { return context_.outputs.size(); }
  const Tensor* input(size_t i) const;  ///< null: left out
  const Tensor& present(size_t i) const;
  bool wants(size_t i) const { return context_.part->wants(i); }
  MemorySpace space(size_t i) const { return context_.part->output_space(i); }
  /// Memory for output i.
  Tensor make(size_t i, const Shape& shape);
  /// Makes it output i, copied where it is the caller's or lies elsewhere.
  void give(size_t i, const Tensor& tensor);
  void copy_in(size_t output, size_t input);
  void copy(const Tensor& from, Tensor& to) const { context_.part->copy(from, to); }
  BodyRunner& bodies() const { return context_.part->bodies(); }
  const Devices& devices() const { return context_.part->devices(); }
  OrtSyncStream* stream() const { return context_.part->stream(); }
  bool cancelled() const { return context_.part->parallel().cancelled(); }

 private:
  OrtKernelContext& context_;
};

/// The flag of kernels that run bodies.
constexpr uint32_t kRunsBodies = 1;

class ControlKernel : public OrtKernelImpl {
 public:
  explicit ControlKernel(const OrtKernelInfo& info);
  virtual ~ControlKernel() = default;
  ControlKernel(const ControlKernel&) = delete;
  virtual void run(ControlCall& call) const = 0;

 protected:
  Callee callee() const { return {"the kernel of node", info_.node.name}; }
  const OrtKernelInfo info_;
};

/// Throws invalid_graph where a body makes something else than the node's output is.
void check_same_type(const Tensor& made, const Tensor& result, size_t output);

/// scan_kernel.cc. Takes the helper over.
ControlKernel* new_scan_kernel(const OrtKernelInfo& info, OrtScanKernelHelper& helper);

}  // namespace retort::abi
