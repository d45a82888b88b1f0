// OrtValueInfo: name and type of a value in a graph; for a value of a view, also its place there.
#pragma once
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "abi/values/type_info.h"
#include "ir/graph.h"

struct OrtExternalInitializerInfo;
struct OrtValue;

namespace retort {
struct ExternalFile;
}

namespace retort::abi {

/// The part that only values of views have.
struct ValueView {
  const OrtGraph* graph = nullptr;
  const OrtValueInfo* outer = nullptr;  ///< the same value in the outer graph; null: it is defined in this graph
  const OrtNode* producer = nullptr;
  size_t producer_slot = 0;
  /// With the index of the input; -1: only a body of the node reads it.
  std::vector<std::pair<const OrtNode*, int64_t>> consumers;
  bool required_input = false, optional_input = false, output = false;
  const Tensor* initial = nullptr;  ///< of initializers, including overridable ones
  mutable std::once_flag made;
  mutable std::unique_ptr<OrtValue> value;  ///< of `initial`, made on demand
  ~ValueView();
};

/// Which of the files the initializer lies in, and where; null: in none.
std::unique_ptr<OrtExternalInitializerInfo> external_place(const Tensor& initializer,
                                                           std::span<const ExternalFile> files);

}  // namespace retort::abi

struct OrtValueInfo : retort::abi::Handle<retort::abi::tag_of("vinf")> {
  std::string name;
  OrtTypeInfo type;
  std::unique_ptr<retort::abi::ValueView> view;  ///< null: a caller made it
};
