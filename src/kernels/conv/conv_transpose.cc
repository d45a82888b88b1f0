#include "kernels/conv/conv_transpose.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"
#include "kernels/conv/conv_plan.h"
#include "kernels/conv/conv_transpose_plan.h"
#include "kernels/conv/groups.h"

namespace retort::kernels {
namespace {

struct Axis {
  size_t out, kernel, stride, dilation, pad;
};

// One phase of one axis: outputs `first`, first + stride, …; a convolution with `taps` taps, which run backwards
// through the kernel from `last_tap` in steps of `tap_step`.
struct Phase {
  size_t first = 0, count = 0;
  size_t taps = 0, last_tap = 0, tap_step = 1;
  size_t dilation = 1;
  size_t pad = 0;  // modulo 2^64: the first tap of the first output may be after the first input
};

Phase make_phase(const Axis& a, size_t first) {
  Phase p;
  p.first = first;
  p.count = first < a.out ? ceil_div(a.out - first, a.stride) : 0;
  const size_t shared = std::gcd(a.stride, a.dilation);
  p.tap_step = a.stride / shared;
  p.dilation = a.dilation / shared;
  for (size_t k = 0; k < a.kernel; ++k) {
    if (k * a.dilation % a.stride != (first + a.pad) % a.stride) continue;
    ++p.taps;
    p.last_tap = k;
  }
  const ptrdiff_t ahead = ptrdiff_t(p.last_tap * a.dilation) - ptrdiff_t(first + a.pad);
  p.pad = size_t(ahead / ptrdiff_t(a.stride));  // exact if the phase has a tap
  return p;
}

struct Phases {
  Phase y, x;
  const float* packed = nullptr;
};

Phases phases_of(const ConvTransposeShape& s, size_t index) {
  const Axis rows{s.out_h, s.kernel_h, s.stride_h, s.dilation_h, s.pad_top};
  const Axis columns{s.out_w, s.kernel_w, s.stride_w, s.dilation_w, s.pad_left};
  return {make_phase(rows, index / s.stride_w), make_phase(columns, index % s.stride_w), nullptr};
}

size_t phase_count(const ConvTransposeShape& s) { return s.stride_h * s.stride_w; }

// The convolution that computes row y of a phase.
ConvShape phase_shape(const ConvTransposeShape& s, const Phases& p, size_t y) {
  ConvShape c;
  c.in_h = s.in_h, c.in_w = s.in_w, c.in_c = s.in_c, c.out_c = s.out_c, c.groups = s.groups;
  c.out_w = p.x.count;
  c.kernel_h = p.y.taps, c.kernel_w = p.x.taps;
  c.dilation_h = p.y.dilation, c.dilation_w = p.x.dilation;
  c.pad_top = p.y.pad - y, c.pad_left = p.x.pad;
  c.in_pixel_stride = s.in_pixel_stride;
  c.out_pixel_stride = s.stride_w * s.out_pixel_stride;
  return c;
}

// The only input line that a row reads if its kernel has one line; in_h if that lies outside of the image, and for other
// kernels.
size_t only_line(const ConvShape& row) {
  return row.kernel_h == 1 ? std::min(size_t(0) - row.pad_top, row.in_h) : row.in_h;
}

// The same convolution as one of an image of a single line: that of a single tap then gathers no patches.
ConvShape of_one_line(ConvShape row) {
  row.in_h = 1;
  row.pad_top = 0;
  return row;
}

// The weights of every phase are packed for the plain order of sums.
ConvAlgorithm algorithm_of(const ConvShape& row) {
  ConvAlgorithm chosen = choose_conv(row, true);
  // Rows of a phase must not differ in their algorithm, nor in whether they copy inputs (row_scratch_bytes).
  if ((chosen == ConvAlgorithm::inside || chosen == ConvAlgorithm::windows) && row.out_h == 1)
    chosen = conv_detail::suits_strips(row) ? ConvAlgorithm::strips : ConvAlgorithm::rows;
  const bool known = chosen == ConvAlgorithm::depthwise || chosen == ConvAlgorithm::groups;
  return row.groups == 1 || known ? chosen : ConvAlgorithm::grouped;
}

// Computes row y of one phase of one image.
void run_row(const ConvTransposeArgs& args, const Phases& p, size_t image, size_t y, void* scratch,
             const Parallel& par) {
  const ConvTransposeShape& s = args.shape;
  const size_t out_pixel = (image * s.out_h + p.y.first + y * s.stride_h) * s.out_w + p.x.first;
  ConvArgs row;
  row.shape = phase_shape(s, p, y);
  row.input = args.input + image * s.in_h * s.in_w * s.in_pixel_stride;
  if (const size_t line = only_line(row.shape); line < s.in_h) {
    row.shape = of_one_line(row.shape);
    row.input += line * s.in_w * s.in_pixel_stride;
  }
  row.algorithm = algorithm_of(row.shape);
  row.packed = p.packed;
  row.output = args.output + out_pixel * s.out_pixel_stride;
  row.epilogue = args.epilogue;
  if (row.epilogue.residual) row.epilogue.residual += out_pixel * args.epilogue.residual_stride;
  row.epilogue.residual_stride *= s.stride_w;
  conv(row, scratch, par);
}

// Packs one phase: rows (tap, channel) of each panel of columns.
void pack_phase(const ConvTransposeShape& s, const Phases& p, const float* weights, float* packed,
                const Parallel& run) {
  const size_t width = gemm_panel_width();
  const size_t group_in = s.in_c / s.groups, group_out = s.out_c / s.groups;
  const size_t filter = s.kernel_h * s.kernel_w;
  const ConvShape row = phase_shape(s, p, 0);
  const size_t first = p.y.last_tap * s.kernel_w + p.x.last_tap;
  const size_t down = size_t(0) - p.y.tap_step * s.kernel_w, across = size_t(0) - p.x.tap_step;
  const ConvAlgorithm algorithm = algorithm_of(row);
  if (algorithm == ConvAlgorithm::depthwise)
    return conv_detail::depthwise_pack(row, {weights, filter, first, down, across}, packed);
  if (algorithm == ConvAlgorithm::groups) {
    const size_t input = group_out * filter;
    return conv_detail::groups_pack(row, {weights, group_in * input, filter, input, first, down, across}, packed, run);
  }
  for (size_t panel = 0; panel < s.groups * ceil_div(group_out, width) && !run.cancelled(); ++panel) {
    const size_t group = panel / ceil_div(group_out, width), n = panel % ceil_div(group_out, width) * width;
    const float* from = weights + (group * group_in * group_out + n) * filter;
    for (size_t tap = 0; tap < p.y.taps * p.x.taps; ++tap, packed += group_in * width) {
      const size_t ky = p.y.last_tap - tap / p.x.taps * p.y.tap_step;
      const size_t kx = p.x.last_tap - tap % p.x.taps * p.x.tap_step;
      gemm_pack_b(from + ky * s.kernel_w + kx, group_out * filter, filter, group_in, std::min(width, group_out - n),
                  packed);
    }
  }
}

size_t phase_packed_bytes(const ConvTransposeShape& s, size_t phase) {
  const ConvShape row = phase_shape(s, phases_of(s, phase), 0);
  return conv_packed_bytes(row, algorithm_of(row));
}

size_t row_scratch_bytes(const ConvTransposeShape& s, int workers) {
  size_t bytes = 0;
  for (size_t i = 0; i < phase_count(s); ++i) {
    const Phases p = phases_of(s, i);
    // Rows of a phase differ in their top padding. Only an image of one row has another algorithm for a row without
    // any.
    const size_t rows = s.in_h == 1 ? std::max<size_t>(p.y.count, 1) : 1;
    for (size_t y = 0; y < rows; ++y) {
      const ConvShape row = phase_shape(s, p, y);
      for (const ConvShape& c : {row, of_one_line(row)})
        bytes = std::max(bytes, conv_scratch_bytes(c, algorithm_of(c), workers));
    }
  }
  return round_up(bytes, 128);
}

// Without strides, there is one phase, whose rows follow each other in the output: it is one convolution, which knows
// that many taps of small images are outside (ConvAlgorithm::inside).
bool is_convolution(const ConvTransposeShape& s) { return phase_count(s) == 1; }

ConvShape image_shape(const ConvTransposeShape& s) {
  ConvShape image = phase_shape(s, phases_of(s, 0), 0);
  image.batch = s.batch;
  image.out_h = s.out_h;
  return image;
}

size_t image_scratch_bytes(const ConvTransposeShape& s, int workers) {
  const ConvShape image = image_shape(s);
  return conv_scratch_bytes(image, algorithm_of(image), workers);
}

void run_image(const ConvTransposeArgs& args, void* scratch, const Parallel& par) {
  ConvArgs image;
  image.shape = image_shape(args.shape);
  image.algorithm = algorithm_of(image.shape);
  image.input = args.input;
  image.packed = args.packed;
  image.output = args.output;
  image.epilogue = args.epilogue;
  conv(image, scratch, par);
}

// A single row is distributed over the pool by conv itself; of several rows, each is a task.
bool one_row(const ConvTransposeShape& s) { return s.out_h * s.batch == 1; }

}  // namespace

size_t conv_transpose_packed_bytes(const ConvTransposeShape& s) {
  if (conv_detail::suits_columns(s)) return conv_detail::columns_packed_bytes(s);
  size_t bytes = 0;
  for (size_t i = 0; i < phase_count(s); ++i) bytes += phase_packed_bytes(s, i);
  return bytes;
}

void conv_transpose_pack(const ConvTransposeShape& s, const float* weights, float* packed,
                         const Parallel& run) noexcept {
  if (conv_detail::suits_columns(s)) return conv_detail::columns_pack(s, weights, packed);
  for (size_t i = 0; i < phase_count(s); ++i) {
    pack_phase(s, phases_of(s, i), weights, packed, run);
    packed += phase_packed_bytes(s, i) / sizeof(float);
  }
}

size_t conv_transpose_scratch_bytes(const ConvTransposeShape& s, int workers) {
  if (conv_detail::suits_columns(s)) return conv_detail::columns_scratch_bytes(s, workers);
  if (is_convolution(s)) return image_scratch_bytes(s, workers);
  return one_row(s) ? row_scratch_bytes(s, workers) : row_scratch_bytes(s, 1) * size_t(workers);
}

void conv_transpose(const ConvTransposeArgs& args, void* scratch, const Parallel& par) noexcept {
  const ConvTransposeShape& s = args.shape;
  if (conv_detail::suits_columns(s)) return conv_detail::conv_transpose_columns(args, scratch, par);
  if (is_convolution(s)) return run_image(args, scratch, par);
  const size_t worker_bytes = row_scratch_bytes(s, 1);
  const float* packed = args.packed;
  for (size_t phase = 0; phase < phase_count(s); ++phase) {
    Phases p = phases_of(s, phase);
    p.packed = packed;
    if (one_row(s)) {
      if (p.y.count > 0) run_row(args, p, 0, 0, scratch, par);
    } else {
      par.for_each(s.batch * p.y.count, [&](size_t task, int worker) {
        char* own = static_cast<char*>(scratch) + size_t(worker) * worker_bytes;
        run_row(args, p, task / p.y.count, task % p.y.count, own, Parallel());
      });
    }
    packed += phase_packed_bytes(s, phase) / sizeof(float);
  }
}

void conv_transpose_reference(const ConvTransposeArgs& args, const float* weights) noexcept {
  const ConvTransposeShape& s = args.shape;
  const Epilogue& e = args.epilogue;
  const size_t group_in = s.in_c / s.groups, group_out = s.out_c / s.groups, taps = s.kernel_h * s.kernel_w;
  for (size_t i = 0; i < s.batch * s.out_h * s.out_w * s.out_c; ++i) {
    const size_t o = i % s.out_c, pixel = i / s.out_c, x = pixel % s.out_w, y = pixel / s.out_w % s.out_h;
    const size_t image = pixel / s.out_w / s.out_h;
    double sum = e.bias ? double(e.bias[o]) : 0;
    if (e.residual) sum += double(e.residual[pixel * e.residual_stride + o]);
    for (size_t t = 0; t < taps; ++t) {
      const size_t at_y = y + s.pad_top - t / s.kernel_w * s.dilation_h;  // wraps around if no input reaches it
      const size_t at_x = x + s.pad_left - t % s.kernel_w * s.dilation_w;
      if (at_y % s.stride_h != 0 || at_x % s.stride_w != 0) continue;
      if (at_y / s.stride_h >= s.in_h || at_x / s.stride_w >= s.in_w) continue;
      const size_t from = (image * s.in_h + at_y / s.stride_h) * s.in_w + at_x / s.stride_w;
      for (size_t c = 0; c < group_in; ++c) {
        const size_t channel = o / group_out * group_in + c;
        sum += double(args.input[from * s.in_pixel_stride + channel]) *
               double(weights[(channel * group_out + o % group_out) * taps + t]);
      }
    }
    const float value = float(sum);
    const Epilogue activation{.bias = &value, .activation = e.activation};
    gemm_reference(1, 1, 0, nullptr, 0, nullptr, 0, 0, args.output + pixel * s.out_pixel_stride + o, 1, activation);
  }
}

}  // namespace retort::kernels
