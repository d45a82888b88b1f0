// Copies of boxes: which kernel moves them, in words of which size.
#include "common/sizes.h"
#include "moves.h"

namespace providers::cuda {
namespace {

constexpr int64_t kShort = 16;           // below that, tiles of a transposition are mostly empty
constexpr int64_t kViewAlignment = 256;  // bytes; libraries choose their kernels for addresses aligned like this

// The arguments of kernels/box.cu: `across` is contiguous in the source, `down` in the target.
struct Tiles {
  int64_t across = 1, down = 1;          // extents
  int64_t from_down = 0, to_across = 0;  // strides
  uint32_t tiles_across = 1, tiles_down = 1;
  int32_t rank = 0;  // of the other axes
  uint32_t extent[kMostAxes] = {};
  int64_t from[kMostAxes] = {}, to[kMostAxes] = {};
};

int64_t count_of(const Box& box) {
  int64_t n = 1;
  for (const BoxAxis& a : box.axes) n *= a.extent;
  return n;
}

// Bytes of the widest word in which the box can be moved, and the box in these words.
size_t widen(Box& box, size_t unit) {
  if (box.axes.empty() || box.axes.back().from != 1 || box.axes.back().to != 1) return unit;
  const int64_t size = int64_t(unit);
  size_t word = word_for(unit, {box.axes.back().extent * size, box.from * size, box.to * size});
  for (size_t d = 0; d + 1 < box.axes.size(); ++d)
    word = std::min(word, word_for(unit, {box.axes[d].from * size, box.axes[d].to * size}));
  const int64_t ratio = int64_t(word / unit);
  for (size_t d = 0; d + 1 < box.axes.size(); ++d) {
    box.axes[d].from /= ratio;
    box.axes[d].to /= ratio;
  }
  box.axes.back().extent /= ratio;
  box.from /= ratio;
  box.to /= ratio;
  box = simplified(std::move(box));
  return word;
}

Operand shifted(Operand operand, int64_t words, size_t word) {
  operand.offset += size_t(words) * word;
  return operand;
}

// The axis that is contiguous in the source; -1 if there is none.
int contiguous_from(const Box& box) {
  for (size_t d = 0; d < box.axes.size(); ++d)
    if (box.axes[d].from == 1) return int(d);
  return -1;
}

bool is_tiled(const Box& box) {
  const int across = contiguous_from(box);
  return across >= 0 && size_t(across) + 1 < box.axes.size() && box.axes.back().to == 1 &&
         box.axes.back().extent >= kShort && box.axes[size_t(across)].extent >= kShort;
}

void emit_tiles(Emitter& e, const Box& box, size_t word, size_t unit, const Operand& from, const Operand& to) {
  const auto across = size_t(contiguous_from(box));
  const BoxAxis &a = box.axes[across], &b = box.axes.back();
  Tiles t{.across = a.extent, .down = b.extent, .from_down = b.from, .to_across = a.to};
  const int64_t side = word >= 8 || std::min(a.extent, b.extent) <= 32 ? 32 : 64;
  t.tiles_across = uint32_t(ceil_div(a.extent, side));
  t.tiles_down = uint32_t(ceil_div(b.extent, side));
  int64_t blocks = ceil_div(a.extent, side) * ceil_div(b.extent, side);
  for (size_t d = 0; d + 1 < box.axes.size(); ++d) {
    if (d == across) continue;
    t.extent[t.rank] = uint32_t(box.axes[d].extent);
    t.from[t.rank] = box.axes[d].from;
    t.to[t.rank++] = box.axes[d].to;
    blocks *= box.axes[d].extent;
  }
  if (blocks >= kNarrow) e.fail(text("a transposition in ", blocks, " tiles, more than a launch can have"));
  Grid grid;
  grid.blocks.x = unsigned(blocks);
  grid.threads.x = 256;
  e.launch(move_kernel(e, {"box.cu", side == 32 ? "transpose_32" : "transpose_64"}, word, unit, true), grid,
           {shifted(from, box.from, word), shifted(to, box.to, word), Argument::of(t)});
}

// Threads follow the side whose contiguous runs are longer, or the target's.
void order_axes(Box& box) {
  const int across = contiguous_from(box);
  const bool forward = std::all_of(box.axes.begin(), box.axes.end(), [](const BoxAxis& a) { return a.from > 0; });
  if (across < 0 || !forward || size_t(across) + 1 == box.axes.size()) return;
  if (box.axes[size_t(across)].extent >= kShort || box.axes.back().extent < kShort) return;
  std::stable_sort(box.axes.begin(), box.axes.end(),
                   [](const BoxAxis& a, const BoxAxis& b) { return a.from > b.from; });
}

bool is_narrow(const Box& box) {
  int64_t from = 0, to = 0;
  for (const BoxAxis& a : box.axes) {
    from += std::abs(a.from) * a.extent;
    to += a.to * a.extent;
  }
  return std::max({from, to, count_of(box)}) < kNarrow;
}

void emit_strided(Emitter& e, Box box, size_t word, size_t unit, const Operand& from, const Operand& to) {
  order_axes(box);
  if (box.axes.size() > kMostAxes) e.fail(text(box.axes.size(), " axes that cannot be merged, at most ", kMostAxes));
  const bool narrow = is_narrow(box);
  const int64_t count = count_of(box);
  e.launch(move_kernel(e, {"box.cu", "copy_box"}, word, unit, narrow), flat_grid(size_t(count), 256, 4),
           {shifted(from, box.from, word), shifted(to, box.to, word), count, walk_of(box.axes, narrow)});
}

}  // namespace

Box simplified(Box box) {
  std::vector<BoxAxis> axes;
  for (const BoxAxis& a : box.axes) {
    if (a.extent == 1) continue;
    if (!axes.empty() && axes.back().from == a.from * a.extent && axes.back().to == a.to * a.extent)
      axes.back() = {axes.back().extent * a.extent, a.from, a.to};
    else
      axes.push_back(a);
  }
  box.axes = std::move(axes);
  return box;
}

bool is_contiguous(const Box& box) {
  const Box b = simplified(box);
  return b.axes.empty() || (b.axes.size() == 1 && b.axes[0].from == 1 && b.axes[0].to == 1);
}

void emit_box(Emitter& e, Box box, const Operand& from, const Operand& to) {
  const int64_t count = count_of(box);
  const size_t unit = size_of(from.type);
  if (count == 0) return;
  if (is_contiguous(box)) {
    Operand source = shifted(from, box.from, unit), target = shifted(to, box.to, unit);
    source.dims = target.dims = {count};
    source.layout = target.layout = Layout::rows;
    e.copy(source, target);
    return;
  }
  box = simplified(std::move(box));
  const size_t word = widen(box, unit);
  if (is_tiled(box) && box.axes.size() <= kMostAxes) return emit_tiles(e, box, word, unit, from, to);
  emit_strided(e, std::move(box), word, unit, from, to);
}

void emit_view(Emitter& e, size_t i, const Box& box, const Operand& from, const Dims& dims) {
  const int64_t begin = box.from * int64_t(size_of(from.type));
  if (count_of(box) > 0 && is_contiguous(box) && begin % kViewAlignment == 0) {
    Operand view = shifted(from, box.from, size_of(from.type));
    view.dims = dims;
    view.layout = Layout::rows;
    return e.alias(i, view, dims);
  }
  emit_box(e, box, from, e.out(i, from.type, dims));
}

}  // namespace providers::cuda
