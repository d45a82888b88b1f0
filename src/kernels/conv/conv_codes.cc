#include "kernels/conv/conv_codes.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/checked.h"
#include "kernels/conv/codes_winograd.h"
#include "kernels/conv/conv_codes_parts.h"

namespace retort::kernels {
namespace {

using codes_detail::CodesDepthwise;
using codes_detail::CodesProduct;
using codes_detail::DepthwiseBlock;
using codes_detail::is_depthwise;
using codes_detail::kLeastBlock;
using codes_detail::Patch;

/// Where the rows of a product come from.
enum class Rows {
  pixels,   ///< the pixels of the image, or copies of signed ones
  strips,   ///< overlapping parts of padded copies of its lines
  patches,  ///< copies of the image under each window
};
Rows rows_of(const CodesConvShape& s) {
  const bool pointwise = s.kernel_h * s.kernel_w == 1;
  if (pointwise && s.stride_h * s.stride_w == 1 && s.pad_top + s.pad_left == 0 && s.in_h == s.out_h &&
      s.in_w == s.out_w && s.in_c % 4 == 0 && !s.input_is_nchw)
    return Rows::pixels;
  // Tiles of a strip end with its lines: short ones would leave too few rows.
  constexpr size_t kShortLine = 12;
  const bool even = s.kernel_w == 1 || s.dilation_w == 1 || s.kernel_h == 1;  // parts of a window are evenly apart
  return s.input_is_nchw || (even && !pointwise && s.out_w >= kShortLine) ? Rows::strips : Rows::patches;
}

/// The division of a product into tasks, by shapes and the instruction level alone: `rows` pixels, or for strips lines
/// of pixels of one image, times `columns` channels. A strip has `width` pixels of each line: all, or parts of the only
/// line that an image has.
struct Tasks {
  size_t rows, width, row_blocks, columns, column_groups;
  explicit Tasks(const CodesConvShape& s) {
    // A task takes at least about 3 µs. Rows stay in the second-level cache, and are copied for at least 128 columns,
    // or transposed for 256, which costs 3 % of the product. Fewer than 64 rows would read the filters too often.
    constexpr size_t kTaskMacs = 1 << 20, kMostTasks = 32, kBlockBytes = 256 << 10, kLeastRows = 64;
    constexpr size_t kCopiedColumns = 128, kTransposedColumns = 256, kFewColumns = 80;
    const size_t depth = Patch(s).depth(), panel = codes_panel_width(), panels = ceil_div(s.out_c, panel);
    const size_t pixels = s.out_pixels(), macs = pixels * depth * panels * panel;
    const size_t wanted = std::clamp<size_t>(macs / kTaskMacs, 1, kMostTasks);
    const size_t most = std::max(kLeastRows, kBlockBytes / std::max<size_t>(depth, 1));
    const size_t block = std::clamp(ceil_div(pixels, wanted), kLeastRows, most);
    const bool strips = rows_of(s) == Rows::strips;
    const size_t extent = strips ? s.out_h : pixels, least_rows = strips ? ceil_div(block, s.out_w) : block;
    row_blocks = ceil_div(extent, least_rows);
    rows = ceil_div(extent, row_blocks);
    const bool corrects = codes_detail::corrects_pairs(s);
    if (corrects && !strips) rows = whole_blocks(rows, extent);
    width = s.out_w;
    if (strips && s.out_h == 1) {
      width = ceil_div(s.out_w, ceil_div(s.out_w, block));
      if (corrects) width = whole_blocks(width, s.out_w);
    }
    row_blocks = ceil_div(extent, rows) * (strips ? s.batch * ceil_div(s.out_w, width) : 1);
    const bool copies = rows_of(s) != Rows::pixels || s.input_signed;
    const size_t least_columns = corrects ? kTransposedColumns : copies ? kCopiedColumns : 1;
    const size_t least = std::max<size_t>(1, least_columns / panel);
    size_t most_groups = panels / least;
    // A single block of rows is divided evenly among two workers.
    if (corrects && row_blocks == 1)
      most_groups = std::max(round_up(most_groups, 2), std::min<size_t>(panels / (kFewColumns / panel), 2));
    const size_t groups = std::clamp<size_t>(most_groups, 1, ceil_div(wanted, row_blocks));
    columns = ceil_div(panels, groups) * panel;
    column_groups = ceil_div(s.out_c, columns);
  }

