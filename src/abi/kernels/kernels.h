// Custom operators: what a kernel can ask about its node, and about a run.
#pragma once
#include <deque>
#include <memory>
#include <vector>

#include "abi/graphs/attributes.h"
#include "abi/sessions/environment.h"
#include "abi/values/type_info.h"
#include "abi/values/value.h"
#include "ep/devices.h"
#include "ops/external.h"

namespace retort::abi {

/// The run of a part that a plug-in has compiled.
class PartRun {
 public:
  virtual ~PartRun() = default;
  /// Whether the node has an output of that index.
  virtual bool wants(size_t index) const = 0;
  virtual Tensor output(size_t index, const Shape& shape) = 0;
  virtual OrtSyncStream* stream() const = 0;  ///< null: the plug-in works on the caller's thread
  virtual const Parallel& parallel() const = 0;
  virtual const OrtLogger& logger() const = 0;           ///< the session's
  virtual const OrtRunOptions* run_options() const = 0;  ///< null: none
  virtual const Devices& devices() const = 0;
  /// For the host's kernels (host/control_kernels.cc): the bodies of the node, the required type of an output, and
  /// tensors that become an output without a copy.
  virtual BodyRunner& bodies() const = 0;
  virtual MemorySpace output_space(size_t index) const = 0;
  virtual void set_output(size_t index, const Tensor& tensor) = 0;
  virtual void copy(const Tensor& from, Tensor& to) const = 0;
};

}  // namespace retort::abi

/// A node as a kernel sees it when it is made. A copy that a caller makes is the caller's.
struct OrtKernelInfo : retort::abi::Handle<retort::abi::tag_of("kinf")> {
  OrtKernelInfo(retort::ExternalNode n, OrtLogger l) : node(std::move(n)), logger(std::move(l)) {}
  retort::ExternalNode node;
  std::vector<std::optional<retort::ValueType>> inputs, outputs;  ///< empty for omitted ones
  std::deque<OrtValue> constants;                                 ///< one per input; empty if it is not a constant
  std::map<std::string, std::string> config;                      ///< of the session
  std::vector<std::string> bodies;                                ///< names of attributes that are graphs
  int since_version = 1;                      ///< the first opset version that the operator's definition covers
  std::shared_ptr<retort::Allocator> memory;  ///< the provider's; null: host memory
  const OrtEp* ep = nullptr;                  ///< the provider of the kernel; null: not a plug-in's
  OrtLogger logger;
};

/// One call of a kernel.
struct OrtKernelContext : retort::abi::Handle<retort::abi::tag_of("kctx")> {
  retort::RunContext* run = nullptr;  ///< of a custom operator, with its `info`; otherwise null
  const OrtKernelInfo* info = nullptr;
  retort::abi::PartRun* part =
      nullptr;  ///< of a plug-in's part or kernel, whose inputs are made before; otherwise null
  std::vector<std::unique_ptr<OrtValue>> inputs, outputs;  ///< of a custom operator, made on demand
  /// Of a custom operator: views of the tensors that the caller gave for outputs, by index, made on demand.
  std::map<size_t, OrtValue> preallocated;
  std::unique_ptr<OrtLogger> run_logger;  ///< made on demand
  std::vector<std::shared_ptr<void>> scratch;
};

struct OrtShapeInferContext : retort::abi::Handle<retort::abi::tag_of("sinf")> {
  const retort::ExternalNode* node = nullptr;
  retort::InferContext* infer = nullptr;
  std::map<std::string, OrtOpAttr> attributes;
  std::deque<OrtTensorTypeAndShapeInfo> infos;  ///< that kernels have received
};

namespace retort::abi {

/// The operators of the domains that a caller added to its options; null if there are none. They keep pointers to the
/// caller's structs, which must outlive the session.
std::shared_ptr<const ExternalOps> custom_ops_of(const OrtSessionOptions& options, const Logger& logger);

/// Throws the error of a status that a caller's function returned, and releases the status; does nothing for null.
void throw_status(OrtStatus* status, std::string_view what);

}  // namespace retort::abi
