#include "ops/quant/common/codes_conv.h"

#include <algorithm>
#include <cstring>

#include "ops/quant/common/codes_filters.h"

namespace retort::ops {

/// The packed filters.
struct CodesConv::Filters : State {
  std::shared_ptr<const void> memory;
  size_t codes = 0;  ///< bytes before them, which hold the rows
  kernels::CodesSums sums = kernels::CodesSums::exact;
};

/// Extents of a convolution. k is the number of channels of a group, rounded up to quads, times taps. If `joined`,
/// channels are not rounded up, and k is [tap][channel]: else, pairs that saturate would not be those of ONNX Runtime.
struct CodesConv::Sizes {
  Window window;
  size_t batch, in_c, out_c, in_px, out_px, taps, group_in, group_out, quads, k;
  bool joined;
};

CodesConv::Sizes CodesConv::sizes(const RunContext& c, const Inputs& in) const {
  const Shape &x = c.shape(in.x), &w = c.shape(in.w), &y = c.out_shape();
  Sizes s;
  s.window =
      as_line(resolve_window(*this, {x.begin() + 2, x.end()}, {w.begin() + 2, w.end()}, {y.begin() + 2, y.end()}));
  s.batch = size_t(x[0]);
  s.in_c = size_t(x[1]);
  s.out_c = size_t(w[0]);
  s.out_px = size_t(s.window.out_pixels());
  s.group_in = size_t(w[1]);
  const bool empty = s.group_in == 0;  // image and kernel may have any extents then
  s.in_px = empty ? 0 : size_t(s.window.in_pixels());
  s.taps = empty ? 0 : size_t(s.window.taps());
  s.group_out = s.out_c / size_t(group);
  s.quads = ceil_div(s.group_in, size_t(4));
  const auto* filters = c.state<Filters>();
  s.joined = filters && joins_channels(filters->sums, s.group_in);
  s.k = FilterSizes{s.out_c, s.group_in, s.taps, s.joined}.k();
  return s;
}

namespace {

using kernels::CodeRow;
using kernels::Codes;

/// Gathers the patches of up to a panel of output positions, starting with `first`.
void gather(const Window& win, const uint32_t* image, size_t quads, int64_t first, int64_t count, uint32_t* to) {
  const int64_t width = int64_t(kernels::codes_panel_width()), taps = win.taps(), in_px = win.in_pixels();
  const int64_t stride = win.axes[win.rank == 0 ? 0 : win.rank - 1].stride;
  for_each_line(win, first, first + count, width, [&](int64_t p, int64_t n) {
    for_each_tap_of_line(win, p, n, [&](int64_t tap, int64_t pixel, int64_t j0, int64_t j1) {
      const uint32_t* from = image + pixel + j0 * stride;
      uint32_t* at = to + tap * width + p - first + j0;
      for (size_t q = 0; q < quads; ++q, from += in_px, at += taps * width) {
        if (stride == 1) {
          for (int64_t j = 0; j < j1 - j0; ++j) at[j] = from[j];
        } else {
          for (int64_t j = 0; j < j1 - j0; ++j) at[j] = from[j * stride];
        }
      }
    });
  });
}

/// The same for joined patches, whose bytes come from `channels` planes.
void gather_joined(const Window& win, const Codes& image, size_t channels, int64_t first, int64_t count, uint8_t* to) {
  const int64_t width = int64_t(kernels::codes_panel_width()), in_px = win.in_pixels();
  const int64_t stride = win.axes[win.rank == 0 ? 0 : win.rank - 1].stride;
  const uint8_t flip = image.is_signed ? 0x80 : 0;
  for_each_line(win, first, first + count, width, [&](int64_t p, int64_t n) {
    for_each_tap_of_line(win, p, n, [&](int64_t tap, int64_t pixel, int64_t j0, int64_t j1) {
      for (int64_t c = 0; c < int64_t(channels); ++c) {
        const uint8_t* from = image.bytes(size_t(c * in_px + pixel));
        const int64_t k = tap * int64_t(channels) + c;
        uint8_t* at = to + (k / 4 * width + p - first) * 4 + k % 4;
        for (int64_t j = j0; j < j1; ++j) at[j * 4] = from[j * stride] ^ flip;
      }
    });
  });
}

/// Makes the padding of k zero, so that no pair saturates by it; filters have their zero point there.
void clear_padding(uint8_t* codes, size_t k, size_t depth) {
  const size_t width = kernels::codes_panel_width();
  for (size_t i = k; i < depth; ++i) {
    for (size_t column = 0; column < width; ++column) codes[(i / 4 * width + column) * 4 + i % 4] = 0;
  }
}

bool is_padded(const Window& win) {
  const auto spatial = win.spatial();
  return std::any_of(spatial.begin(), spatial.end(),
                     [](const WindowAxis& a) { return a.pad_begin > 0 || a.at(a.out - 1, a.kernel - 1) >= a.in; });
}

}  // namespace

void CodesConv::check() const {
  WindowAttributes::check();
  require(group > 0, ErrorCode::invalid_argument, "group is {}", group);
}

std::unique_ptr<State> CodesConv::prepare_filters(PrepareContext& c, const Inputs& in, bool saturates) const {
  const Tensor *w = c.constant(in.w), *zero = c.constant(in.w_zero);
  if (!w || w->shape().rank() < 2 || w->count() == 0 || (c.has(in.w_zero) && !zero)) return nullptr;
  const size_t out_c = size_t(w->shape()[0]), channels = size_t(w->shape()[1]), taps = w->count() / out_c / channels;
  const bool depthwise = channels == 1 && int64_t(out_c) == group;
  saturates = saturates && ops::saturates(c.options(), *w) && !depthwise;
  if (has_few_filters(w->shape()) && !saturates) return nullptr;
  auto filters = std::make_unique<Filters>();
  if (saturates) filters->sums = kernels::CodesSums::saturating;
  const FilterSizes sizes{out_c, channels, taps, joins_channels(filters->sums, channels)};
  const Codes zeros = zero_points(zero, out_c, "w_zero_point");
  filters->codes = round_up(out_c * sizeof(CodeRow), 64);
  const size_t bytes = checked_add(filters->codes, kernels::codes_rows_bytes(out_c, sizes.k()), "packed weights");
  filters->memory = c.packed(bytes, [&](void* to) {
    auto* codes = static_cast<int8_t*>(to) + filters->codes;
    pack_filters(codes_of(*w), zeros, sizes, {static_cast<CodeRow*>(to), codes}, c.parallel());
  });
  c.release(in.w);
  return filters;
}

/// The scratch memory; with a null base, only its size is computed.
struct CodesConv::Memory {
  ScratchParts parts;
  uint32_t* image;
  CodeRow* rows;
  char* panels;  ///< one panel per worker
  size_t panel_bytes;
  int8_t* filters;
  Memory(const RunContext& c, const Sizes& s, size_t groups, void* base) : parts(base) {
    image = parts.take<uint32_t>(s.joined ? 0 : checked_mul(s.quads * groups, s.in_px, "image"));
    rows = parts.take<CodeRow>(s.out_c);
    panel_bytes = round_up(kernels::codes_panel_bytes(s.k), 128);
    panels = parts.take<char>(checked_mul(panel_bytes, size_t(c.parallel().workers()), "patches"));
    filters = parts.take<int8_t>(c.state<Filters>() ? 0 : kernels::codes_rows_bytes(s.out_c, s.k));
  }
};

/// Output lines are computed in strips. The part of the image under a strip is divided by the strides into planes in
/// which neighbours of a tap are adjacent, so that a strip is one run of sums; sums between its lines are dropped.
struct CodesConv::Strips {
  static constexpr int64_t kTaps = 64, kStride = 4, kSums = 8192, kReach = 4096;
  int64_t width = 0, lines = 0;  ///< width of one plane; number of lines in a strip
  int64_t plane = 0, planes = 0;
  size_t count = 0;  ///< number of strips; 0: the shape is not supported
  explicit Strips(const Window& win) {
    const WindowAxis &v = win.axes[0], &h = win.axes[1];
    const auto reach = [](const WindowAxis& a) { return (a.kernel - 1) * a.dilation; };
    const auto suits = [](const WindowAxis& a) {
      return a.kernel > 0 && a.kernel <= kTaps && a.stride <= kStride && a.out <= INT32_MAX &&
             a.dilation <= kReach / kTaps;
    };
    if (win.rank != 2 || !suits(v) || !suits(h) || v.kernel * h.kernel > kTaps) return;
    width = ceil_div((h.out - 1) * h.stride + reach(h) + 1, h.stride);
    if (width > kSums) return;
    lines = std::min(v.out, kSums / width);
    plane = ceil_div((lines - 1) * v.stride + reach(v) + 1, v.stride) * width;
    planes = v.stride * h.stride;
    count = size_t(ceil_div(v.out, lines));
  }
  size_t image_bytes() const { return size_t(plane * planes) + kernels::kCodeTapsStep; }
  size_t sums() const { return size_t(lines * width) + kernels::kCodeTapsStep; }
  size_t bytes() const { return round_up(image_bytes(), 64) + round_up(sums() * sizeof(int32_t), 128); }
  /// The position of row `r` of the strip and column `x` of the padded image.
  int64_t at(const Window& win, int64_t r, int64_t x) const {
    const int64_t v = win.axes[0].stride, h = win.axes[1].stride;
    return (r % v * h + x % h) * plane + r / v * width + x / h;
  }
  void fill(const Window& win, const uint8_t* image, uint8_t flip, int32_t zero, int64_t first, uint8_t* to) const;
};

/// Copies the part of a channel that is under output lines from `first` on.
void CodesConv::Strips::fill(const Window& win, const uint8_t* image, uint8_t flip, int32_t zero, int64_t first,
                             uint8_t* to) const {
  const WindowAxis &v = win.axes[0], &h = win.axes[1];
  std::memset(to, zero, image_bytes());
  const int64_t rows = plane / width * v.stride;
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t line = first * v.stride + r - v.pad_begin;
    if (!v.inside(line)) continue;
    for (int64_t phase = 0; phase < h.stride; ++phase) {
      const int64_t begin = std::max<int64_t>(0, ceil_div(h.pad_begin - phase, h.stride));
      const int64_t end = std::min(width, ceil_div(h.in + h.pad_begin - phase, h.stride));
      const uint8_t* from = image + line * h.in + phase - h.pad_begin;
      uint8_t* at = to + this->at(win, r, phase);
      if (h.stride == 1)
        for (int64_t j = begin; j < end; ++j) at[j] = from[j] ^ flip;
      else if (h.stride == 2)
        for (int64_t j = begin; j < end; ++j) at[j] = from[j * 2] ^ flip;
      else
        for (int64_t j = begin; j < end; ++j) at[j] = from[j * h.stride] ^ flip;
    }
  }
}

