// Ensembles of decision trees: threads share the trees of a row, and then the sums of its leaves.
// Defines: INPUT: elements of X; SCORE: float or double, the type in which features are compared and scores added;
// OUTPUT: elements of the result; GROUP: threads of a row; PLAIN: every split is x <= value, and NaN takes the other
// branch.
typedef INPUT X;
typedef SCORE T;
typedef OUTPUT Y;
constexpr int kThreads = 256, kRows = kThreads / GROUP;
constexpr int kHeld = 2048 / kRows;  // trees of a row whose leaves are kept at a time
constexpr int kAtOnce = 4;           // trees through which a thread walks at the same time

/// A split: x <=, <, >=, >, ==, != value, or whether x is among members begin to end; the branch for "yes" is the next
/// node. Or a leaf with the weights begin to end.
enum Mode { kLeq, kLt, kGte, kGt, kEq, kNeq, kMember, kLeaf };
union __align__(16) Node {
  Wide all;
  struct {
    union {
      T value;
      u32 range[2];
    };
    u32 split;  // feature * 16 + 8 if NaN is a "yes" + mode
    u32 no;
  };
};
struct Weight {
  T value;
  u32 target;
};
enum Kind { kRegressor, kClassifier, kEnsemble };
enum Aggregate { kAverage, kSum, kMin, kMax };
enum Transform { kNone, kSoftmax, kLogistic, kSoftmaxZero, kProbit };
struct Trees {
  i64 rows, columns, trees, targets;
  int lanes;  // threads that share a target's sum
  int kind, aggregate, transform;
  int bases;     // how many
  int half_way;  // a score of two classes is a probability of the second
};
struct Tables {
  const Node* nodes;
  const Weight* weights;  // of each leaf, by target
  const T* members;       // of each split, ascending
  const u32* roots;
  const T* bases;
  const i64* labels;
};
struct Score {
  T value;
  bool spoken;
};

__device__ inline T number(f16 v) { return T(to_float(v)); }
template <typename E>
__device__ inline T number(E v) {
  return T(v);
}

__device__ inline bool is_member(const T* members, const Node& node, T x) {
  u32 begin = node.range[0], end = node.range[1];
  while (begin < end) {
    const u32 middle = begin + (end - begin) / 2;
    if (members[middle] == x) return true;
    if (members[middle] < x)
      begin = middle + 1;
    else
      end = middle;
  }
  return false;
}
__device__ inline bool holds(const Tables& t, const Node& node, T x) {
#if PLAIN
  return x <= node.value;
#else
  if ((node.split & 8) && x != x) return true;
  switch (node.split & 7) {
    case kLeq:
      return x <= node.value;
    case kLt:
      return x < node.value;
    case kGte:
      return x >= node.value;
    case kGt:
      return x > node.value;
    case kEq:
      return x == node.value;
    case kNeq:
      return x != node.value;
    default:
      return is_member(t.members, node, x);
  }
#endif
}

// The leaves of trees first, first + GROUP and so on, kAtOnce of them, of `count`.
__device__ inline void walk(const Tables& t, const X* row, const u32* roots, int first, int count, u32* leaves) {
  u32 at[kAtOnce];
#pragma unroll
  for (int k = 0; k < kAtOnce; ++k) at[k] = first + k * GROUP < count ? roots[first + k * GROUP] : ~0u;
  for (bool moved = true; moved;) {
    moved = false;
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      if (at[k] == ~0u) continue;
      Node node;
      node.all = t.nodes[at[k]].all;
      if ((node.split & 7) == kLeaf) continue;
      at[k] = holds(t, node, number(row[node.split >> 4])) ? at[k] + 1 : node.no;
      moved = true;
    }
  }
#pragma unroll
  for (int k = 0; k < kAtOnce; ++k)
    if (at[k] != ~0u) leaves[(first + k * GROUP) * kRows] = at[k];
}

