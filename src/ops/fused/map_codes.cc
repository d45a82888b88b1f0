// retort.MapCodes: codes of 8 bits, each replaced by that of a table: entry b is for the code of byte b. What a model
// computes of one tensor of codes, element by element, is such a table.
#include "kernels/elementwise/chunks.h"
#include "kernels/elementwise/code_table.h"
#include "ops/op.h"

namespace retort::ops {
namespace {

struct MapCodes {
  enum Input : size_t { kX, kTable };
  static constexpr int64_t kEntries = 256;

  void infer(InferContext& c) const { c.set(0, c.dtype(kTable), c.shape(kX)); }
  Cost cost(const CostContext& c) const { return {.operations = c.out_count()}; }

  void run(RunContext& c) const {
    require(c.shape(kTable) == Shape{kEntries}, ErrorCode::invalid_argument, "the table has shape {}, expected [{}]",
            c.shape(kTable), kEntries);
    const auto* table = static_cast<const uint8_t*>(c.data(kTable));
    const auto* x = static_cast<const uint8_t*>(c.data(kX));
    auto* y = static_cast<uint8_t*>(c.out_data());
    kernels::for_chunks(c.parallel(), c.out_count(), [&](size_t begin, size_t end) {
      kernels::map_codes(table, x + begin, end - begin, y + begin);
    });
  }
};

}  // namespace

extern const OpDef op_map_codes;
constinit const OpDef op_map_codes = define<MapCodes>({
    .name = "MapCodes",
    .domain = "retort",
    .inputs = {"X: T", "table: V"},
    .outputs = {"Y: V"},
    .types = types({DType::i8, DType::u8}),
    .traits = kInternal | kConverts | kImagewise | kMayAliasInput0,
});

}  // namespace retort::ops