/// A channel with its padding, for windows that the processor multiplies directly.
struct CodesConv::PaddedPlane {
  size_t row_bytes, rows;
  explicit PaddedPlane(const Window& win) : row_bytes(size_t(extent(win.axes[1]))), rows(size_t(extent(win.axes[0]))) {}
  static int64_t extent(const WindowAxis& a) { return std::max((a.out - 1) * a.stride + a.kernel, a.pad_begin + a.in); }
  static bool suits(const Window& win) {
    return win.rank == 2 && kernels::has_code_windows() && std::ranges::all_of(win.spatial(), [](const WindowAxis& a) {
             return a.kernel > 0 && a.kernel <= int64_t(kernels::CodeWindow::kColumns) && a.stride <= 2 &&
                    a.dilation == 1 && a.pad_begin >= 0 && a.pad_begin < a.kernel;
           });
  }
  size_t bytes() const { return round_up(row_bytes * rows + kernels::CodeWindow::kSurplus, 128); }
  void fill(const Window& win, const uint8_t* image, uint8_t flip, int32_t zero, uint8_t* to) const {
    const WindowAxis &v = win.axes[0], &h = win.axes[1];
    std::memset(to, zero, bytes());
    to += size_t(v.pad_begin) * row_bytes + size_t(h.pad_begin);
    for (int64_t i = 0; i < v.in; ++i, to += row_bytes, image += h.in) {
      if (flip == 0) {
        std::memcpy(to, image, size_t(h.in));
      } else {
        for (int64_t j = 0; j < h.in; ++j) to[j] = image[j] ^ flip;
      }
    }
  }
};

