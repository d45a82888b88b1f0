// RoiAlign: pools regions of an image to one size, from values interpolated within each region's bins.
#include <cmath>

#include "base/checked.h"
#include "kernels/resize/planes.h"
#include "kernels/sample/sample.h"
#include "ops/op.h"

namespace retort::ops {
namespace {

struct RoiAlign {
  std::string coordinates = "half_pixel", mode = "avg";
  int64_t height = 1, width = 1, ratio = 0;
  float scale = 1;
  static constexpr std::tuple attributes{attr("coordinate_transformation_mode", &RoiAlign::coordinates),
                                         attr("mode", &RoiAlign::mode),
                                         attr("output_height", &RoiAlign::height),
                                         attr("output_width", &RoiAlign::width),
                                         attr("sampling_ratio", &RoiAlign::ratio),
                                         attr("spatial_scale", &RoiAlign::scale)};
  enum Input : size_t { kX, kRois, kImages };
  static constexpr double kMostSamples = 1 << 20;

  void check() const {
    require(mode == "avg" || mode == "max", ErrorCode::invalid_argument, "mode \"{}\" is neither avg nor max", mode);
    require(coordinates == "half_pixel" || coordinates == "output_half_pixel", ErrorCode::invalid_argument,
            "coordinate_transformation_mode \"{}\" is neither half_pixel nor output_half_pixel", coordinates);
    require(height > 0 && width > 0 && ratio >= 0 && double(ratio) <= kMostSamples, ErrorCode::invalid_argument,
            "output_height {}, output_width {}, sampling_ratio {}", height, width, ratio);
  }

  void infer(InferContext& c) const {
    c.set(0, c.dtype(kX));
    const Shape &x = c.shape(kX), &rois = c.shape(kRois), &images = c.shape(kImages);
    require(x.rank() == 4 && rois.rank() == 2 && may_equal(rois[1], 4) && images.rank() == 1 &&
                may_equal(images[0], rois[0]),
            ErrorCode::invalid_argument, "X, rois and batch_indices have shapes {}, {} and {}, which do not match",
            c.dims().text(x), c.dims().text(rois), c.dims().text(images));
    c.set(0, c.dtype(kX), {rois[0], x[1], height, width});
  }
  // The number of samples follows from the regions, which are data.
  Cost cost(const CostContext&) const { return {.operations = kUnknown}; }

  template <std::floating_point T>
  void reference(RunContext& c) const {
    const Shape& x = c.shape(kX);
    const auto channels = size_t(x[1]), pixels = size_t(x[2] * x[3]);
    T* to = c.output<T>().data();
    for (size_t r = 0; r < size_t(c.shape(kRois)[0]); ++r) {
      const int64_t image = check_image(c, r);
      const Region<T> region = region_of(c.input<T>(kRois).data() + r * 4);
      to = pool_plainly(c, region, c.input<T>(kX).data() + size_t(image) * channels * pixels, to);
    }
  }

  size_t scratch(const RunContext& c) const {
    if (c.dtype(kX) != DType::f32 || c.out_count() == 0) return 0;  // an empty output may have any height and width
    return checked_mul(memory(c).bytes(), size_t(c.parallel().workers()), "tables of samples");
  }

  // A task is one region. What it reads is the same in all channels and is determined once.
  void fast(RunContext& c, std::type_identity<float>) const {
    const Shape& x = c.shape(kX);
    const auto channels = size_t(x[1]), pixels = size_t(x[2] * x[3]), bins = size_t(height * width);
    const auto rois = c.input<float>(kRois);
    for (size_t r = 0; r < rois.size() / 4; ++r) {
      check_image(c, r);
      region_of(rois.data() + r * 4);
    }
    if (c.out_count() == 0) return;
    const Memory m = memory(c);
    c.parallel().for_each(rois.size() / 4, [&](size_t r, int worker) {
      const float* image = c.input<float>(kX).data() + size_t(c.input<int64_t>(kImages)[r]) * channels * pixels;
      float* to = c.output<float>().data() + r * channels * bins;
      char* scratch = static_cast<char*>(c.scratch()) + size_t(worker) * m.bytes();
      const Region<float> region = region_of(rois.data() + r * 4);
      if (region.rows <= 0 || region.columns <= 0 || pixels == 0 || pixels > INT32_MAX) {
        pool_plainly(c, region, image, to);
      } else if (mode == "max") {
        largest(c, region, {.planes = channels, .in_stride = pixels, .input = image, .output = to}, scratch);
      } else {
        mean(c, region, {.planes = channels, .in_stride = pixels, .input = image, .output = to}, scratch);
      }
    });
  }

