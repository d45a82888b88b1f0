// BitCast: the bits of each element as an element of another type of the same size.
#include <cstring>

#include "ops/op.h"

namespace retort::ops {
namespace {

struct BitCast {
  DType to = DType::undefined;
  static constexpr std::tuple attributes{required("to", &BitCast::to)};

  void check() const { require(to != DType::string, ErrorCode::invalid_argument, "strings have no bits to cast"); }
  void infer(InferContext& c) const {
    const DType from = c.dtype(0);
    require(from != DType::string && dtype_bits(from) == dtype_bits(to), ErrorCode::invalid_argument,
            "{} has {} bits, {} has {}", dtype_name(from), dtype_bits(from), dtype_name(to), dtype_bits(to));
    c.set(0, to);
    c.set(0, to, c.shape(0));
  }
  void run(RunContext& c) const {
    const size_t bytes = dtype_bytes(to, c.out_count());
    if (bytes) std::memcpy(c.out_data(), c.data(0), bytes);
  }
};

}  // namespace

extern const OpDef op_bit_cast;
constinit const OpDef op_bit_cast = define<BitCast>({
    .name = "BitCast",
    .since = {26},
    .inputs = {"input: T1"},
    .outputs = {"output: T2"},
    .traits = kConverts,
});

}  // namespace retort::ops
