// The provider of one session.
#pragma once
#include "copy_kernels.h"
#include "part.h"
#include "session_options.h"
#include "stream.h"

namespace providers::cuda {

/// What the host calls for a session on one device. All work of the session is ordered on one stream, so several runs at
/// once are in order on the device.
class Ep : public OrtEp {
 public:
  /// `memory`, `pinned`: of the device; they must outlive the provider.
  Ep(Device& device, SessionOptions options, const OrtMemoryInfo* memory, const OrtMemoryInfo* pinned,
     const OrtLogger* log);
  ~Ep();
  Ep(const Ep&) = delete;
  Ep& operator=(const Ep&) = delete;

 private:
  class ComputeInfo;
  void add_parts();
  void add_runs();
  void add_memory();
  void add_capture();
  void claim(const OrtGraph* graph, OrtEpGraphSupportInfo* info) const;
  ComputeInfo* compile(const OrtGraph* graph, const OrtNode* fused);
  void run(DevicePart& part, OrtKernelContext* context);
  void wait();

  Device& device_;
  const SessionOptions options_;
  const OrtMemoryInfo *const memory_, *const pinned_;
  const OrtLogger* const log_;
  std::shared_ptr<const OwnedStream> own_stream_;  ///< null with a stream of others
  CUstream stream_ = nullptr;
  std::shared_ptr<Captures> captures_;  ///< null without enable_cuda_graph
  CopyState copies_;
  OrtKernelRegistry* registry_ = nullptr;
};

}  // namespace providers::cuda