 private:
  template <typename T>
  struct Region {
    T top, left, bin_height, bin_width;
    int64_t rows, columns;  // number of samples per bin
  };
  template <typename T>
  Region<T> region_of(const T* roi) const {
    const bool shifted = coordinates == "half_pixel";
    const T shift = shifted ? T(0.5) : T(0);
    const T left = roi[0] * T(scale) - shift, top = roi[1] * T(scale) - shift;
    T w = roi[2] * T(scale) - shift - left, h = roi[3] * T(scale) - shift - top;
    if (!shifted) {
      w = std::max(w, T(1));
      h = std::max(h, T(1));
    }
    Region<T> r{top, left, h / T(height), w / T(width), ratio, ratio};
    if (ratio > 0) return r;
    require(std::abs(double(r.bin_height)) < kMostSamples && std::abs(double(r.bin_width)) < kMostSamples,
            ErrorCode::invalid_argument, "a region has {} by {} pixels", double(h), double(w));
    r.rows = int64_t(std::ceil(r.bin_height));
    r.columns = int64_t(std::ceil(r.bin_width));
    return r;
  }

  int64_t check_image(const RunContext& c, size_t r) const {
    const int64_t image = c.input<int64_t>(kImages)[r], images = c.shape(kX)[0];
    require(image >= 0 && image < images, ErrorCode::invalid_argument, "batch index {} is outside of [0, {})", image,
            images);
    return image;
  }

  // Computes all channels of a region; returns the end of the output.
  template <typename T>
  T* pool_plainly(const RunContext& c, const Region<T>& region, const T* image, T* to) const {
    const Shape& x = c.shape(kX);
    for (int64_t channel = 0; channel < x[1] && !c.parallel().cancelled(); ++channel, image += x[2] * x[3]) {
      for (int64_t i = 0; i < height * width; ++i) *to++ = pooled(region, image, x[2], x[3], i / width, i % width);
    }
    return to;
  }

  // A worker's tables. Means blend rows, then columns; the maximum is searched among kFewSamples products at once.
  static constexpr size_t kFewSamples = 16;
  struct Memory {
    size_t row_taps = 0, column_taps = 0, column_stride = 0, line = 0;  // for means
    size_t entries = 0;                                                 // number of entries, each an index and a weight
    size_t bytes() const { return round_up(entries * (sizeof(int32_t) + sizeof(float)) + line * sizeof(float), 64); }
  };
  Memory memory(const RunContext& c) const {
    const Shape& x = c.shape(kX);
    Memory m;
    if (mode == "max") {
      const size_t bins = checked_mul(size_t(height), size_t(width), "a region's bins");
      m.entries = checked_mul(round_up(bins, kernels::kSamplePoints), 4 * kFewSamples, "a region's samples");
      return m;
    }
    const auto most = [&](int64_t extent) {  // neighbours of all samples in a bin
      const int64_t samples = ratio > 0 && ratio < extent ? 2 * ratio : extent;
      return size_t(std::max<int64_t>(std::min(samples, extent), 1));
    };
    m.row_taps = most(x[2]);
    m.column_taps = most(x[3]);
    m.column_stride = round_up(size_t(width), kernels::kPlaneColumns);
    m.entries = checked_add(checked_mul(m.row_taps, size_t(height), "a region's rows"),
                            checked_mul(m.column_taps, m.column_stride, "a region's columns"), "a region's samples");
    m.line = kernels::plane_line_floats(0, size_t(x[3]));
    return m;
  }