 private:
  /// Rows of a task in whole blocks of transposed ones. The last task has fewer, so there are at least six others.
  static size_t whole_blocks(size_t rows, size_t extent) {
    constexpr size_t kBlock = codes_detail::kExcessRows, kTasks = 6;
    rows = round_up(rows, kBlock);
    if (rows >= extent) return rows;
    return std::min(rows, std::max(kBlock, extent / kTasks / kBlock * kBlock));
  }
};

/// memcpy for lengths that are often short: a call would take longer than the copying.
void copy_run(const uint8_t* from, size_t n, uint8_t* to) {
  constexpr size_t kStep = 16, kShort = 512;
  if (n < kStep || n > kShort) return void(std::memcpy(to, from, n));
  for (size_t i = 0; i + kStep <= n; i += kStep) std::memcpy(to + i, from + i, kStep);
  std::memcpy(to + n - kStep, from + n - kStep, kStep);
}

/// Images whose patches are gathered.
struct Images {
  const uint8_t* data;
  size_t pixel_stride;
  uint8_t outside;
};

/// Copies a part of a patch: columns from `left` on of a line of an image, which is null outside the image.
void gather_part(const ConvShape& s, const Patch& patch, const Images& images, const uint8_t* line, ptrdiff_t left,
                 uint8_t* to) {
  const auto begin = size_t(std::clamp<ptrdiff_t>(-left, 0, ptrdiff_t(patch.columns)));
  const auto end = size_t(std::clamp<ptrdiff_t>(ptrdiff_t(s.in_w) - left, ptrdiff_t(begin), ptrdiff_t(patch.columns)));
  if (!line || end - begin < patch.columns || patch.padded > patch.bytes) std::memset(to, images.outside, patch.padded);
  if (!line || begin == end) return;
  const uint8_t* from = line + size_t(left + ptrdiff_t(begin)) * images.pixel_stride;
  if (images.pixel_stride == s.in_c) return copy_run(from, (end - begin) * s.in_c, to + begin * s.in_c);
  for (size_t i = begin; i < end; ++i, from += images.pixel_stride) copy_run(from, s.in_c, to + i * s.in_c);
}

void gather_patch(const ConvShape& s, const Patch& patch, const Images& images, size_t pixel, uint8_t* to) {
  const size_t x = pixel % s.out_w, y = pixel / s.out_w % s.out_h, b = pixel / s.out_w / s.out_h;
  const size_t line_stride = s.in_w * images.pixel_stride, per_row = patch.parts / s.kernel_h;
  const uint8_t* const image = images.data + b * s.in_h * line_stride;
  if (patch.joined) std::memset(to + patch.depth() - 4, 0, 4);
  // Divisions for each part would take longer than the copying.
  size_t row = y * s.stride_h - s.pad_top;  // wraps around outside the image
  for (size_t i = 0; i < s.kernel_h; ++i, row += s.dilation_h) {
    const uint8_t* const line = row < s.in_h ? image + row * line_stride : nullptr;
    auto left = ptrdiff_t(x * s.stride_w) - ptrdiff_t(s.pad_left);
    for (size_t j = 0; j < per_row; ++j, left += ptrdiff_t(s.dilation_w), to += patch.padded)
      gather_part(s, patch, images, line, left, to);
  }
}

/// A padded copy of the lines of an image under some lines of `width` results.
struct Strip {
  size_t columns, bytes, step;  ///< pixels and bytes of a line; lines from the result to the next
  Strip(const ConvShape& s, size_t width)
      : columns((width - 1) * s.stride_w + (s.kernel_w - 1) * s.dilation_w + 1),
        bytes(checked_mul(columns, s.in_c, "line")),
        step(s.stride_h) {}
  /// Bytes from a part of a window to the next: of its lines, or of the taps of its only line.
  size_t part_stride(const ConvShape& s) const {
    return s.kernel_h == 1 ? s.dilation_w * s.in_c : s.dilation_h * bytes;
  }
  size_t lines(const ConvShape& s, size_t results) const {
    return (results - 1) * step + (s.kernel_h - 1) * s.dilation_h + 1;
  }
  /// The last window may read up to a quad beyond its end.
  size_t size(const ConvShape& s, size_t results) const {
    return round_up(checked_mul(lines(s, results), bytes, "lines") + 3, 128);
  }
};

/// Copies the lines under `count` lines of results from line `first` of image b and column x on.
void copy_strip(const ConvCodesArgs& a, const Strip& strip, size_t b, size_t first, size_t x, size_t count,
                uint8_t* to) {
  const CodesConvShape& s = a.shape;
  const size_t left = x * s.stride_w, skipped = std::min(left - std::min(left, s.pad_left), s.in_w);
  const size_t begin = std::min(s.pad_left - std::min(left, s.pad_left), strip.columns);
  const size_t pixels = std::min(s.in_w - skipped, strip.columns - begin), plane = s.in_h * s.in_w;
  for (size_t line = 0; line < strip.lines(s, count); ++line, to += strip.bytes) {
    const size_t row = first * s.stride_h + line - s.pad_top;  // wraps around above the image
    if (row >= s.in_h) {
      std::memset(to, a.input_zero, strip.bytes);
      continue;
    }
    std::memset(to, a.input_zero, begin * s.in_c);
    uint8_t* at = to + begin * s.in_c;
    if (s.input_is_nchw) {
      codes_detail::interleave_planes(a.input + (b * s.in_c * s.in_h + row) * s.in_w + skipped, plane, s.in_c, pixels,
                                      at);
    } else {
      const uint8_t* from = a.input + ((b * s.in_h + row) * s.in_w + skipped) * s.in_pixel_stride;
      if (s.in_pixel_stride == s.in_c) std::memcpy(at, from, pixels * s.in_c);
      for (size_t i = 0; i < pixels && s.in_pixel_stride != s.in_c; ++i)
        copy_run(from + i * s.in_pixel_stride, s.in_c, at + i * s.in_c);
    }
    at += pixels * s.in_c;
    std::memset(at, a.input_zero, size_t(to + strip.bytes - at));
  }
}

/// Copies the joined patches under `lines` lines of `width` results out of their strip.
void join_patches(const ConvShape& s, const Patch& patch, const Strip& strip, const uint8_t* codes, size_t lines,
                  size_t width, uint8_t* to) {
  for (size_t i = 0; i < lines * width; ++i, to += patch.depth()) {
    std::memset(to + patch.depth() - 4, 0, 4);
    const uint8_t* from = codes + i / width * s.stride_h * strip.bytes + i % width * s.stride_w * s.in_c;
    for (size_t part = 0; part < patch.parts; ++part)
      copy_run(from + part * strip.part_stride(s), patch.bytes, to + part * patch.bytes);
  }
}

/// Bytes of working memory for each worker.
size_t worker_bytes(const CodesConvShape& s) {
  switch (rows_of(s)) {
    case Rows::strips: {
      const Patch patch(s);
      const Tasks tasks(s);
      const size_t rows = checked_mul(tasks.rows, tasks.width, "lines");
      const size_t joined = patch.joined ? round_up(checked_mul(rows, patch.depth(), "patches"), 128) : 0;
      return checked_add(Strip(s, tasks.width).size(s, tasks.rows), joined, "lines");
    }
    case Rows::pixels:
      if (!s.input_signed) return 0;
      [[fallthrough]];
    case Rows::patches:
      break;
  }
  return round_up(checked_mul(Tasks(s).rows, Patch(s).depth(), "patches"), 128);
}

/// Points to pixels from `pixel` on, or copies signed ones to `memory`.
void set_pixels(const ConvCodesArgs& a, size_t pixel, uint8_t* memory, codes_detail::CodeLines& lines) {
  const CodesConvShape& s = a.shape;
  lines.data = a.input + pixel * s.in_pixel_stride;
  lines.row_stride = s.in_pixel_stride;
  if (!s.input_signed) return;
  const bool dense = s.in_pixel_stride == s.in_c;
  const size_t runs = dense ? 1 : lines.rows, run = dense ? lines.rows * s.in_c : s.in_c;
  for (size_t i = 0; i < runs; ++i)
    codes_detail::copy_unsigned(lines.data + i * s.in_pixel_stride, run, memory + i * run);
  lines.data = memory;
  lines.row_stride = s.in_c;
}

/// Copies the strip of block `block` to `memory`, and returns the first pixel of the result.
size_t set_strip(const ConvCodesArgs& a, const Tasks& tasks, size_t block, uint8_t* memory,
                 codes_detail::CodeLines& lines) {
  const CodesConvShape& s = a.shape;
  const Patch patch(s);
  const Strip strip(s, tasks.width);
  const size_t parts = ceil_div(s.out_w, tasks.width), blocks = tasks.row_blocks / s.batch;
  const size_t b = block / blocks, first = block % blocks / parts * tasks.rows, x = block % parts * tasks.width;
  lines.lines = std::min(tasks.rows, s.out_h - first);
  lines.rows = std::min(tasks.width, s.out_w - x);
  copy_strip(a, strip, b, first, x, lines.lines, memory);
  if (s.input_signed) codes_detail::copy_unsigned(memory, strip.lines(s, lines.lines) * strip.bytes, memory);
  if (patch.joined) {
    uint8_t* const rows = memory + strip.size(s, tasks.rows);
    join_patches(s, patch, strip, memory, lines.lines, lines.rows, rows);
    lines.data = rows;
    lines.row_stride = lines.depth;
    lines.rows *= std::exchange(lines.lines, 1);
  } else {
    lines.row_stride = s.stride_w * s.in_c;
    lines.line_stride = s.stride_h * strip.bytes;
    lines.parts = patch.parts;
    lines.part_stride = strip.part_stride(s);
    lines.depth = patch.padded;
  }
  return (b * s.out_h + first) * s.out_w + x;
}

/// Sets the rows of block `block`, and returns the first pixel of the result; `memory` is that of the worker.
size_t set_rows(const ConvCodesArgs& a, const Tasks& tasks, size_t block, uint8_t* memory, CodesProduct& p) {
  const CodesConvShape& s = a.shape;
  const Patch patch(s);
  size_t pixel = block * tasks.rows;
  codes_detail::CodeLines& lines = p.a;
  lines.rows = std::min(tasks.rows, s.out_pixels() - std::min(pixel, s.out_pixels()));
  lines.depth = patch.depth();
  lines.data = memory;
  switch (rows_of(s)) {
    case Rows::pixels:
      set_pixels(a, pixel, memory, lines);
      break;
    case Rows::patches:
      lines.row_stride = lines.depth;
      for (size_t i = 0; i < lines.rows; ++i)
        gather_patch(s, patch, {a.input, s.in_pixel_stride, a.input_zero}, pixel + i, memory + i * lines.depth);
      if (s.input_signed) codes_detail::copy_unsigned(memory, lines.rows * lines.depth, memory);
      break;
    case Rows::strips:
      pixel = set_strip(a, tasks, block, memory, lines);
      p.y_line = s.out_w * s.out_pixel_stride * p.form.bytes();
      break;
  }
  p.y = codes_detail::results_of(a, pixel, 0);
  p.y_stride = s.out_pixel_stride * p.form.bytes();
  return pixel;
}

/// Multiplies into `memory`, and adds the other image, which may be the output; from `pixel` and channel `n` on.
void multiply_and_add(const ConvCodesArgs& a, CodesProduct p, size_t pixel, size_t n, uint8_t* memory) {
  const CodesResidual& r = a.residual;
  CodeRows rows{p.a.lines * p.a.rows, p.columns, p.columns, r.pixel_stride, p.y_stride};
  CodeRun sum = r.sum, other = r.other;
  sum.codes = p.y;
  other.codes = static_cast<const uint8_t*>(other.codes) + pixel * r.pixel_stride + n;
  p.y = memory;
  p.y_stride = p.columns;
  p.y_line = p.a.rows * p.columns;
  codes_detail::multiply_codes(p);
  add_codes({memory, a.output_signed, a.output_zero, r.scale}, other, sum, rows);
}
/// Working memory of a worker: first the rows, then what multiply_and_add() uses, then the sums of windows and the
/// excess.
struct WorkerMemory {
  size_t rows, sums = 0, windows = 0, excess = 0;
  WorkerMemory(const CodesConvShape& s, bool residual) : rows(worker_bytes(s)) {
    const Tasks tasks(s);
    const size_t pixels = rows_of(s) == Rows::strips ? checked_mul(tasks.rows, tasks.width, "lines") : tasks.rows;
    if (residual) sums = round_up(checked_mul(pixels, std::min(tasks.columns, s.out_c), "results"), 128);
    if (s.filter_zero != 0) windows = round_up(checked_mul(pixels, sizeof(int32_t), "sums"), 128);
    if (codes_detail::corrects_pairs(s)) excess = codes_detail::excess_bytes(pixels, Patch(s).depth());
  }
  size_t bytes() const {
    return checked_add(checked_add(rows, checked_add(sums, windows, "sums"), "rows of codes"), excess, "rows of codes");
  }
};

void convolve_product(const ConvCodesArgs& a, void* scratch, const Parallel& par) {
  const CodesConvShape& s = a.shape;
  const Tasks tasks(s);
  const bool adds = a.residual.other.codes;
  const WorkerMemory of_worker(s, adds);
  const size_t depth = Patch(s).depth(), bytes = of_worker.bytes();
  codes_detail::Excess excess;
  const bool corrects = codes_detail::corrects_pairs(s);
  if (corrects) excess = codes_detail::excess_in(s, a.packed);
  par.for_each(tasks.row_blocks * tasks.column_groups, [&](size_t task, int worker) {
    const size_t n = task % tasks.column_groups * tasks.columns;
    CodesProduct p{.form = codes_detail::form_of(a), .saturates = s.saturates(), .corrects = corrects};
    p.columns = std::min(tasks.columns, s.out_c - n);
    auto* memory = static_cast<uint8_t*>(scratch) + size_t(worker) * bytes;
    const size_t pixel = set_rows(a, tasks, task / tasks.column_groups, memory, p);
    p.filters = a.packed + n * depth;
    p.excess = excess;
    p.first_panel = n / codes_panel_width();
    p.arranged = memory + of_worker.rows + of_worker.sums + of_worker.windows;
    if (of_worker.windows != 0) {
      const Patch patch(s);
      const size_t part_stride = rows_of(s) == Rows::strips ? p.a.part_stride : patch.padded;
      p.windows = codes_detail::windows_of(s, part_stride, memory + of_worker.rows + of_worker.sums);
    }
    p.bias = a.bias + n;
    p.scale = a.scale + n;
    p.offset = a.offset + n;
    p.y += n * p.form.bytes();
    adds ? multiply_and_add(a, p, pixel, n, memory + of_worker.rows) : codes_detail::multiply_codes(p);
    for (size_t line = 0; line < p.a.lines; ++line)
      codes_detail::finish_sums(a, pixel + line * s.out_w, p.a.rows, n, n + p.columns);
  });
}

void convolve_depthwise(const ConvCodesArgs& a, void* scratch, const Parallel& par) {
  const CodesConvShape& s = a.shape;
  constexpr size_t kTaskResults = 64 << 10, kMostTasks = 32;
  const size_t blocks = codes_detail::depthwise_blocks(s.out_c);
  const size_t wanted =
      std::clamp<size_t>(s.out_pixels() * round_up(s.out_c, kLeastBlock) / kTaskResults, 1, kMostTasks);
  const size_t parts = std::min(s.out_h, ceil_div(wanted, s.batch * blocks));
  const size_t lines = round_up(ceil_div(s.out_h, parts), codes_detail::depthwise_takes_two_lines(s) ? 2 : 1);
  const size_t per_image = ceil_div(s.out_h, lines) * blocks;
  const size_t quads = round_up(codes_detail::depthwise_quads_bytes(s), 128);
  const size_t passes = codes_detail::depthwise_passes(s), filters = passes * round_up(s.kernel_h, 4) * s.kernel_w;
  par.for_each(s.batch * per_image, [&](size_t task, int worker) {
    const auto [channel, width] = codes_detail::depthwise_block_at(s.out_c, task % blocks);
    const size_t b = task / per_image;
    CodesDepthwise w{.form = codes_detail::form_of(a), .shape = &s, .width = width};
    w.flip = s.input_signed ? 0x80 : 0;
    w.channels = std::min(width, s.out_c - channel);
    w.image = a.input + b * s.in_h * s.in_w * s.in_pixel_stride + channel;
    w.outside = a.input_zero;
    w.filters = a.packed + channel * filters;
    w.passes = passes;
    w.bias = a.bias + channel;
    w.scale = a.scale + channel;
    w.offset = a.offset + channel;
    w.y = codes_detail::results_of(a, b * s.out_h * s.out_w, channel);
    w.first = task % per_image / blocks * lines;
    w.lines = std::min(lines, s.out_h - w.first);
    w.quads = static_cast<uint8_t*>(scratch) + size_t(worker) * quads;
    codes_detail::convolve_code_lines(w);
    codes_detail::finish_sums(a, (b * s.out_h + w.first) * s.out_w, w.lines * s.out_w, channel, channel + w.channels);
  });
}

bool by_winograd(const ConvCodesArgs& a) {
  return codes_detail::suits_codes_winograd(a.shape) && codes_detail::facts_in(a.shape, a.packed).small_sums != 0;
}

}  // namespace

size_t conv_codes_scratch_bytes(const CodesConvShape& s, bool residual, int workers) {
  if (s.out_pixels() == 0) return 0;
  if (is_depthwise(s))
    return checked_mul(round_up(codes_detail::depthwise_quads_bytes(s), 128), size_t(workers), "lines");
  size_t bytes = WorkerMemory(s, residual).bytes();
  if (codes_detail::suits_codes_winograd(s)) bytes = std::max(bytes, codes_detail::codes_winograd_bytes(s, residual));
  return checked_mul(bytes, size_t(workers), "rows of codes");
}

void conv_codes(const ConvCodesArgs& args, void* scratch, const Parallel& par) noexcept {
  if (args.shape.out_pixels() == 0) return;
  if (is_depthwise(args.shape)) return convolve_depthwise(args, scratch, par);
  if (by_winograd(args)) return codes_detail::convolve_codes_winograd(args, scratch, par);
  convolve_product(args, scratch, par);
}

}  // namespace retort::kernels
