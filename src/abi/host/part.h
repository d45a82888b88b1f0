// What a plug-in runs of a model: parts that it compiled, and kernels of single nodes.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "abi/host/instance.h"
#include "abi/host/kernel_def.h"
#include "abi/kernels/kernels.h"

namespace retort::abi {

/// Where a provider of a session works.
struct Workplace {
  std::shared_ptr<Instance> provider;
  std::shared_ptr<const Devices> devices;  ///< with the provider's memory for the session
  MemorySpace space;                       ///< the provider's own memory
};

/// What a plug-in reads as an input: an input of the part, a constant, or nothing where the node leaves it out.
struct Argument {
  enum class Kind { none, input, constant } kind = Kind::none;
  size_t input = 0;
  Tensor constant;
};

/// One output that a plug-in makes.
struct Result {
  enum class Kind { left_out, dropped, output } kind = Kind::output;
  size_t output = 0;  ///< of the part; dropped ones are none, since nobody reads them
  DType dtype = DType::undefined;
  MemorySpace space;
};

/// A run of a part, as the functions of the kernel context ask about it.
class PluginRun : public PartRun {
 public:
  PluginRun(const Workplace& place, const std::vector<Result>& results, PartitionRun& run)
      : place_(place), results_(results), run_(run), stream_(outward(run.stream())) {}
  bool wants(size_t index) const override { return results_[index].kind != Result::Kind::left_out; }
  Tensor output(size_t index, const Shape& shape) override;
  OrtSyncStream* stream() const override { return stream_; }
  const Parallel& parallel() const override { return run_.parallel(); }
  const OrtLogger& logger() const override { return place_.provider->logger; }
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

/// The context of one call, with its inputs. `run` must outlive it.
void fill_context(OrtKernelContext& context, PluginRun& part, const PartitionRun& run,
                  const std::vector<Argument>& arguments, size_t outputs);

/// A model that somebody else owns, as views keep it: for views that go before it does.
std::shared_ptr<const ViewedModel> borrowed(Model& model);

/// Nodes that the plug-in compiles to one.
std::shared_ptr<const Compiled> compiled_part(const Workplace& place, const Partition& part);
/// One node that a registered kernel runs.
std::shared_ptr<const Compiled> kernel_part(const Workplace& place, const Partition& part,
                                            const RegisteredKernel& kernel);

}  // namespace retort::abi