/// Whether each channel has few filters, so that a product of matrices would have few rows.
bool CodesConv::has_few_filters(const Shape& w) const {
  constexpr int64_t kFewFilters = 8;
  return (w.rank() == 3 || w.rank() == 4) && w[1] == 1 && w[0] / group <= kFewFilters;
}
bool CodesConv::by_planes(const RunContext& c, const Inputs& in) const {
  return !c.state<Filters>() && has_few_filters(c.shape(in.w));
}

size_t CodesConv::scratch_bytes(const RunContext& c, const Inputs& in) const {
  if (c.out_count() == 0) return 0;
  const Sizes s = sizes(c, in);
  if (const Strips strips(s.window); by_planes(c, in) && strips.count > 0) {
    const size_t padded = PaddedPlane::suits(s.window) ? PaddedPlane(s.window).bytes() : 0;
    return checked_mul(std::max(strips.bytes(), padded), size_t(c.parallel().workers()), "planes");
  }
  return Memory(c, s, size_t(group), nullptr).parts.bytes();
}

void CodesConv::convolve(const RunContext& c, const Inputs& in, kernels::CodesResult y, Finish finish) const {
  if (c.out_count() == 0) return;
  const Sizes s = sizes(c, in);
  y.stride = s.out_px;
  if (by_planes(c, in) && Strips(s.window).count > 0) return convolve_planes(c, in, s, y, finish);
  convolve_panels(c, in, s, y, finish);
}