__device__ inline Score join(Score a, Score b, int aggregate) {
  if (!b.spoken) return a;
  if (!a.spoken) return b;
  if (aggregate == kMin)
    a.value = b.value < a.value ? b.value : a.value;
  else if (aggregate == kMax)
    a.value = a.value < b.value ? b.value : a.value;
  else
    a.value += b.value;
  return a;
}
/// What a leaf says about a target.
__device__ inline Score add_leaf(const Tables& t, const Node& leaf, u32 target, Score s, int aggregate) {
  u32 begin = leaf.range[0], end = leaf.range[1];
  const u32 last = end;
  while (begin < end) {  // the first weight of the target
    const u32 middle = begin + (end - begin) / 2;
    if (t.weights[middle].target < target)
      begin = middle + 1;
    else
      end = middle;
  }
  for (; begin < last && t.weights[begin].target == target; ++begin) {
    const Score one = {t.weights[begin].value, true};
    s = join(s, one, aggregate);
  }
  return s;
}

__device__ inline float power(float v) { return expf(v); }
__device__ inline double power(double v) { return exp(v); }
__device__ inline float log_of(float v) { return logf(v); }
__device__ inline double log_of(double v) { return log(v); }
__device__ inline float root_of(float v) { return sqrtf(v); }
__device__ inline double root_of(double v) { return sqrt(v); }
__device__ inline T logistic(T x) {
  const T y = T(1) / (T(1) + power(x < 0 ? x : -x));
  return x < 0 ? T(1) - y : y;
}
__device__ inline void softmax(T* s, i64 n, bool keep_zeros) {
  T most = s[0], sum = 0;
  for (i64 i = 1; i < n; ++i) most = most < s[i] ? s[i] : most;
  for (i64 i = 0; i < n; ++i) {
    if (keep_zeros && s[i] <= T(1e-7) && s[i] >= T(-1e-7)) {
      s[i] *= power(-most);
    } else {
      s[i] = power(s[i] - most);
      sum += s[i];
    }
  }
  for (i64 i = 0; i < n; ++i) s[i] /= sum;
}
/// The quantile function of the normal distribution, by Winitzki's approximation of erf's inverse.
__device__ inline T probit(T p) {
  const T a = T(0.147), x = T(2) * p - T(1), l = log_of((T(1) - x) * (T(1) + x));
  const T half = T(2) / (T(3.14159265358979323846) * a) + l / T(2);
  const T root = root_of(root_of(half * half - l / a) - half);
  return T(1.41421356237309504880) * (x < 0 ? -root : root);
}
__device__ inline void transform(int how, T* s, i64 n) {
  if (n == 1 && how != kProbit) return;
  if (how == kSoftmax || how == kSoftmaxZero) softmax(s, n, how == kSoftmaxZero);
  if (how == kLogistic)
    for (i64 i = 0; i < n; ++i) s[i] = logistic(s[i]);
  if (how == kProbit)
    for (i64 i = 0; i < n; ++i) s[i] = probit(s[i]);
}

/// The class with the greatest score; with one class, whether its score is above zero.
__device__ inline i64 decide_many(const Trees& p, const Tables& t, T* s, const u8* spoken) {
  for (i64 i = 0; i < p.bases; ++i) s[i] += t.bases[i];
  if (p.targets == 1) return s[0] > 0;
  i64 best = -1;
  for (i64 i = 0; i < p.targets; ++i)
    if ((spoken[i] || p.bases) && (best < 0 || s[i] > s[best])) best = i;
  transform(p.transform, s, p.targets);
  return t.labels[best < 0 ? 0 : best];
}
/// If the second class has no score, the first one's is that of the second against all.
__device__ inline i64 decide_two(const Trees& p, const Tables& t, T* s, const u8* spoken) {
  const bool both = spoken[1] || p.bases == 2;
  if (p.bases == 2 && spoken[1]) {
    s[1] = t.bases[1] + s[0];
    s[0] = spoken[0] ? -s[1] : T(0);
  } else if (p.bases && spoken[0]) {
    s[0] += t.bases[0];
  }
  const T against = spoken[1] ? s[1] : s[0];
  const i64 label = t.labels[against > (p.half_way ? T(0.5) : T(0)) ? 1 : 0];
  if (both) {
    transform(p.transform, s, 2);
  } else if (p.transform == kLogistic) {
    s[1] = logistic(s[0]);
    s[0] = logistic(-s[0]);
  } else {
    s[1] = s[0];
    s[0] = p.half_way ? T(1) - s[0] : -s[0];
  }
  return label;
}

