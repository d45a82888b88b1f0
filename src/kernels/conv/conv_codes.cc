#include "kernels/conv/conv_codes.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "kernels/conv/conv_codes_parts.h"

namespace retort::kernels {
namespace {

using codes_detail::CodesDepthwise;
using codes_detail::CodesProduct;
using codes_detail::PixelForm;

constexpr size_t kFewChannels = 4;  ///< of an image with its channels first

bool is_depthwise(const ConvShape& s) { return s.groups > 1; }

/// A row of the product is a patch of the image. Its parts are contiguous in the image: kernel rows, or taps if columns
/// are dilated. Each part is padded to quads.
struct Patch {
  size_t parts, columns, bytes, padded;
  explicit Patch(const ConvShape& s) {
    const bool dilated = s.kernel_w > 1 && s.dilation_w > 1;
    parts = s.kernel_h * (dilated ? s.kernel_w : 1);
    columns = dilated ? 1 : s.kernel_w;  ///< of the kernel, in a part
    bytes = checked_mul(columns, s.in_c, "patch");
    padded = round_up(bytes, 4);
  }
  size_t depth() const { return checked_mul(parts, padded, "patch"); }
};

/// Whether the pixels themselves are the rows of the product.
bool reads_in_place(const ConvShape& s) {
  return s.kernel_h * s.kernel_w == 1 && s.stride_h * s.stride_w == 1 && s.pad_top + s.pad_left == 0 &&
         s.in_h == s.out_h && s.in_w == s.out_w && s.in_c % 4 == 0 && !s.input_is_nchw;
}

/// The division of a product into tasks, by shapes and the instruction level alone.
struct Tasks {
  size_t rows, row_blocks, columns, column_groups;
  explicit Tasks(const ConvShape& s) {
    // A task takes at least about 3 µs. Patches stay in the second-level cache, and are gathered for at least 128
    // columns, which costs 3 % of the product. Fewer than 64 rows would read the filters too often.
    constexpr size_t kTaskMacs = 1 << 20, kMostTasks = 32, kBlockBytes = 256 << 10, kLeastRows = 64;
    constexpr size_t kGatheredColumns = 128;
    const size_t depth = Patch(s).depth(), width = codes_panel_width(), panels = ceil_div(s.out_c, width);
    const size_t pixels = s.out_pixels(), macs = pixels * depth * panels * width;
    const size_t wanted = std::clamp<size_t>(macs / kTaskMacs, 1, kMostTasks);
    const size_t most = std::max(kLeastRows, kBlockBytes / std::max<size_t>(depth, 1));
    row_blocks = ceil_div(pixels, std::clamp(ceil_div(pixels, wanted), kLeastRows, most));
    rows = ceil_div(pixels, row_blocks);
    const size_t least = reads_in_place(s) ? 1 : std::max<size_t>(1, kGatheredColumns / width);
    const size_t groups = std::clamp<size_t>(panels / least, 1, ceil_div(wanted, row_blocks));
    columns = ceil_div(panels, groups) * width;
    column_groups = ceil_div(s.out_c, columns);
  }
};

/// memcpy for lengths that are often short: a call would take longer than the copying.
void copy_run(const uint8_t* from, size_t n, uint8_t* to) {
  constexpr size_t kStep = 16, kShort = 512;
  if (n < kStep || n > kShort) {
    std::memcpy(to, from, n);
    return;
  }
  for (size_t i = 0; i + kStep <= n; i += kStep) std::memcpy(to + i, from + i, kStep);
  std::memcpy(to + n - kStep, from + n - kStep, kStep);
}

/// Images whose patches are gathered.
struct Images {
  const uint8_t* data;
  size_t pixel_stride;
  uint8_t outside;
};

void gather_patch(const ConvShape& s, const Patch& patch, const Images& images, size_t pixel, uint8_t* to) {
  const size_t x = pixel % s.out_w, y = pixel / s.out_w % s.out_h, b = pixel / s.out_w / s.out_h;
  const bool dense = images.pixel_stride == s.in_c;
  for (size_t part = 0; part < patch.parts; ++part, to += patch.padded) {
    const size_t per_row = patch.parts / s.kernel_h;
    const size_t row = y * s.stride_h + part / per_row * s.dilation_h - s.pad_top;  // wraps around outside the image
    const auto left = ptrdiff_t(x * s.stride_w + part % per_row * s.dilation_w) - ptrdiff_t(s.pad_left);
    const auto begin = size_t(std::clamp<ptrdiff_t>(-left, 0, ptrdiff_t(patch.columns)));
    const auto end =
        size_t(std::clamp<ptrdiff_t>(ptrdiff_t(s.in_w) - left, ptrdiff_t(begin), ptrdiff_t(patch.columns)));
    if (row >= s.in_h || end - begin < patch.columns || patch.padded > patch.bytes)
      std::memset(to, images.outside, patch.padded);
    if (row >= s.in_h || begin == end) continue;
    const uint8_t* from =
        images.data + ((b * s.in_h + row) * s.in_w + size_t(left + ptrdiff_t(begin))) * images.pixel_stride;
    if (dense) {
      copy_run(from, (end - begin) * s.in_c, to + begin * s.in_c);
      continue;
    }
    for (size_t i = begin; i < end; ++i, from += images.pixel_stride) copy_run(from, s.in_c, to + i * s.in_c);
  }
}

/// The working memory of a product: the image with its channels last, and the patches of each worker.
struct Memory {
  size_t image, patches;
  Memory(const ConvShape& s) {
    image = s.input_is_nchw ? round_up(checked_mul(s.batch * s.in_h * s.in_w, s.in_c, "image"), 64) : 0;
    patches = reads_in_place(s) ? 0 : round_up(checked_mul(Tasks(s).rows, Patch(s).depth(), "patches"), 128);
  }
};

PixelForm form_of(const ConvCodesArgs& a) {
  return {.flip = uint8_t(a.input_signed ? 0x80 : 0), .result_signed = a.output_signed, .result_zero = a.output_zero};
}

void convolve_product(const ConvCodesArgs& a, void* scratch, const Parallel& par) {
  const ConvShape& s = a.shape;
  const Patch patch(s);
  const Tasks tasks(s);
  const Memory memory(s);
  Images images{a.input, s.in_pixel_stride, a.input_zero};
  if (s.input_is_nchw) {
    images = {static_cast<uint8_t*>(scratch), s.in_c, a.input_zero};
    const size_t pixels = s.in_h * s.in_w;
    par.for_each(s.batch, [&](size_t b, int) {
      const size_t at = b * pixels * s.in_c;
      codes_detail::interleave_planes(a.input + at, s.in_c, pixels, static_cast<uint8_t*>(scratch) + at);
    });
  }
  const bool in_place = reads_in_place(s);
  const size_t depth = patch.depth(), pixels = s.out_pixels();
  par.for_each(tasks.row_blocks * tasks.column_groups, [&](size_t task, int worker) {
    const size_t first = task / tasks.column_groups * tasks.rows, rows = std::min(tasks.rows, pixels - first);
    const size_t n = task % tasks.column_groups * tasks.columns;
    CodesProduct p{.form = form_of(a), .rows = rows, .columns = std::min(tasks.columns, s.out_c - n), .depth = depth};
    p.filters = a.packed + n * depth;
    p.bias = a.bias + n;
    p.scale = a.scale + n;
    p.offset = a.offset + n;
    p.y = a.output + first * s.out_pixel_stride + n;
    p.y_stride = s.out_pixel_stride;
    p.a = a.input + first * s.in_pixel_stride;
    p.a_stride = s.in_pixel_stride;
    if (!in_place) {
      uint8_t* patches = static_cast<uint8_t*>(scratch) + memory.image + size_t(worker) * memory.patches;
      for (size_t i = 0; i < rows; ++i) gather_patch(s, patch, images, first + i, patches + i * depth);
      p.a = patches;
      p.a_stride = depth;
    }
    codes_detail::multiply_codes(p);
  });
}

void convolve_depthwise(const ConvCodesArgs& a, void* scratch, const Parallel& par) {
  const ConvShape& s = a.shape;
  constexpr size_t kTaskResults = 64 << 10, kMostTasks = 32;
  const size_t block = codes_detail::depthwise_block(), blocks = ceil_div(s.out_c, block);
  const size_t wanted = std::clamp<size_t>(s.out_pixels() * blocks * block / kTaskResults, 1, kMostTasks);
  const size_t parts = std::min(s.out_h, ceil_div(wanted, s.batch * blocks)), lines = ceil_div(s.out_h, parts);
  const size_t per_image = ceil_div(s.out_h, lines) * blocks;
  const size_t quads = round_up(codes_detail::depthwise_quads_bytes(s), 128);
  const size_t filters = round_up(s.kernel_h, 4) * s.kernel_w * block;
  par.for_each(s.batch * per_image, [&](size_t task, int worker) {
    const size_t b = task / per_image, channel = task % blocks * block;
    CodesDepthwise w{.form = form_of(a), .shape = &s, .channels = std::min(block, s.out_c - channel)};
    w.image = a.input + b * s.in_h * s.in_w * s.in_pixel_stride + channel;
    w.outside = a.input_zero;
    w.filters = a.packed + channel / block * filters;
    w.bias = a.bias + channel;
    w.scale = a.scale + channel;
    w.offset = a.offset + channel;
    w.y = a.output + b * s.out_h * s.out_w * s.out_pixel_stride + channel;
    w.first = task % per_image / blocks * lines;
    w.lines = std::min(lines, s.out_h - w.first);
    w.quads = static_cast<uint8_t*>(scratch) + size_t(worker) * quads;
    codes_detail::convolve_code_lines(w);
  });
}

void pack_depthwise(const ConvShape& s, const int8_t* filters, int8_t* to) {
  const size_t block = codes_detail::depthwise_block();
  for (size_t first = 0; first < s.out_c; first += block) {
    for (size_t k = 0; k < s.kernel_h; k += 4) {
      for (size_t j = 0; j < s.kernel_w; ++j, to += 4 * block) {
        for (size_t place = 0; place < block; ++place) {
          const size_t channel = first + codes_detail::depthwise_channel(place);
          for (size_t i = k; i < std::min(k + 4, s.kernel_h) && channel < s.out_c; ++i)
            to[place * 4 + i - k] = filters[(channel * s.kernel_h + i) * s.kernel_w + j];
        }
      }
    }
  }
}

void pack_panels(const ConvShape& s, const int8_t* filters, int8_t* to) {
  const Patch patch(s);
  const size_t width = codes_panel_width(), taps = s.kernel_h * s.kernel_w, depth = patch.depth();
  for (size_t o = 0; o < s.out_c; ++o) {
    int8_t* column = to + o / width * width * depth + o % width * 4;
    for (size_t tap = 0; tap < taps; ++tap) {
      const size_t start = tap / patch.columns * patch.padded + tap % patch.columns * s.in_c;
      for (size_t c = 0; c < s.in_c; ++c)
        column[(start + c) / 4 * 4 * width + (start + c) % 4] = filters[(o * s.in_c + c) * taps + tap];
    }
  }
}

}  // namespace

bool suits_conv_codes(const ConvShape& s) {
  if (s.kernel_h * s.kernel_w * s.in_c * s.out_c == 0) return false;
  if (is_depthwise(s)) return s.groups == s.in_c && s.groups == s.out_c && !s.input_is_nchw;
  return !s.input_is_nchw || s.in_c <= kFewChannels;
}

size_t conv_codes_places(const ConvShape& s) {
  return round_up(s.out_c, is_depthwise(s) ? codes_detail::depthwise_block() : codes_panel_width());
}
size_t conv_codes_channel(const ConvShape& s, size_t place) {
  if (!is_depthwise(s)) return place;
  const size_t block = codes_detail::depthwise_block();
  return place / block * block + codes_detail::depthwise_channel(place % block);
}

int32_t conv_codes_zero(int32_t zero, bool is_signed) {
#if defined(__aarch64__)  // its products are those of signed codes
  return is_signed ? zero : zero - 128;
#else
  return is_signed ? zero + 128 : zero;
#endif
}

size_t conv_codes_packed_bytes(const ConvShape& s) {
  const size_t depth = is_depthwise(s) ? round_up(s.kernel_h, 4) * s.kernel_w : Patch(s).depth();
  return checked_mul(conv_codes_places(s), depth, "filters");
}
void pack_conv_codes(const ConvShape& s, const int8_t* filters, void* packed) noexcept {
  auto* to = static_cast<int8_t*>(packed);
  is_depthwise(s) ? pack_depthwise(s, filters, to) : pack_panels(s, filters, to);
}

size_t conv_codes_scratch_bytes(const ConvShape& s, int workers) {
  if (s.out_pixels() == 0) return 0;
  if (is_depthwise(s))
    return checked_mul(round_up(codes_detail::depthwise_quads_bytes(s), 128), size_t(workers), "lines");
  const Memory memory(s);
  return checked_add(memory.image, checked_mul(memory.patches, size_t(workers), "patches"), "patches");
}

void conv_codes(const ConvCodesArgs& args, void* scratch, const Parallel& par) noexcept {
  if (args.shape.out_pixels() == 0) return;
  is_depthwise(args.shape) ? convolve_depthwise(args, scratch, par) : convolve_product(args, scratch, par);
}

}  // namespace retort::kernels
