// The provider of one session.
#pragma once
#include <set>

#include "host.h"

namespace sample_provider {

class Ep : public OrtEp {
 public:
  /// `options`: of the session; they go away with the call.
  Ep(const Host& host, const OrtSessionOptions* options);
  ~Ep();
  Ep(const Ep&) = delete;

  const Host host;

  /// Whether the node is ours: can_do, and named by the option "claim" where that is set ("Add,Relu").
  bool takes(const OrtNode* node) const;

 private:
  void set_functions();  // by style, as the next: in ep.cc
  void add_kernels();
  std::set<std::string> claim_;
  OrtKernelRegistry* registry_ = nullptr;
};

}  // namespace sample_provider