__device__ inline Y stored(T v) { return Compute<Y>::store((Compute<Y>::type)(v)); }
__device__ inline void finish(const Trees& p, const Tables& t, i64 row, T* scores, const u8* spoken, Y* y,
                              i64* labels) {
  T* const s = scores + row * p.targets;
  if (p.aggregate == kAverage && p.trees)
    for (i64 i = 0; i < p.targets; ++i) s[i] /= T(p.trees);
  if (p.kind == kClassifier) {
    const u8* const has = spoken + row * p.targets;
    const i64 label = p.targets == 2 ? decide_two(p, t, s, has) : decide_many(p, t, s, has);
    if (labels) labels[row] = label;
  } else {
    for (i64 i = 0; i < p.bases; ++i) s[i] += t.bases[i];
    transform(p.transform, s, p.targets);
  }
  for (i64 i = 0; y && i < p.targets; ++i) y[row * p.targets + i] = stored(s[i]);
}

/// y [rows, targets] and labels [rows], each of which may be null. `scores` and `spoken` are scratch of that shape.
extern "C" __global__ void __launch_bounds__(kThreads)
    trees(const X* __restrict__ x, Y* y, i64* labels, T* scores, u8* spoken, const Node* nodes, const Weight* weights,
          const T* members, const u32* roots, const T* bases, const i64* names, Trees p) {
  begin_kernel();
  const Tables t = {nodes, weights, members, roots, bases, names};
  __shared__ u32 leaves[kHeld * kRows];
  __shared__ T values[kThreads];
  __shared__ u8 said[kThreads];
  const int r = threadIdx.x % kRows, g = threadIdx.x / kRows;
  const i64 row = i64(blockIdx.x) * kRows + r;
  const bool here = row < p.rows;
  const i64 items = p.targets * p.lanes, passes = (items + GROUP - 1) / GROUP;
  i64 begin = 0;
  do {
    const int count = p.trees - begin < kHeld ? int(p.trees - begin) : kHeld;
    for (int i = g; here && i < count; i += GROUP * kAtOnce)
      walk(t, x + row * p.columns, t.roots + begin, i, count, leaves + r);
    __syncthreads();
    for (i64 pass = 0; pass < passes; ++pass) {
      const i64 item = pass * GROUP + g, target = item / p.lanes;
      const bool mine = here && item < items;
      Score s = {T(0), false};
      for (int i = int(item % p.lanes); mine && i < count; i += p.lanes) {
        Node leaf;
        leaf.all = t.nodes[leaves[i * kRows + r]].all;
        s = add_leaf(t, leaf, u32(target), s, p.aggregate);
      }
      for (int step = p.lanes / 2; step > 0; step /= 2) {
        values[threadIdx.x] = s.value;
        said[threadIdx.x] = s.spoken;
        __syncthreads();
        const int from = (threadIdx.x + step * kRows) % kThreads;
        const Score other = {values[from], said[from] != 0};
        s = join(s, other, p.aggregate);
        __syncthreads();
      }
      if (!mine || item % p.lanes) continue;
      const i64 at = row * p.targets + target;
      if (begin) {
        const Score before = {scores[at], spoken[at] != 0};
        s = join(before, s, p.aggregate);
      }
      scores[at] = s.value;
      spoken[at] = s.spoken;
    }
    __syncthreads();
    begin += kHeld;
  } while (begin < p.trees);
  if (here && g == 0) finish(p, t, row, scores, spoken, y, labels);
}
