// The parts of a model that a plug-in runs: compiled parts, and kernels of single nodes.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "abi/host/instance.h"
#include "abi/host/kernel_def.h"
#include "abi/kernels/kernels.h"

namespace retort::abi {

/// The provider and the memory of a session's parts.
struct Workplace {
  std::shared_ptr<Instance> provider;
  std::shared_ptr<const Devices> devices;  ///< with the provider's memory for the session
  MemorySpace space;                       ///< the provider's own memory
};

/// What a plug-in reads as an input: an input of the part, a constant, or nothing if the node omits it.
struct Argument {
  enum class Kind { none, input, constant } kind = Kind::none;
  size_t input = 0;
  Tensor constant;
};

/// One output that a plug-in computes.
struct Result {
  enum class Kind { left_out, dropped, output } kind = Kind::output;
  size_t output = 0;  ///< index among the part's outputs; dropped outputs have none, since nothing reads them
  DType dtype = DType::undefined;
  MemorySpace space;
};

/// A run of a part, as the functions of the kernel context see it.
class PluginRun : public PartRun {
 public:
  PluginRun(const Workplace& place, const std::vector<Result>& results, PartitionRun& run)
      : place_(place), results_(results), run_(run), stream_(outward(run.stream())) {}
  bool wants(size_t index) const override { return results_[index].kind != Result::Kind::left_out; }
  Tensor output(size_t index, const Shape& shape) override;
  OrtSyncStream* stream() const override { return stream_; }
  const Parallel& parallel() const override { return run_.parallel(); }
  const OrtLogger& logger() const override { return place_.provider->logger; }
  const OrtRunOptions* run_options() const override { return static_cast<const OrtRunOptions*>(run_.outward()); }
  const Devices& devices() const override { return *place_.devices; }
  BodyRunner& bodies() const override { return run_.bodies(); }
  MemorySpace output_space(size_t index) const override { return results_[index].space; }
  void set_output(size_t index, const Tensor& tensor) override;
  void copy(const Tensor& from, Tensor& to) const override { run_.copy(from, to); }

 private:
  const Workplace& place_;
  const std::vector<Result>& results_;
  PartitionRun& run_;
  OrtSyncStream* const stream_;
};

/// Fills the context of one call, with its inputs. `run` must outlive it.
void fill_context(OrtKernelContext& context, PluginRun& part, const PartitionRun& run,
                  const std::vector<Argument>& arguments, size_t outputs);

/// A model that another object owns, for views that are destroyed before it.
std::shared_ptr<const ViewedModel> borrowed(Model& model);

/// Parts that the plug-in compiles, in one call; at least one. The result is in their order.
std::vector<std::shared_ptr<const Compiled>> compiled_parts(const Workplace& place,
                                                            std::span<const Partition* const> parts);
/// A node that a registered kernel runs.
std::shared_ptr<const Compiled> kernel_part(const Workplace& place, const Partition& part,
                                            const RegisteredKernel& kernel);

}  // namespace retort::abi
