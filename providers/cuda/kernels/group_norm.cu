// GroupNorm and SkipGroupNorm of tensors whose channels are last. A block for each group of an image.
// Defines: STORED: type of x, skip, bias, y and sum; SCALED: type of scale and shift.
typedef STORED T;
typedef SCALED P;
typedef Compute<T>::type A;
constexpr int kThreads = 512;

struct Group {
  i64 area, channels;
  i64 skip_area;  // places that `skip` has: area, or 1
  int groups, swish;
  float epsilon;
  int unused;
};
/// What is normalised: x, plus `skip` and `bias` where they are not null.
struct Summed {
  const T *x, *skip, *bias;
  i64 channels, skip_step;
  __device__ inline A at(i64 place, int c) const {
    A v = Compute<T>::load(x[place * channels + c]);
    if (skip) v += Compute<T>::load(skip[place * skip_step + c]);
    if (bias) v += Compute<T>::load(bias[c]);
    return v;
  }
};

/// `sum`: an output; may be null.
extern "C" __global__ void __launch_bounds__(kThreads)
    group_norm(const T* x, const T* skip, const T* bias, const P* scale, const P* shift, T* y, T* sum, Group s) {
  begin_kernel();
  __shared__ A room[32];
  const i64 image = blockIdx.x / s.groups;
  const int each = int(s.channels) / s.groups, first = int(blockIdx.x % s.groups) * each;
  const i64 begin = image * s.area * s.channels + first, count = s.area * each;
  const Summed in = {x + begin, skip ? skip + image * s.skip_area * s.channels + first : nullptr,
                     bias ? bias + first : nullptr, s.channels, s.skip_area == 1 ? 0 : s.channels};
  A mean = A(0), spread = A(0);
  for (i64 i = threadIdx.x; i < count; i += kThreads) {
    const A v = in.at(i / each, int(i % each));
    mean += v;
    if (sum) sum[begin + i / each * s.channels + i % each] = Compute<T>::store(v);
  }
  mean = reduce_block<Sum>(mean, A(0), room) / A(count);
  for (i64 i = threadIdx.x; i < count; i += kThreads) {
    const A d = in.at(i / each, int(i % each)) - mean;
    spread += d * d;
  }
  const A factor = A(1) / sqrtf(reduce_block<Sum>(spread, A(0), room) / A(count) + s.epsilon);
  for (i64 i = threadIdx.x; i < count; i += kThreads) {
    const int c = int(i % each);
    A v = (in.at(i / each, c) - mean) * factor;
    v = v * Compute<P>::load(scale[first + c]) + Compute<P>::load(shift[first + c]);
    if (s.swish) v = v / (A(1) + expf(-v));
    y[begin + i / each * s.channels + c] = Compute<T>::store(v);
  }
}