  // One axis of a region: bins of samples on an axis of `extent` pixels.
  struct Bins {
    float start, size;
    int64_t samples, extent;
    float at(int64_t bin, int64_t sample) const {
      return start + float(bin) * size + (float(sample) + 0.5f) * size / float(samples);
    }
  };
  // What a position reads along one axis: nothing, or a pixel and the next one.
  struct Neighbours {
    bool any = false;
    int32_t first = 0, second = 0;
    float weight = 0;  // of the second pixel
  };
  static Neighbours neighbours(float x, int64_t extent) {
    if (!(x >= -1 && x <= float(extent))) return {};
    x = std::max(x, 0.0f);
    const int64_t first = std::min(int64_t(x), extent - 1), second = std::min(first + 1, extent - 1);
    return {true, int32_t(first), int32_t(second), first == extent - 1 ? 0.0f : x - float(first)};
  }

  // Collects the pixels that a bin's samples read along one axis, with the sums of their weights; returns their number.
  // Entries are `step` apart.
  static size_t gather(const Bins& bins, int64_t bin, int32_t* index, float* weight, size_t step) {
    size_t count = 0;
    const auto add = [&](int32_t pixel, float w) {
      size_t k = count;
      while (k > 0 && index[(k - 1) * step] != pixel) --k;  // one of the last two, unless the region is mirrored
      if (k == 0) {
        index[count * step] = pixel;
        weight[count++ * step] = w;
      } else {
        weight[(k - 1) * step] += w;
      }
    };
    for (int64_t s = 0; s < bins.samples; ++s) {
      const Neighbours n = neighbours(bins.at(bin, s), bins.extent);
      if (!n.any) continue;
      add(n.first, (1 - n.weight) / float(bins.samples));
      add(n.second, n.weight / float(bins.samples));
    }
    return count;
  }

  struct Planes {
    size_t planes, in_stride;
    const float* input;
    float* output;
  };
  void mean(const RunContext& c, const Region<float>& r, const Planes& p, char* scratch) const {
    const Shape& x = c.shape(kX);
    const Memory m = memory(c);
    auto* index = reinterpret_cast<int32_t*>(scratch);
    auto* weight = reinterpret_cast<float*>(index + m.entries);
    std::fill_n(index, m.entries, -1);
    std::fill_n(weight, m.entries, 0.0f);
    kernels::PlaneResize args{.planes = p.planes, .in_w = size_t(x[3]), .in_stride = p.in_stride};
    args.out_stride = size_t(height * width);
    args.rows = {size_t(height), m.row_taps, index, weight};
    for (int64_t i = 0; i < height; ++i) {
      const size_t at = size_t(i) * m.row_taps;
      gather({r.top, r.bin_height, r.rows, x[2]}, i, index + at, weight + at, 1);
    }
    const size_t rows = size_t(height) * m.row_taps;
    int32_t* columns = index + rows;
    args.columns = {size_t(width), 0, m.column_stride, columns, weight + rows};
    for (int64_t j = 0; j < width; ++j) {
      const size_t taps =
          gather({r.left, r.bin_width, r.columns, x[3]}, j, columns + j, weight + rows + j, m.column_stride);
      args.columns.taps = std::max(args.columns.taps, taps);
    }
    args.columns.first = size_t(x[3]);
    for (size_t i = 0; i < args.columns.taps * m.column_stride; ++i) {
      if (columns[i] < 0) continue;
      args.columns.first = std::min(args.columns.first, size_t(columns[i]));
      args.columns.last = std::max(args.columns.last, size_t(columns[i]) + 1);
    }
    args.columns.first = std::min(args.columns.first, args.columns.last);
    args.input = p.input;
    args.output = p.output;
    for (size_t plane = 0; plane < p.planes && !c.parallel().cancelled(); ++plane)
      kernels::resize_plane_rows(args, plane * args.rows.size, (plane + 1) * args.rows.size, weight + m.entries);
  }

