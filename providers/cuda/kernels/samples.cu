// GridSample, AffineGrid, RoiAlign. ELEMENT: the type of elements; PLACE: that of the grid; AXES: of the image; TAPS:
// elements along an axis that a value is made of: 1 for the nearest, 2 for linear, 4 for cubic interpolation.

template <typename T>
struct Real {
  typedef float type;
};
template <>
struct Real<double> {
  typedef double type;
};
typedef Real<ELEMENT>::type Number;
__device__ inline Number load_real(ELEMENT v) { return Compute<ELEMENT>::load(v); }
__device__ inline ELEMENT store_real(Number v) { return Compute<ELEMENT>::store(v); }

#ifdef AXES
struct Sampled {
  i64 channels, in, out;  // in, out: elements of a channel
  i64 extent[3];
  int outside;  // 0: zeros, 1: the border, 2: reflected
  int align_corners;
};
/// The elements along one axis that contribute to a value; index -1 stands for zero.
struct Taps {
  i64 index[TAPS];
  Number weight[TAPS];
};

template <typename F>
__device__ inline F mirrored(F x, F low, F high) {
  const F range = high - low;
  if (range <= 0) return low;
  const F distance = x < low ? low - x : x - high;
  const F turns = floor(distance / range), rest = distance - turns * range;
  const bool even = turns == 2 * floor(turns / 2);
  return (x < low) == even ? low + rest : high - rest;
}
template <typename F>
__device__ inline F within(F x, F low, F high) {
  return x < low ? low : x > high ? high : x;
}
__device__ inline i64 element(const Sampled& s, i64 i, i64 n) {
  if (i >= 0 && i < n) return i;
  if (s.outside == 0 || n <= 0) return -1;
  if (s.outside == 1) return i < 0 ? 0 : n - 1;
  const double low = s.align_corners ? 0 : -0.5, high = double(n) - 1 - low;
  return within<i64>(i64(mirrored(double(i), low, high)), 0, n - 1);
}
/// The position among n elements for a coordinate of which -1 and 1 are the borders.
__device__ inline Number among(const Sampled& s, Number position, i64 n) {
  const Number low = s.align_corners ? Number(0) : Number(-0.5), high = Number(n) - 1 - low;
  Number x = s.align_corners ? (position + 1) / 2 * Number(n - 1) : ((position + 1) * Number(n) - 1) / 2;
  if (TAPS == 1) x = rint(x);
  if (TAPS != 4 && !(x >= low && x <= high)) {  // cubic interpolation handles each element separately
    const bool finite = x - x == 0;
    if (s.outside == 1) x = x != x ? Number(0) : within<Number>(x, 0, n > 0 ? Number(n - 1) : Number(0));
    if (s.outside == 2) x = finite ? mirrored(x, low, high) : Number(0);
  }
  return x;
}
__device__ inline Number near(Number d) {
  const Number a = Number(-0.75);
  return ((a + 2) * d - (a + 3)) * d * d + 1;
}
__device__ inline Number far(Number d) {
  const Number a = Number(-0.75);
  return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
}
__device__ inline Taps taps_of(const Sampled& s, Number position, i64 n) {
  Taps t;
  const Number x = among(s, position, n);
#pragma unroll
  for (int k = 0; k < TAPS; ++k) {
    t.index[k] = -1;
    t.weight[k] = 0;
  }
  if (!(x > -Number(1 << 30) && x < Number(1 << 30))) return t;
  const Number base = floor(x), f = x - base;
  const i64 first = i64(base) - (TAPS == 4);
#if TAPS == 1
  t.weight[0] = 1;
#elif TAPS == 2
  t.weight[0] = 1 - f;
  t.weight[1] = f;
#else
  t.weight[0] = far(f + 1);
  t.weight[1] = near(f);
  t.weight[2] = near(1 - f);
  t.weight[3] = far(2 - f);
#endif
#pragma unroll
  for (int k = 0; k < TAPS; ++k) t.index[k] = element(s, first + k, n);
  return t;
}
template <int D>
struct Weighted {
  __device__ __forceinline__ static Number sum(const ELEMENT* image, const Taps* taps, const Sampled& s, i64 at) {
    Number total = 0;
#pragma unroll
    for (int k = 0; k < TAPS; ++k) {
      const i64 i = taps[D].index[k];
      if (i >= 0) total += taps[D].weight[k] * Weighted<D + 1>::sum(image, taps, s, at * s.extent[D] + i);
    }
    return total;
  }
};
template <>
struct Weighted<AXES> {
  __device__ __forceinline__ static Number sum(const ELEMENT* image, const Taps*, const Sampled&, i64 at) {
    return load_real(image[at]);
  }
};

/// A thread computes one point of the grid for eight channels, of which blockIdx.y counts the groups.
extern "C" __global__ void __launch_bounds__(256)
    sample_grid(const ELEMENT* x, const PLACE* grid, ELEMENT* y, i64 points, Sampled s) {
  begin_kernel();
  const i64 point = i64(blockIdx.x) * 256 + threadIdx.x;
  if (point >= points) return;
  Taps taps[AXES];
#pragma unroll
  for (int d = 0; d < AXES; ++d)
    taps[d] = taps_of(s, Number(Compute<PLACE>::load(grid[point * AXES + AXES - 1 - d])), s.extent[d]);
  const i64 image = point / s.out, at = point % s.out;
  for (i64 channel = i64(blockIdx.y) * 8; channel < i64(blockIdx.y) * 8 + 8 && channel < s.channels; ++channel) {
    const i64 plane = image * s.channels + channel;
    y[plane * s.out + at] = store_real(Weighted<0>::sum(x + plane * s.in, taps, s, 0));
  }
}

