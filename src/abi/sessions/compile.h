// Options of a compilation: one input, one output, and where the weights go.
#pragma once
#include <span>
#include <string>
#include <variant>

#include "abi/graphs/graph.h"
#include "abi/sessions/options.h"

namespace retort::abi {

/// Memory that comes from the caller's allocator and that the caller frees; written after everything has succeeded.
struct BufferOutput {
  OrtAllocator* allocator = nullptr;
  void** data = nullptr;
  size_t* size = nullptr;
};
struct FunctionOutput {
  OrtWriteBufferFunc write = nullptr;
  void* state = nullptr;
};
/// The file of the weights; with `buffer`, the name that the model refers to.
struct WeightsFile {
  std::string name;
  size_t threshold = 0;  ///< weights of at least this many bytes go there
  BufferOutput buffer;   ///< without an allocator: the weights go to a file
};
struct WeightsFunction {
  OrtGetInitializerLocationFunc locate = nullptr;
  void* state = nullptr;
};

}  // namespace retort::abi

/// The last input and the last output that were set count.
struct OrtModelCompilationOptions : retort::abi::Handle<retort::abi::tag_of("mcop")> {
  OrtSessionOptions session;
  std::variant<std::monostate, std::string, std::span<const std::byte>, const OrtModel*> input;
  std::variant<std::monostate, std::string, retort::abi::BufferOutput, retort::abi::FunctionOutput> output;
  std::variant<std::monostate, retort::abi::WeightsFile, retort::abi::WeightsFunction> weights;
  size_t alignment = 0, aligned_from = 0;  ///< of weights in a file or buffer, in bytes
  uint32_t flags = 0;
};