  void largest(const RunContext& c, const Region<float>& r, const Planes& p, char* scratch) const {
    const Shape& x = c.shape(kX);
    const Memory m = memory(c);
    kernels::SampleArgs args{.planes = p.planes, .points = size_t(height * width), .in_stride = p.in_stride};
    args.out_stride = args.points;
    args.table_stride = round_up(args.points, kernels::kSamplePoints);
    auto* index = reinterpret_cast<int32_t*>(scratch);
    auto* weight = reinterpret_cast<float*>(index + m.entries);
    args.index = index;
    args.weight = weight;
    args.input = p.input;
    args.output = p.output;
    const int64_t samples = r.rows * r.columns;
    for (int64_t s0 = 0; s0 < samples && !c.parallel().cancelled(); s0 += int64_t(kFewSamples)) {
      const int64_t s1 = std::min(s0 + int64_t(kFewSamples), samples);
      args.taps = 4 * size_t(s1 - s0);
      std::fill_n(index, args.taps * args.table_stride, -1);
      std::fill_n(weight, args.taps * args.table_stride, 0.0f);
      for (int64_t i = 0; i < (s1 - s0) * height * width; ++i) {
        const int64_t s = s0 + i / (height * width), bin = i % (height * width);
        const Neighbours down =
            neighbours(Bins{r.top, r.bin_height, r.rows, x[2]}.at(bin / width, s / r.columns), x[2]);
        const Neighbours across =
            neighbours(Bins{r.left, r.bin_width, r.columns, x[3]}.at(bin % width, s % r.columns), x[3]);
        if (!down.any || !across.any) continue;
        for (size_t k = 0; k < 4; ++k) {
          const size_t at = (size_t(s - s0) * 4 + k) * args.table_stride + size_t(bin);
          index[at] = int32_t((k < 2 ? down.first : down.second) * x[3] + (k % 2 ? across.second : across.first));
          weight[at] = (k < 2 ? 1 - down.weight : down.weight) * (k % 2 ? across.weight : 1 - across.weight);
        }
      }
      kernels::sample_max(args, s0 > 0);
    }
  }

  template <typename T>
  T pooled(const Region<T>& r, const T* plane, int64_t h, int64_t w, int64_t row, int64_t column) const {
    const bool largest = mode == "max";
    T value = 0;
    bool any = false;
    for (int64_t i = 0; i < r.rows * r.columns; ++i) {
      const int64_t down = i / r.columns, across = i % r.columns;
      const T y = r.top + T(row) * r.bin_height + (T(down) + T(0.5)) * r.bin_height / T(r.rows);
      const T x = r.left + T(column) * r.bin_width + (T(across) + T(0.5)) * r.bin_width / T(r.columns);
      const T sample = interpolated(plane, h, w, y, x, largest);
      value = largest ? (any ? std::max(value, sample) : sample) : value + sample;
      any = true;
    }
    return largest ? value : value / T(std::max<int64_t>(r.rows * r.columns, 1));
  }
  // Combines four neighbours; the mode max takes the largest weighted one, as the first implementation of the operator
  // does.
  template <typename T>
  static T interpolated(const T* plane, int64_t h, int64_t w, T y, T x, bool largest) {
    if (!(y >= -1 && y <= T(h) && x >= -1 && x <= T(w)) || h == 0 || w == 0) return 0;
    y = std::max(y, T(0));
    x = std::max(x, T(0));
    const int64_t top = std::min(int64_t(y), h - 1), left = std::min(int64_t(x), w - 1);
    const int64_t bottom = std::min(top + 1, h - 1), right = std::min(left + 1, w - 1);
    const T dy = top == h - 1 ? T(0) : y - T(top), dx = left == w - 1 ? T(0) : x - T(left);
    const T parts[] = {(1 - dy) * (1 - dx) * plane[top * w + left], (1 - dy) * dx * plane[top * w + right],
                       dy * (1 - dx) * plane[bottom * w + left], dy * dx * plane[bottom * w + right]};
    if (largest) return *std::max_element(std::begin(parts), std::end(parts));
    return parts[0] + parts[1] + parts[2] + parts[3];
  }
};

}  // namespace

extern const OpDef op_roi_align;
constinit const OpDef op_roi_align = define<RoiAlign>({
    .name = "RoiAlign",
    .since = {10, 16, 22},
    .inputs = {"X: T", "rois: T", "batch_indices: int64"},
    .outputs = {"Y: T"},
    .types = kFloats,
});

}  // namespace retort::ops
