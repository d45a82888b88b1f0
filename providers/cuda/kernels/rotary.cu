// Moves heads: adds a bias, normalises, rotates pairs by the angle of a position, and appends rows to a cache, as far
// as requested. It serves the rotary embeddings, and prepares Q, K and V of attentions. Macro: ELEMENT.
typedef ELEMENT T;

__device__ inline float as_float(float v) { return v; }
__device__ inline float as_float(f16 v) { return to_float(v); }
__device__ inline float as_float(bf16 v) { return to_float(v); }

/// The heads of one tensor. Strides are from one batch entry, head and row to the next; `bias` is the place of the bias
/// of its first head.
struct Move {
  i64 from[3], to[3];
  int heads, size, rotates, room, bias;  // room: rows of a cache behind whose rows row s goes, 0 for another tensor
  float epsilon;                         // of the norm
};
struct Turn {
  Move moves[3];  // those of Q, K and V; the heads of one after those of the other
  int batch, rows, positions, half, interleaved;
  int before, length_step, length_plus, from_end;  // rows that a cache has before: as in AttentionShape
  int position_step, position_shift;               // positions: step 0 for one number, shift 1 to add the row
};

/// Element i of a head, without rotation.
struct Source {
  const T *x, *bias, *weight;
  float factor;
  __device__ float operator()(int i) const {
    float v = as_float(x[i]);
    if (bias) v += as_float(bias[i]);
    return weight ? v * factor * as_float(weight[i]) : v;
  }
};

__device__ inline float rotated(const Source& x, int i, const Turn& t, const T* cos, const T* sin) {
  const int pair = t.interleaved ? i / 2 : i % t.half;
  const bool second = t.interleaved ? i % 2 : i >= t.half;
  const float re = x(t.interleaved ? pair * 2 : pair), im = x(t.interleaved ? pair * 2 + 1 : pair + t.half);
  const float c = as_float(cos[pair]), s = as_float(sin[pair]);
  return second ? s * re + c * im : c * re - s * im;
}

/// A warp has one head of one row. `positions`: null if a row's position is its place in the cache. `norms`: weights of
/// the norms of Q and K, or null.
extern "C" __global__ void turn_heads(const T* q, const T* k, const T* v, T* to_q, T* to_k, T* to_v, const T* bias,
                                      const T* q_norm, const T* k_norm, const T* cos, const T* sin,
                                      const i64* positions, const int* lengths, Turn t) {
  begin_kernel();
  const int all = t.moves[0].heads + t.moves[1].heads + t.moves[2].heads, lane = int(threadIdx.x) % 32;
  const i64 task = i64(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
  if (task >= i64(t.batch) * t.rows * all) return;
  int head = int(task % all), which = 0;
  const int s = int(task / all % t.rows), b = int(task / all / t.rows);
  while (head >= t.moves[which].heads) head -= t.moves[which++].heads;
  const Move& m = t.moves[which];
  int before = t.before;
  if (lengths && t.from_end) before = lengths[i64(b) * t.length_step] + t.length_plus - t.rows;
  if (before < 0) before = 0;
  const T* const from = which == 0 ? q : which == 1 ? k : v;
  T* const to = which == 0 ? to_q : which == 1 ? to_k : to_v;
  const T* const norm = which == 0 ? q_norm : which == 1 ? k_norm : nullptr;
  Source x = {from + b * m.from[0] + head * m.from[1] + s * m.from[2], bias ? bias + m.bias + head * m.size : nullptr,
              norm, 1.0f};
  const int row = m.room ? before + s : s;
  if (m.room && row >= m.room) return;
  T* const y = to + b * m.to[0] + head * m.to[1] + row * m.to[2];
  if (norm) {
    float squares = 0;
    for (int i = lane; i < m.size; i += 32) {
      const float value = as_float(x.x[i]);
      squares += value * value;
    }
    x.factor = rsqrtf(reduce_warp<Sum>(squares) / float(m.size) + m.epsilon);
  }
  i64 position = before + s;
  if (positions) position = positions[(i64(b) * t.rows + s) * t.position_step] + (t.position_shift ? s : 0);
  if (position >= t.positions) position = t.positions - 1;  // of padding
  if (position < 0) position = 0;
  const T *const c = cos + position * t.half, *const d = sin + position * t.half;
  for (int i = lane; i < m.size; i += 32)
    y[i] = Compute<T>::store(m.rotates && i < 2 * t.half ? rotated(x, i, t, c, d) : x(i));
}
