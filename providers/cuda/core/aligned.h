// Tensors of an application may begin at any element, but kernels access 16 bytes at once: such tensors are copied.
#pragma once
#include <string>
#include <vector>

#include "part.h"

namespace providers::cuda {

/// The copies of one run, in device memory that is released when the work ordered so far is done with it.
class AlignedCopies {
 public:
  /// `name`: of the part, for messages.
  AlignedCopies(Device& device, const PartRun& run, const std::string& name)
      : device_(device), run_(run), name_(name) {}
  /// Replaces the address of an input that is not aligned by that of a copy. Throws Error while a run is captured,
  /// since a captured graph could not allocate.
  void input(Address& address, size_t bytes);
  /// The same for an output, which `copy_back` writes.
  void output(Address& address, size_t bytes);
  void copy_back() const;

 private:
  Address replace(Address address, size_t bytes);
  Device& device_;
  const PartRun& run_;
  const std::string& name_;
  std::vector<Block> blocks_;
  struct Back {
    Address to, from;
    size_t bytes;
  };
  std::vector<Back> back_;
};

}  // namespace providers::cuda
