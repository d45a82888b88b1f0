// com.microsoft.GatherPacked: rows of a table that is packed in one of the formats of GGUF files, as floats. An index
// that is out of range gives row 0.
#include "base/half.h"
#include "kernels/elementwise/cast.h"
#include "kernels/elementwise/chunks.h"
#include "ops/op.h"
#include "ops/quant/common/packed_format.h"
#include "ops/shape/common/index.h"

namespace retort::ops {
namespace {

struct GatherPacked {
  int64_t K = 0, format = 0;
  DType output_dtype = DType::bf16;
  static constexpr std::tuple attributes{required("K", &GatherPacked::K),
                                         required("packed_type", &GatherPacked::format),
                                         attr("output_dtype", &GatherPacked::output_dtype)};

  void check() const {
    const PackedFormat* f = find_packed_format(format);
    require(f != nullptr, ErrorCode::not_implemented, "packed_type {} is not supported", format);
    require(K > 0 && K % int64_t(f->block) == 0, ErrorCode::invalid_argument,
            "K is {}, expected a multiple of {} for packed_type {}", K, f->block, format);
    require(output_dtype == DType::f32 || output_dtype == DType::f16 || output_dtype == DType::bf16,
            ErrorCode::invalid_argument, "output_dtype is {}, expected float32, float16 or bfloat16",
            dtype_name(output_dtype));
  }

  void infer(InferContext& c) const {
    c.set(0, output_dtype);
    const PackedFormat* f = find_packed_format(format);
    const int64_t bytes = K / int64_t(f->block) * int64_t(f->bytes);
    if (c.ranked(0)) {
      const Shape& x = c.shape(0);
      require(x.rank() == 2 && may_equal(x[1], bytes), ErrorCode::invalid_argument,
              "data have shape {}, expected [rows, {}] for K {} and packed_type {}", c.dims().text(x), bytes, K,
              format);
    }
    Shape y = c.shape(1);
    y.push_back(K);
    c.set(0, output_dtype, y);
  }
  Cost cost(const CostContext& c) const { return {.operations = c.out_count(), .access = Access::rows}; }

  void run(RunContext& c) const {
    const PackedFormat& f = *find_packed_format(format);
    const size_t rows = c.count(1), vocabulary = size_t(c.shape(0)[0]);
    require(rows == 0 || vocabulary > 0, ErrorCode::invalid_argument, "there are {} indices into data of shape {}",
            rows, c.shape(0));
    with_indices(c, [&](const auto* indices) {
      const auto gather = [&](size_t begin, size_t end) {
        for (size_t r = begin; r < end; ++r) {
          const auto at = indices[r] < 0 || uint64_t(indices[r]) >= vocabulary ? size_t(0) : size_t(indices[r]);
          decode(c, f, at, r);
        }
      };
      kernels::for_chunks(c.parallel(), rows, gather, std::max<size_t>(1, kernels::kChunk / size_t(K)));
      return std::optional<kernels::BadIndex>();
    });
  }

 private:
  void decode(const RunContext& c, const PackedFormat& f, size_t from, size_t to) const {
    constexpr size_t kLargest = 256;
    const size_t blocks = size_t(K) / f.block, size = dtype_bits(output_dtype) / 8;
    const uint8_t* at = static_cast<const uint8_t*>(c.data(0)) + from * blocks * f.bytes;
    char* y = static_cast<char*>(c.out_data()) + to * size_t(K) * size;
    float values[kLargest];
    for (size_t b = 0; b < blocks; ++b, at += f.bytes, y += f.block * size) {
      f.decode(at, values);
      kernels::cast(values, DType::f32, y, output_dtype, f.block, Parallel());
    }
  }
};

}  // namespace

extern const OpDef op_gather_packed;
constinit const OpDef op_gather_packed = define<GatherPacked>({
    .name = "GatherPacked",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"data: T", "indices: I"},
    .outputs = {"output: S"},
    .types = types({DType::u8}),
    .traits = kConverts,
});

}  // namespace retort::ops
