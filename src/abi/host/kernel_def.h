// Kernels that a plug-in registers: what each one runs, and how it is made.
#pragma once
#include <climits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "abi/graphs/graph.h"
#include "abi/host/data_type.h"

struct OrtKernelDef : retort::abi::Handle<retort::abi::tag_of("kdef")> {
  std::string type, domain, provider;
  int first = 1, last = INT_MAX;                              ///< versions of the operator
  std::map<size_t, OrtMemType> inputs, outputs;               ///< those that do not lie in the provider's own memory
  std::map<std::string, std::vector<retort::DType>> types;    ///< by type parameter of the operator
  std::vector<std::pair<int, int>> aliases, mutable_aliases;  ///< of an input by an output

  OrtMemType input_memory(size_t index) const { return memory(inputs, index); }
  OrtMemType output_memory(size_t index) const { return memory(outputs, index); }

 private:
  static OrtMemType memory(const std::map<size_t, OrtMemType>& all, size_t index) {
    const auto found = all.find(index);
    return found == all.end() ? OrtMemTypeDefault : found->second;
  }
};

struct OrtKernelDefBuilder : retort::abi::Handle<retort::abi::tag_of("kdbu")> {
  OrtKernelDef made;
};

namespace retort::abi {

struct RegisteredKernel {
  std::unique_ptr<const OrtKernelDef> def;
  OrtKernelCreateFunc create = nullptr;
  void* state = nullptr;
};

}  // namespace retort::abi

struct OrtKernelRegistry : retort::abi::Handle<retort::abi::tag_of("kreg")> {
  std::vector<retort::abi::RegisteredKernel> kernels;
  /// The one for a node of a view; null: there is none.
  const retort::abi::RegisteredKernel* find(const OrtNode& node, const std::string& provider) const;
  /// Whether there is one of the operator, in any version and for any types.
  bool has(const std::string& domain, const std::string& type) const;
};