void CodesConv::convolve_windows(const RunContext& c, const Inputs& in, const Sizes& s, const kernels::CodesResult& y,
                                 Finish finish) const {
  const PaddedPlane padded(s.window);
  const Codes x = codes_of(c, in.x), x_zero = zero_points(c, in.x_zero, 1, "x_zero_point");
  const auto* w = static_cast<const int8_t*>(c.data(in.w));
  const int32_t fill = kernels::zero_of_a(x, x_zero[0]) + 128;
  const WindowAxis &v = s.window.axes[0], &h = s.window.axes[1];
  c.parallel().for_each(s.batch * s.in_c, [&](size_t task, int worker) {
    auto* plane = static_cast<uint8_t*>(c.scratch()) + size_t(worker) * padded.bytes();
    padded.fill(s.window, x.bytes(task * s.in_px), x.is_signed ? 0x80 : 0, fill, plane);
    const size_t channel = task % s.in_c, n = task / s.in_c;
    for (size_t o = channel * s.group_out; o < (channel + 1) * s.group_out; ++o) {
      int8_t weights[kernels::CodeWindow::kColumns][kernels::CodeWindow::kColumns] = {};
      int32_t total = 0;
      for (int64_t i = 0; i < v.kernel; ++i) {
        for (int64_t j = 0; j < h.kernel; ++j) total += weights[i][j] = w[o * s.taps + size_t(i * h.kernel + j)];
      }
      CodeRow row;
      finish(row, o);
      row.bias = int32_t(uint32_t(row.bias) - uint32_t(total * fill));
      const kernels::CodeWindow window{.x = plane,
                                       .row_bytes = padded.row_bytes,
                                       .weights = weights,
                                       .rows = size_t(v.kernel),
                                       .columns = size_t(h.kernel),
                                       .row_stride = size_t(v.stride),
                                       .column_stride = size_t(h.stride)};
      kernels::multiply_code_window(window, row, y, size_t(v.out), size_t(h.out), (n * s.out_c + o) * s.out_px);
    }
  });
}

