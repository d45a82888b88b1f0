// The provider of one session.
#pragma once
#include <vector>

#include "capture.h"
#include "context.h"
#include "host.h"
#include "kernels.h"

namespace loopback {

class Ep : public OrtEp {
 public:
  Ep(const Host& host, const char* name, int device, const OrtMemoryInfo* memory, const OrtSessionOptions* options);
  ~Ep();

 private:
  class Part;
  void add_layout();
  void add_runs();
  void add_capture();
  void read_options(const OrtSessionOptions* options);
  void claim(const OrtGraph* graph, OrtEpGraphSupportInfo* info) const;
  ContextPlace context_place(const OrtGraph* graph) const;
  void compile(const OrtGraph** graphs, const OrtNode** fused, size_t count, OrtNodeComputeInfo** infos,
               OrtNode** contexts);

  const Host host_;
  const std::string name_;
  const int device_;
  const OrtMemoryInfo* const memory_;
  const KernelState kernels_;
  OrtKernelRegistry* registry_ = nullptr;
  Style style_;
  Captures captures_;
  bool makes_contexts_ = false;  ///< makes EPContext nodes in place of parts
  bool context_inside_ = false;
  std::string context_model_;  ///< the model that gets them
};

}  // namespace loopback
