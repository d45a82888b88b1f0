// Makes one tensor of what two kinds of masks add to scores: [batch, heads, rows, keys] float32, with heads and rows 1
// if both are the same for all. Macros: BIAS, the type of what is added, u8 if there is nothing.

struct Masks {
  i64 bias[4];  // strides
  int batch, heads, rows, keys;
  int form;  // of the mask: 0 none, 1 [batch, keys], 2 [batch, rows, keys], 3 ends, 4 ends and begins
  float filter;
};

__device__ inline float as_float(u8) { return 0; }
__device__ inline float as_float(float v) { return v; }
__device__ inline float as_float(f16 v) { return to_float(v); }
__device__ inline float as_float(bf16 v) { return to_float(v); }

extern "C" __global__ void join_masks(const int* mask, const BIAS* bias, float* to, Masks m) {
  begin_kernel();
  const i64 count = i64(m.batch) * m.heads * m.rows * m.keys;
  for (i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += i64(gridDim.x) * blockDim.x) {
    const int key = int(i % m.keys), row = int(i / m.keys % m.rows);
    const int head = int(i / m.keys / m.rows % m.heads), b = int(i / m.keys / m.rows / m.heads);
    bool hides = false;
    if (m.form == 1) hides = mask[i64(b) * m.keys + key] <= 0;
    if (m.form == 2) hides = mask[(i64(b) * m.rows + row) * m.keys + key] <= 0;
    if (m.form >= 3) hides = key >= mask[b];
    if (m.form == 4) hides = hides || key < mask[m.batch + b];
    float value = hides ? m.filter : 0.0f;
    if (bias) value += as_float(bias[b * m.bias[0] + head * m.bias[1] + row * m.bias[2] + key * m.bias[3]]);
    to[i] = value;
  }
}
