// Split: consecutive parts along an axis, of given sizes or as equal as num_outputs allows (the last one is smaller).
#include <numeric>

#include "ops/integers.h"
#include "ops/op.h"
#include "ops/shape/common/strided.h"

namespace retort::ops {
namespace {

struct Split {
  int64_t axis = 0;
  std::optional<int64_t> num_outputs;
  static constexpr std::tuple attributes{attr("axis", &Split::axis), attr("num_outputs", &Split::num_outputs)};

  void check() const {
    require(!num_outputs || *num_outputs > 0, ErrorCode::invalid_argument, "num_outputs is {}",
            num_outputs.value_or(0));
  }

  void infer(InferContext& c) const {
    for (size_t i = 0; i < c.output_count(); ++i) c.set(i, c.dtype(0));
    const Shape& x = c.shape(0);
    const size_t along = c.axis(axis, x.rank());
    const bool given = c.has(1);
    require(!given || !num_outputs, ErrorCode::invalid_argument, "both split and num_outputs are given");
    require(given || !num_outputs || *num_outputs == int64_t(c.output_count()), ErrorCode::invalid_argument,
            "num_outputs is {}, but there are {} outputs", num_outputs.value_or(0), c.output_count());
    expect_rank(c, 1, 1);
    if (given && !c.try_value(1)) set_parts(c, x, along, {});
    if (given) check_sizes(c, x[along]);
    Shape sizes;
    for (size_t i = 0; i < c.output_count(); ++i) sizes.push_back(given ? c.value(1)[i] : equal_part(c, x[along], i));
    set_parts(c, x, along, sizes);
  }

  void run(RunContext& c) const {
    const size_t along = normalize_axis(axis, c.shape(0).rank());
    const Shape sizes = part_sizes(c, along), from = strides_of(c.in_slot(0));
    int64_t position = 0;
    for (size_t i = 0; i < c.output_count(); position += sizes[i++]) {
      if (!c.wants(i) || lies_at(c.out_data(i), c.data(0), c.dtype(0), position * from[along])) continue;
      StridedBox b = box(c.shape(0), from, along, position, sizes[i]);
      b.to_strides = strides_of(c.out_slot(i));
      copy_box(b, c.dtype(0), c.data(0), c.out_data(i), c.parallel());
    }
  }

  bool reads_rows(const RunContext&, size_t) const { return true; }
  bool writes_rows(const RunContext&) const { return true; }
  std::optional<Piece> piece(const RunContext& c, size_t i) const {
    const size_t along = normalize_axis(axis, c.shape(0).rank());
    const Shape sizes = part_sizes(c, along), from = row_major_strides(c.shape(0));
    const int64_t position = std::accumulate(sizes.begin(), sizes.begin() + i, int64_t(0));
    return piece_of(c.out_shape(i), from, position * from[along]);
  }

 private:
  Shape part_sizes(const RunContext& c, size_t along) const {
    if (c.has(1)) return integers(c, 1);
    Shape sizes;
    for (size_t i = 0; i < c.output_count(); ++i)
      sizes.push_back(part_of(c.shape(0)[along], int64_t(c.output_count()), int64_t(i)));
    return sizes;
  }

  // Parts have ceil(extent / n) elements; the last ones get the remainder.
  static int64_t part_of(int64_t extent, int64_t n, int64_t i) {
    const int64_t whole = extent / n + (extent % n != 0);
    return std::clamp<int64_t>(extent - i * whole, 0, whole);
  }
  static Dim equal_part(InferContext& c, Dim extent, size_t i) {
    DimTable& d = c.dims();
    const int64_t n = int64_t(c.output_count());
    if (is_known(extent)) return part_of(extent, n, int64_t(i));
    const Dim even = d.div(extent, n);
    if (d.mul(even, n) == extent) return even;  // certainly a multiple
    const Dim whole = d.div(d.add(extent, n - 1), n);
    return i + 1 < size_t(n) && n == 2 ? whole : d.max(d.min(d.sub(extent, d.mul(whole, int64_t(i))), whole), 0);
  }

  static void check_sizes(InferContext& c, Dim extent) {
    const auto sizes = c.value(1);
    int64_t sum = 0;
    for (Dim s : sizes) sum += is_known(s) ? s : 0;
    if (sizes.size() != c.output_count() || (is_known(extent) && all_known(sizes) && sum != extent) ||
        std::any_of(sizes.begin(), sizes.end(), [](Dim s) { return is_known(s) && (s < 0 || s > (int64_t(1) << 48)); }))
      fail(ErrorCode::invalid_argument, "sizes {} do not split {} elements into {} outputs", c.dims().text(sizes),
           c.dims().text(extent), c.output_count());
  }

  static StridedBox box(const Shape& x, const Shape& from, size_t along, int64_t position, int64_t size) {
    StridedBox b;
    b.extents = x;
    b.extents[along] = size;
    b.from_strides = from;
    b.to_strides = row_major_strides(b.extents);
    b.from_offset = position * b.from_strides[along];
    return b;
  }

  // Sets shapes and content of the parts. Without sizes, their extents are new symbols and nothing else is known yet.
  static void set_parts(InferContext& c, const Shape& x, size_t along, const Shape& sizes) {
    const auto content = c.try_value(0);
    int64_t position = 0;
    for (size_t i = 0; i < c.output_count(); ++i) {
      Shape y = x;
      y[along] = sizes.empty() ? c.unknown_extent() : sizes[i];
      c.set(i, c.dtype(0), y);
      if (!content || !all_known(x) || !all_known(sizes) || sizes.empty()) continue;
      const auto room = c.new_value(i, element_count(y));
      if (room) copy_box(box(x, row_major_strides(x), along, position, sizes[i]), content->data(), room->data());
      position += sizes[i];
    }
    if (sizes.empty()) throw NotYetKnown{};
  }
};

}  // namespace

extern const OpDef op_split;
constinit const OpDef op_split = define<Split>({
    .name = "Split",
    .since = {1, 2, 11, 13, 18},
    .inputs = {"input: T", "split: int64?"},
    .outputs = {"outputs: T..."},
    .traits = kAlongAxis,
});

}  // namespace retort::ops
