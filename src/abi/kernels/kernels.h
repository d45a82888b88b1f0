// Custom operators: what a kernel is told of its node, and of a run.
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

/// The run of a part of a model that a plug-in has compiled.
class PartRun {
 public:
  virtual ~PartRun() = default;
  /// Whether the node names that output.
  virtual bool wants(size_t index) const = 0;
  virtual Tensor output(size_t index, const Shape& shape) = 0;
  virtual OrtSyncStream* stream() const = 0;  ///< null: the plug-in works on the caller's thread
  virtual const Parallel& parallel() const = 0;
  virtual const OrtLogger& logger() const = 0;
  virtual const Devices& devices() const = 0;
  /// For kernels that the host has (host/control_kernels.cc): the bodies of the node, what an output has to be, and tensors
  /// that become one as they are.
  virtual BodyRunner& bodies() const = 0;
  virtual MemorySpace output_space(size_t index) const = 0;
  virtual void set_output(size_t index, const Tensor& tensor) = 0;
  virtual void copy(const Tensor& from, Tensor& to) const = 0;
};

}  // namespace retort::abi

/// A node as a kernel sees it when it is made. Copies are the caller's.
struct OrtKernelInfo : retort::abi::Handle<retort::abi::tag_of("kinf")> {
  OrtKernelInfo(retort::ExternalNode n, OrtLogger l) : node(std::move(n)), logger(std::move(l)) {}
  retort::ExternalNode node;
  std::vector<std::optional<retort::ValueType>> inputs, outputs;  ///< none for omitted ones
  std::deque<OrtValue> constants;                                 ///< per input; empty where it is none
  std::map<std::string, std::string> config;                      ///< of the session
  std::vector<std::string> bodies;                                ///< attributes that are graphs
  int since_version = 1;                                          ///< the first that the operator covers
  std::shared_ptr<retort::Allocator> memory;                      ///< the provider's own; null: that of the host
  const OrtEp* ep = nullptr;                                      ///< whose kernel it is; null: no plug-in's
  OrtLogger logger;
};

/// One call of a kernel.
struct OrtKernelContext : retort::abi::Handle<retort::abi::tag_of("kctx")> {
  retort::RunContext* run = nullptr;  ///< of a custom operator, with its `info`; else null
  const OrtKernelInfo* info = nullptr;
  retort::abi::PartRun* part = nullptr;  ///< of a plug-in's part of a model, or kernel; its inputs are made before
  std::vector<std::unique_ptr<OrtValue>> inputs, outputs;  ///< made when they are asked for
  std::vector<std::shared_ptr<void>> scratch;
};

struct OrtShapeInferContext : retort::abi::Handle<retort::abi::tag_of("sinf")> {
  const retort::ExternalNode* node = nullptr;
  retort::InferContext* infer = nullptr;
  std::map<std::string, OrtOpAttr> attributes;
  std::deque<OrtTensorTypeAndShapeInfo> infos;  ///< that were handed out
};

namespace retort::abi {

/// The operators of the domains that a caller added to its options; null without any. They keep pointers to the caller's
/// structs, which must outlive the session.
std::shared_ptr<const ExternalOps> custom_ops_of(const OrtSessionOptions& options, const Logger& logger);

/// Throws what a status of the caller's says, and releases it; nothing for null.
void throw_status(OrtStatus* status, std::string_view what);

}  // namespace retort::abi