/// A thread computes one position. `theta`: [images][AXES][AXES + 1].
struct Affine {
  i64 extent[3];
  int align_corners;
};
extern "C" __global__ void __launch_bounds__(256)
    affine_grid(const ELEMENT* theta, ELEMENT* grid, i64 points, i64 pixels, Affine a) {
  begin_kernel();
  const i64 point = i64(blockIdx.x) * 256 + threadIdx.x;
  if (point >= points) return;
  const ELEMENT* row = theta + point / pixels * AXES * (AXES + 1);
  Number place[AXES];  // the last axis is first
  i64 rest = point % pixels;
  for (int d = AXES - 1; d >= 0; --d) {
    const i64 n = a.extent[d], at = rest % n;
    rest /= n;
    place[AXES - 1 - d] =
        a.align_corners ? 2 * Number(at) / Number(n > 1 ? n - 1 : 1) - 1 : (2 * Number(at) + 1) / Number(n) - 1;
  }
  for (int d = 0; d < AXES; ++d, row += AXES + 1) {
    Number sum = load_real(row[AXES]);
    for (int k = 0; k < AXES; ++k) sum += load_real(row[k]) * place[k];
    grid[point * AXES + d] = store_real(sum);
  }
}
#else

struct Regions {
  i64 channels, height, width, images;
  int rows, columns;  // of the output
  int ratio, is_largest, is_shifted, is_long;
  float scale;
};
__device__ inline Number larger(Number a, Number b) { return a < b ? b : a; }
/// Samples between four neighbours; the mode max takes the largest weighted one, as the operator's first implementation
/// does.
__device__ inline Number sample(const ELEMENT* plane, const Regions& r, Number y, Number x) {
  const i64 h = r.height, w = r.width;
  if (!(y >= -1 && y <= Number(h) && x >= -1 && x <= Number(w)) || h == 0 || w == 0) return 0;
  y = larger(y, 0);
  x = larger(x, 0);
  const i64 top = i64(y) < h - 1 ? i64(y) : h - 1, left = i64(x) < w - 1 ? i64(x) : w - 1;
  const i64 bottom = top + 1 < h ? top + 1 : h - 1, right = left + 1 < w ? left + 1 : w - 1;
  const Number dy = top == h - 1 ? Number(0) : y - Number(top), dx = left == w - 1 ? Number(0) : x - Number(left);
  const Number a = (1 - dy) * (1 - dx) * load_real(plane[top * w + left]);
  const Number b = (1 - dy) * dx * load_real(plane[top * w + right]);
  const Number c = dy * (1 - dx) * load_real(plane[bottom * w + left]);
  const Number d = dy * dx * load_real(plane[bottom * w + right]);
  return r.is_largest ? larger(larger(a, b), larger(c, d)) : a + b + c + d;
}
/// A thread computes one element of the output [regions][channels][rows][columns].
extern "C" __global__ void __launch_bounds__(256)
    align_regions(const ELEMENT* x, const ELEMENT* rois, const void* images, ELEMENT* y, i64 count, Regions r) {
  begin_kernel();
  const i64 i = i64(blockIdx.x) * 256 + threadIdx.x;
  if (i >= count) return;
  const i64 column = i % r.columns, row = i / r.columns % r.rows, channel = i / r.columns / r.rows % r.channels;
  const i64 region = i / r.columns / r.rows / r.channels;
  const i64 image = r.is_long ? ((const i64*)images)[region] : i64(((const int*)images)[region]);
  if (image < 0 || image >= r.images) {
    y[i] = store_real(0);
    return;
  }
  const ELEMENT* roi = rois + region * 4;
  const Number shift = r.is_shifted ? Number(0.5) : Number(0), scale = r.scale;
  const Number left = load_real(roi[0]) * scale - shift, top = load_real(roi[1]) * scale - shift;
  Number w = load_real(roi[2]) * scale - shift - left, h = load_real(roi[3]) * scale - shift - top;
  if (!r.is_shifted) {
    w = larger(w, 1);
    h = larger(h, 1);
  }
  const Number bin_height = h / Number(r.rows), bin_width = w / Number(r.columns);
  const i64 down = r.ratio > 0 ? r.ratio : i64(ceil(bin_height)), across = r.ratio > 0 ? r.ratio : i64(ceil(bin_width));
  const ELEMENT* plane = x + (image * r.channels + channel) * r.height * r.width;
  Number value = 0;
  for (i64 p = 0; p < down; ++p) {
    for (i64 q = 0; q < across; ++q) {
      const Number sy = top + Number(row) * bin_height + (Number(p) + Number(0.5)) * bin_height / Number(down);
      const Number sx = left + Number(column) * bin_width + (Number(q) + Number(0.5)) * bin_width / Number(across);
      const Number v = sample(plane, r, sy, sx);
      value = !r.is_largest ? value + v : p + q == 0 ? v : larger(value, v);
    }
  }
  if (!r.is_largest && down > 0 && across > 0) value /= Number(down * across);
  y[i] = store_real(value);
}
#endif