/// Whether all filters have signed codes with zero points that are 0.
bool CodesConv::signed_filters(const RunContext& c, const Inputs& in, size_t channels) const {
  if (c.dtype(in.w) != DType::i8) return false;
  const Codes zeros = zero_points(c, in.w_zero, channels, "w_zero_point");
  for (size_t o = 0; zeros.data && o < std::min(zeros.count, channels); ++o)
    if (zeros[o] != 0) return false;
  return true;
}

void CodesConv::convolve_planes(const RunContext& c, const Inputs& in, const Sizes& s, kernels::CodesResult y,
                                Finish finish) const {
  if (PaddedPlane::suits(s.window) && signed_filters(c, in, s.out_c)) return convolve_windows(c, in, s, y, finish);
  const Strips strips(s.window);
  const Codes x = codes_of(c, in.x), x_zero = zero_points(c, in.x_zero, 1, "x_zero_point");
  const Codes w = codes_of(c, in.w), w_zero = zero_points(c, in.w_zero, s.out_c, "w_zero_point");
  const int32_t fill = kernels::zero_of_a(x, x_zero[0]) + 128;
  const WindowAxis &v = s.window.axes[0], &h = s.window.axes[1];
  size_t offsets[Strips::kTaps];
  for (int64_t tap = 0; tap < int64_t(s.taps); ++tap)
    offsets[tap] = size_t(strips.at(s.window, tap / h.kernel * v.dilation, tap % h.kernel * h.dilation));
  c.parallel().for_each(s.batch * s.in_c * strips.count, [&](size_t task, int worker) {
    const size_t channel = task / strips.count % s.in_c, n = task / strips.count / s.in_c;
    const int64_t first = int64_t(task % strips.count) * strips.lines, lines = std::min(strips.lines, v.out - first);
    auto* image = static_cast<uint8_t*>(c.scratch()) + size_t(worker) * strips.bytes();
    auto* sums = reinterpret_cast<int32_t*>(image + round_up(strips.image_bytes(), 64));
    strips.fill(s.window, x.bytes((n * s.in_c + channel) * s.in_px), x.is_signed ? 0x80 : 0, fill, first, image);
    for (size_t o = channel * s.group_out; o < (channel + 1) * s.group_out; ++o) {
      int32_t weights[Strips::kTaps], total = 0;
      for (size_t tap = 0; tap < s.taps; ++tap) total += weights[tap] = w[o * s.taps + tap] - w_zero[o];
      CodeRow row;
      finish(row, o);
      row.bias = int32_t(uint32_t(row.bias) - uint32_t(total * fill));
      kernels::sum_code_taps({image, offsets, weights, s.taps}, size_t((lines - 1) * strips.width + h.out), sums);
      for (int64_t line = 0; line < lines; ++line)
        kernels::finish_codes(row, y, sums + line * strips.width, size_t(h.out),
                              (n * s.out_c + o) * s.out_px + size_t((first + line) * h.out));
    }
  });
}

/// Sets memory.rows. Returns the filters, and whether any of them has a zero point other than 0.
std::pair<const int8_t*, bool> CodesConv::rows_of(const RunContext& c, const Inputs& in, const Sizes& s,
                                                  const Memory& memory, Finish finish) const {
  const int8_t* filters = memory.filters;
  const Codes zero = zero_points(c, in.w_zero, s.out_c, "w_zero_point");
  if (const auto* packed = c.state<Filters>()) {
    const char* base = static_cast<const char*>(packed->memory.get());
    std::memcpy(memory.rows, base, s.out_c * sizeof(CodeRow));
    filters = reinterpret_cast<const int8_t*>(base + packed->codes);
  } else {
    pack_filters(codes_of(c, in.w), zero, {s.out_c, s.group_in, s.taps, s.joined}, {memory.rows, memory.filters},
                 c.parallel());
  }
  bool zeros = false;
  for (size_t o = 0; o < s.out_c; ++o) {
    zeros |= memory.rows[o].zero != 0;
    finish(memory.rows[o], o);
  }
  return {filters, zeros};
}

