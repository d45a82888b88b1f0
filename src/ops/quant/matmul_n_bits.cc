// com.microsoft.MatMulNBits: A · B' + bias, where B [N, K] is stored in codes of 2, 4 or 8 bits in blocks along K. With
// accuracy_level 4, A is rounded to 8 bits, as ONNX Runtime does, or by AMX, which is more accurate, to bfloat16; with all
// others, the product is computed in float, since the level is a lower limit of the accuracy.
#include <bit>

#include "kernels/gemm/gemm_nbits.h"
#include "ops/nn/common/matrix.h"
#include "ops/quant/common/decoded_product.h"
#include "ops/quant/common/float_scratch.h"
#include "ops/quant/common/nbits_input.h"

namespace retort::ops {
namespace {

struct MatMulNBits {
  int64_t K = 0, N = 0, bits = 4, block_size = 0, accuracy_level = 0, weight_prepacked = 0;
  static constexpr std::tuple attributes{required("K", &MatMulNBits::K),
                                         required("N", &MatMulNBits::N),
                                         attr("bits", &MatMulNBits::bits),
                                         required("block_size", &MatMulNBits::block_size),
                                         attr("accuracy_level", &MatMulNBits::accuracy_level),
                                         attr("weight_prepacked", &MatMulNBits::weight_prepacked)};
  enum Input : size_t { kA, kB, kScales, kZeros, kGroups, kBias };

  void check() const {
    require(K > 0 && N > 0, ErrorCode::invalid_argument, "K is {}, N {}; both must be positive", K, N);
    require(bits == 2 || bits == 4 || bits == 8, ErrorCode::invalid_argument, "bits is {}, expected 2, 4 or 8", bits);
    require(block_size >= 16 && std::has_single_bit(uint64_t(block_size)) && block_size <= 1 << 30,
            ErrorCode::invalid_argument, "block_size is {}, expected a power of two from 16 on", block_size);
    require(weight_prepacked == 0, ErrorCode::not_implemented,
            "weight_prepacked is {}: B in the layout of a GPU; export the model with weight_prepacked=0",
            weight_prepacked);
  }

  void infer(InferContext& c) const {
    const DType type = c.dtype(kA);
    c.set(0, type);
    require(is_float(type) && type != DType::f64, ErrorCode::invalid_argument,
            "A is {}, expected float32, float16 or bfloat16", dtype_name(type));
    require(c.dtype(kScales) == type && (!c.has(kBias) || c.dtype(kBias) == type), ErrorCode::invalid_argument,
            "A is {}, scales {}, bias {}; all must be equal", dtype_name(type), dtype_name(c.dtype(kScales)),
            dtype_name(c.has(kBias) ? c.dtype(kBias) : type));
    require(!c.has(kZeros) || c.dtype(kZeros) == DType::u8 || is_float(c.dtype(kZeros)), ErrorCode::invalid_argument,
            "zero_points are {}, expected uint8 or the type of A",
            dtype_name(c.has(kZeros) ? c.dtype(kZeros) : DType::u8));
    c.set(0, type, infer_matmul(c.dims(), c.shape(kA), {K, N}));
    expect_shape_if_given(c, kBias, "bias", {N});
  }
  Cost cost(const CostContext& c) const { return product_cost(c, double(K)); }

  // Packs constant weights, unless elements have blocks of their own (g_idx).
  std::unique_ptr<State> prepare(PrepareContext& c) const {
    const Tensor *codes = c.constant(kB), *scales = c.constant(kScales), *zeros = c.constant(kZeros);
    kernels::NBitForm form{.bits = size_t(bits), .n = size_t(N), .k = size_t(K), .block = size_t(block_size)};
    if (!codes || !scales || c.has(kGroups) || !kernels::nbits_supported(form)) return nullptr;
    if (codes->shape() != codes_shape() || !fits(scales->shape(), scales_shape())) return nullptr;  // run() reports it
    if (c.has(kZeros)) {
      const bool numbers = zeros && zeros->dtype() != DType::u8;
      if (!zeros || !fits(zeros->shape(), numbers ? scales_shape() : zeros_shape())) return nullptr;
      form.zeros = numbers ? kernels::NBitZeros::numbers : kernels::NBitZeros::codes;
    }
    const CodeBlocks b = blocks(codes->data(), *scales, zeros);
    const auto parameters = [&b](const kernels::NBitRun& run) { b.parameters(run.column, run); };
    const kernels::NBitSource source{b.codes, parameters};
    if (kernels::nbits_zeros_are_middle(form, source, c.parallel())) form.zeros = kernels::NBitZeros::middle;
    form.halves = kernels::nbits_fit_halves(form, source, c.parallel());
    auto state = std::make_unique<Packed>();
    state->form = form;
    state->input = nbits_input(accuracy_level, c.options());
    state->memory = c.packed(kernels::nbits_packed_bytes(form),
                             [&](void* to) { kernels::nbits_pack(form, source, to, c.parallel()); });
    for (const size_t i : {kB, kScales, kZeros}) {
      if (c.has(i)) c.release(i);
    }
    return state;
  }

  size_t scratch(const RunContext& c) const { return Memory(c, *this, nullptr).parts.bytes(); }

