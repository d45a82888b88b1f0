// Words, places and boxes: what the kernels that move data have in common; it comes before each of their texts.
// WORD: bytes of a word. UNIT: bytes of an element, to which addresses are aligned; words that are not aligned are
// moved by elements. WIDE: places need 64 bits.
#if UNIT == 1
typedef u8 Unit;
#elif UNIT == 2
typedef u16 Unit;
#elif UNIT == 4
typedef u32 Unit;
#else
typedef u64 Unit;
#endif
#if WORD == 1
typedef u8 Whole;
#elif WORD == 2
typedef u16 Whole;
#elif WORD == 4
typedef u32 Whole;
#elif WORD == 8
typedef u64 Whole;
#else
typedef Wide Whole;
#endif
union Word {
  Whole whole;
  Unit unit[WORD / UNIT];
};

__device__ inline Word load_word(const Unit* from, i64 word, bool aligned) {
  Word w;
  if (aligned) {
    w.whole = ((const Whole*)from)[word];
  } else {
    for (int i = 0; i < WORD / UNIT; ++i) w.unit[i] = from[word * (WORD / UNIT) + i];
  }
  return w;
}
__device__ inline void store_word(Unit* to, i64 word, Word w, bool aligned) {
  if (aligned) {
    ((Whole*)to)[word] = w.whole;
  } else {
    for (int i = 0; i < WORD / UNIT; ++i) to[word * (WORD / UNIT) + i] = w.unit[i];
  }
}

#define MOST_AXES 12
/// An extent by which places are divided: below 2^31, by multiplication.
#if WIDE
typedef i64 Place;
typedef i64 Signed;
struct Divisor {
  i64 by;
};
__device__ inline i64 divide(i64 n, Divisor d) { return n / d.by; }
#else
typedef u32 Place;
typedef int Signed;
struct Divisor {
  u32 by, magic, shift;
};
__device__ inline u32 divide(u32 n, Divisor d) { return (u32((u64(n) * d.magic) >> 32) + n) >> d.shift; }
#endif

// Threads handle four words each, all of which are on their way at once: word i of block b is b * 1024 + thread + i *
// 256.
__device__ inline i64 first_word() { return i64(blockIdx.x) * 1024 + threadIdx.x; }

/// The axes of a box: extents, and words from one position to the next in the source and in the target.
struct Walk {
  int rank;
  Divisor extent[MOST_AXES];
  Signed from[MOST_AXES], to[MOST_AXES];
};

/// Index i of a tensor of int64 (or int32), counted from the end if it is negative.
__device__ inline i64 load_index(const void* indices, i64 i, bool is_long, i64 extent) {
  const i64 at = is_long ? ((const i64*)indices)[i] : i64(((const int*)indices)[i]);
  return at < 0 ? at + extent : at;
}
/// The same, but within the axis: for an index that is out of range, the nearest element is read.
__device__ inline i64 load_index_within(const void* indices, i64 i, bool is_long, i64 extent) {
  const i64 at = load_index(indices, i, is_long, extent);
  return at < 0 ? 0 : at >= extent ? extent - 1 : at;
}

/// Tuples of `size` indices name rows of `inner` words, in each of several batches of `stride` words.
struct Tuples {
  Divisor inner, each;  // tuples of a batch
  i64 batch;            // words of a batch
  int size, is_long;
  i64 extent[MOST_AXES], stride[MOST_AXES];  // of the axes that a tuple names; strides in words
};
