// Discrete Fourier transforms along the middle axis of [outer, samples, inner], of frames that move along it.
// Defines: STORED; PARTS, OUT_PARTS: 1 for real numbers, 2 for complex ones; INVERSE: 1; HALF: 1 if the input is one half
// of a spectrum, whose other half are the conjugates.
typedef STORED T;
typedef Compute<T>::type A;

struct Extents {
  i64 count, samples, frames, step, inner;
  int size, bins;
};

/// `table`: cosine and sine of each multiple of a whole turn over `size`. The result has the order of the threads.
extern "C" __global__ void __launch_bounds__(256) fourier(const T* __restrict__ x, const T* __restrict__ window,
                                                          const A* __restrict__ table, T* __restrict__ y, Extents e) {
  begin_kernel();
  const i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= e.count) return;
  i64 rest = i;
  const i64 inner = rest % e.inner;
  rest /= e.inner;
  const int k = int(rest % e.bins);
  rest /= e.bins;
  const i64 begin = rest % e.frames * e.step, outer = rest / e.frames, left = e.samples - begin;
  const T* const from = x + ((outer * e.samples + begin) * e.inner + inner) * PARTS;
  const int most = HALF ? e.size / 2 + 1 : e.size, given = left < most ? int(left) : most;
  A re = 0, im = 0;
  int turn = 0;
  for (int n = 0; n < (HALF ? e.size : given); ++n) {
    const int at = HALF && n >= given ? e.size - n : n;
    if (at < given) {
      A a = Compute<T>::load(from[at * e.inner * PARTS]);
      A b = PARTS == 2 ? Compute<T>::load(from[at * e.inner * PARTS + PARTS - 1]) : A(0);
      if (at != n) b = -b;
      if (window) {
        const A w = Compute<T>::load(window[n]);
        a *= w;
        b *= w;
      }
      const A c = table[2 * turn], s = INVERSE ? -table[2 * turn + 1] : table[2 * turn + 1];
      re += a * c + b * s;
      im += b * c - a * s;
    }
    turn += k;
    if (turn >= e.size) turn -= e.size;
  }
  const A factor = INVERSE ? A(1) / A(e.size) : A(1);
  y[i * OUT_PARTS] = Compute<T>::store(re * factor);
  if (OUT_PARTS == 2) y[i * OUT_PARTS + OUT_PARTS - 1] = Compute<T>::store(im * factor);
}
