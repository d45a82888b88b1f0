// Sums of columns that overlap in an image: [n, channels * block, places] to [n, channels, image]. Axes that are not
// there have one element. Defines: STORED.
typedef STORED T;
typedef Compute<T>::type A;

struct Extents {
  i64 count;
  int image[3], block[3], places[3], stride[3], dilation[3], begin[3];
};

extern "C" __global__ void __launch_bounds__(256) col2im(const T* __restrict__ x, T* __restrict__ y, Extents e) {
  begin_kernel();
  const i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= e.count) return;
  i64 rest = i;
  int at[3];
#pragma unroll
  for (int d = 2; d >= 0; --d) {
    at[d] = int(rest % e.image[d]) + e.begin[d];
    rest /= e.image[d];
  }
  const i64 places = i64(e.places[0]) * e.places[1] * e.places[2];
  const auto place = [&](int d, int k) {  // -1: the block does not lie there
    const int first = at[d] - k * e.dilation[d];
    return first < 0 || first % e.stride[d] || first / e.stride[d] >= e.places[d] ? -1 : first / e.stride[d];
  };
  A sum = 0;
  for (int k0 = 0; k0 < e.block[0]; ++k0) {
    const int p0 = place(0, k0);
    for (int k1 = 0; p0 >= 0 && k1 < e.block[1]; ++k1) {
      const int p1 = place(1, k1);
      for (int k2 = 0; p1 >= 0 && k2 < e.block[2]; ++k2) {
        const int p2 = place(2, k2);
        if (p2 < 0) continue;
        const i64 row = ((rest * e.block[0] + k0) * e.block[1] + k1) * e.block[2] + k2;
        sum += Compute<T>::load(x[row * places + (i64(p0) * e.places[1] + p1) * e.places[2] + p2]);
      }
    }
  }
  y[i] = Compute<T>::store(sum);
}
