// Trilu: the upper (or lower) triangle of every matrix, measured from diagonal k; zero elsewhere.
#include "kernels/move/fill.h"
#include "ops/integers.h"
#include "ops/op.h"

namespace retort::ops {
namespace {

struct Trilu {
  bool upper = true;
  static constexpr std::tuple attributes{attr("upper", &Trilu::upper)};

  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    if (c.rank(0) < 2)
      fail(ErrorCode::invalid_argument, "input has shape {}, expected a matrix", c.dims().text(c.shape(0)));
    c.set(0, c.dtype(0), c.shape(0));
  }

  void run(RunContext& c) const {
    const Shape& x = c.shape(0);
    const int64_t k = c.has(1) ? integer(c, 1) : 0, columns = x.back();
    const int64_t rows = int64_t(c.count(0)) / std::max<int64_t>(columns, 1), height = x[x.rank() - 2];
    if (c.dtype(0) != DType::string) {
      const kernels::Triangle args{.batch = size_t(rows / std::max<int64_t>(height, 1)),
                                   .rows = size_t(height),
                                   .columns = size_t(columns),
                                   .diagonal = k,
                                   .upper = upper,
                                   .element_size = dtype_bits(c.dtype(0)) / 8};
      return kernels::triangle(args, c.data(0), c.out_data(), c.parallel());
    }
    for (int64_t i = 0; i < rows * columns; ++i) {
      const int64_t place = i % columns - i / columns % height;
      const bool keep = upper ? place >= k : place <= k;
      c.output<std::string>()[size_t(i)] = keep ? c.input<std::string>(0)[size_t(i)] : std::string();
    }
  }
};

}  // namespace

extern const OpDef op_trilu;
constinit const OpDef op_trilu = define<Trilu>({
    .name = "Trilu",
    .since = {14},
    .inputs = {"input: T", "k: int64?"},
    .outputs = {"output: T"},
    .types = kFixedSize | kString,
    .traits = kMayAliasInput0,
});

}  // namespace retort::ops
