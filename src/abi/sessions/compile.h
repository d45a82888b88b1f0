// What a compilation was told: one input, one output, and where the weights go.
#pragma once
#include <span>
#include <string>
#include <variant>

#include "abi/graphs/graph.h"
#include "abi/sessions/options.h"

namespace retort::abi {

/// Memory of the caller's allocator that the caller frees; written when all is done.
struct BufferOutput {
  OrtAllocator* allocator = nullptr;
  void** data = nullptr;
  size_t* size = nullptr;
};
struct FunctionOutput {
  OrtWriteBufferFunc write = nullptr;
  void* state = nullptr;
};
/// A file, or with a buffer what the model will call it.
struct WeightsFile {
  std::string name;
  size_t threshold = 0;  ///< bytes from which on weights go there
  BufferOutput buffer;   ///< without an allocator: none
};
struct WeightsFunction {
  OrtGetInitializerLocationFunc locate = nullptr;
  void* state = nullptr;
};

}  // namespace retort::abi

/// What was set last holds.
struct OrtModelCompilationOptions : retort::abi::Handle<retort::abi::tag_of("mcop")> {
  OrtSessionOptions session;
  std::variant<std::monostate, std::string, std::span<const std::byte>, const OrtModel*> input;
  std::variant<std::monostate, std::string, retort::abi::BufferOutput, retort::abi::FunctionOutput> output;
  std::variant<std::monostate, retort::abi::WeightsFile, retort::abi::WeightsFunction> weights;
  size_t alignment = 0, aligned_from = 0;  ///< of weights in a file or buffer
  uint32_t flags = 0;
};