void CodesConv::convolve_panels(const RunContext& c, const Inputs& in, const Sizes& s, kernels::CodesResult y,
                                Finish finish) const {
  const Memory memory(c, s, size_t(group), c.scratch());
  const Codes x = codes_of(c, in.x), x_zero = zero_points(c, in.x_zero, 1, "x_zero_point");
  const kernels::CodesSums sums = c.state<Filters>() ? c.state<Filters>()->sums : kernels::CodesSums::exact;
  const std::pair rows = rows_of(c, in, s, memory, finish);
  const int8_t* const filters = rows.first;
  const bool zeros = rows.second;  // clang 14 cannot capture structured bindings
  const int32_t fill = kernels::zero_of_a(x, x_zero[0]) + 128;
  const bool padded = is_padded(s.window);
  const size_t depth = kernels::codes_depth(s.k), width = kernels::codes_panel_width();
  const size_t header = kernels::codes_panel_bytes(s.k) - depth * width, panels = ceil_div(s.out_px, width);
  const size_t per_task = std::clamp<size_t>(panels / 8, 1, 16), tasks = ceil_div(panels, per_task);
  const size_t element = y.is_codes ? 1 : sizeof(int32_t);
  for (size_t n = 0; n < s.batch && !c.parallel().cancelled(); ++n) {
    c.parallel().for_each(s.joined ? 0 : s.quads * size_t(group), [&](size_t quad, int) {
      const size_t channel = quad / s.quads * s.group_in + quad % s.quads * 4;
      const size_t count = std::min<size_t>(4, (quad / s.quads + 1) * s.group_in - channel);
      const uint8_t* runs[4] = {};
      for (size_t i = 0; i < count; ++i) runs[i] = x.bytes((n * s.in_c + channel + i) * s.in_px);
      kernels::interleave_codes(x, runs, s.in_px, memory.image + quad * s.in_px);
    });
    c.parallel().for_each(tasks * size_t(group), [&](size_t task, int worker) {
      const size_t g = task / tasks, begin = task % tasks * per_task * width;
      const size_t end = std::min(begin + per_task * width, s.out_px);
      char* panel = memory.panels + size_t(worker) * memory.panel_bytes;
      auto* codes = reinterpret_cast<uint32_t*>(panel + header);
      kernels::GemmCodesArgs args{.m = s.group_out, .k = s.k, .a = filters + g * s.group_out * depth};
      args.rows = memory.rows + g * s.group_out;
      args.packed_b = panel;
      args.same_zero = true;
      args.sums = sums;
      args.c = y;
      for (size_t p = begin; p < end && !c.parallel().cancelled(); p += width) {
        args.n = std::min(width, end - p);
        if (padded || args.n < width) std::memset(codes, fill, depth * width);
        clear_padding(reinterpret_cast<uint8_t*>(codes), s.k, depth);
        if (s.joined)
          gather_joined(s.window, {x.bytes((n * s.in_c + g * s.group_in) * s.in_px), x.is_signed}, s.group_in,
                        int64_t(p), int64_t(args.n), reinterpret_cast<uint8_t*>(codes));
        else if (s.k > 0)
          gather(s.window, memory.image + g * s.quads * s.in_px, s.quads, int64_t(p), int64_t(args.n), codes);
        kernels::finish_code_panel(panel, s.k, fill, zeros);
        args.c.data = static_cast<char*>(y.data) + ((n * s.out_c + g * s.group_out) * s.out_px + p) * element;
        kernels::gemm_codes_block(args, 0, s.group_out, 0, args.n);
      }
    });
  }
}

}  // namespace retort::ops