  void run(RunContext& c) const {
    const Memory m(c, *this, c.scratch());
    require(!c.has(kBias) || (c.shape(kBias).rank() == 1 && c.shape(kBias)[0] == N), ErrorCode::invalid_argument,
            "bias has shape {}, expected [{}]", c.shape(c.has(kBias) ? kBias : kA), N);
    if (const auto* packed = c.state<Packed>()) {
      const kernels::NBitProduct p{.form = packed->form,
                                   .packed = packed->memory.get(),
                                   .m = rows(c),
                                   .a = m.a,
                                   .input = packed->input,
                                   .bias = m.bias,
                                   .c = m.y};
      kernels::gemm_nbits(p, m.panels, c.parallel());
      return store_result(c, m.y);
    }
    const bool omitted = c.count(kB) == 0;
    const CodeBlocks b = omitted ? CodeBlocks() : blocks(c);
    const auto decode = [&](size_t row, float* to) { b.decode(row, to); };
    const DecodedProduct p{.m = rows(c),
                           .n = size_t(N),
                           .k = omitted ? 0 : size_t(K),
                           .a = m.a,
                           .decode = decode,
                           .bias = m.bias,
                           .c = m.y};
    multiply_decoded(p, m.panels, c.parallel());
    store_result(c, m.y);
  }

 private:
  struct Packed : State {
    kernels::NBitForm form;
    kernels::NBitInput input = kernels::NBitInput::exact;
    std::shared_ptr<const void> memory;
  };
  size_t rows(const RunContext& c) const { return c.out_count() / size_t(N); }

  // A, bias and Y as float, and the memory of the product.
  struct Memory {
    ScratchParts parts;
    const float *a, *bias;
    float* y;
    char* panels;
    Memory(const RunContext& c, const MatMulNBits& op, void* base)
        : parts(base), a(float_input(c, kA, parts)), bias(float_input(c, kBias, parts)), y(float_output(c, parts)) {
      const int workers = c.parallel().workers();
      const auto* packed = c.state<Packed>();
      panels = parts.take<char>(packed ? kernels::nbits_scratch_bytes(packed->form, op.rows(c), packed->input, workers)
                                       : decoded_scratch(size_t(op.K), workers));
    }
  };

  int64_t block_count() const { return ceil_div(K, block_size); }
  Shape codes_shape() const { return {N, block_count(), block_size * bits / 8}; }
  Shape scales_shape() const { return {N, block_count()}; }
  Shape zeros_shape() const { return {N, ceil_div(block_count() * bits, int64_t(8))}; }
  // A parameter may also be a vector.
  static bool fits(const Shape& own, const Shape& wanted) {
    return own == wanted || (own.rank() == 1 && element_count(own) == element_count(wanted));
  }
  static void check_shape(const RunContext& c, size_t i, std::string_view what, const Shape& wanted) {
    require(fits(c.shape(i), wanted), ErrorCode::invalid_argument, "{} has shape {}, expected {}", what, c.shape(i),
            wanted);
  }

  CodeBlocks blocks(const void* codes, const void* scales, DType scale_type, const uint8_t* zeros) const {
    return {.bits = size_t(bits),
            .length = size_t(K),
            .block = size_t(block_size),
            .blocks = size_t(block_count()),
            .codes = static_cast<const uint8_t*>(codes),
            .row_bytes = size_t(block_count() * block_size * bits / 8),
            .scales = scales,
            .scale_type = scale_type,
            .zeros = zeros,
            .zero_bytes = size_t(zeros_shape()[1])};
  }
  CodeBlocks blocks(const void* codes, const Tensor& scales, const Tensor* zeros) const {
    const bool packed = zeros && zeros->dtype() == DType::u8;
    CodeBlocks b = blocks(codes, scales.data(), scales.dtype(), packed ? zeros->data<uint8_t>() : nullptr);
    if (zeros && !packed) {
      b.real_zeros = zeros->data();
      b.real_zero_type = zeros->dtype();
    }
    return b;
  }
  CodeBlocks blocks(const RunContext& c) const {
    require(c.shape(kB) == codes_shape(), ErrorCode::invalid_argument,
            "B has shape {}, expected {} for K {}, N {}, block_size {} and {} bits", c.shape(kB), codes_shape(), K, N,
            block_size, bits);
    check_shape(c, kScales, "scales", scales_shape());
    const bool codes = c.has(kZeros) && c.dtype(kZeros) == DType::u8;
    CodeBlocks b = blocks(c.data(kB), c.data(kScales), c.dtype(kScales), codes ? c.optional<uint8_t>(kZeros) : nullptr);
    if (codes) {
      check_shape(c, kZeros, "zero_points", zeros_shape());
    } else if (c.has(kZeros)) {
      b.real_zeros = c.data(kZeros);
      b.real_zero_type = c.dtype(kZeros);
      check_shape(c, kZeros, "zero_points", scales_shape());
    }
    if (c.has(kGroups)) b.groups = groups(c, block_count());
    return b;
  }
  const int32_t* groups(const RunContext& c, int64_t count) const {
    const auto groups = c.input<int32_t>(kGroups);
    require(groups.size() == size_t(K) || groups.size() == size_t(count * block_size), ErrorCode::invalid_argument,
            "g_idx has shape {}, expected [{}] or [{}]", c.shape(kGroups), K, count * block_size);
    for (size_t i = 0; i < groups.size(); ++i)
      require(groups[i] >= 0 && groups[i] < count, ErrorCode::invalid_argument,
              "g_idx names block {} for element {}, there are {}", groups[i], i, count);
    return groups.data();
  }
};

}  // namespace

extern const OpDef op_matmul_n_bits;
constinit const OpDef op_matmul_n_bits = define<MatMulNBits>({
    .name = "MatMulNBits",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"A: T", "B: uint8", "scales: T", "zero_points: Z?", "g_idx: int32?", "bias: T?"},
    .outputs = {"Y: T"},
    .types = types({DType::f32, DType::f16, DType::bf16}),
    .traits = kConverts,
});

}  // namespace retort::ops
