// Fragments of codes of BITS bits and of rows of x, for products by tensor cores. Codes become exact integers of 16
// bits. Any order of k will do that codes and x have in common: the four lanes of a row of codes have words of 32 bits
// beside each other, 16 bytes in all, which are a unit. Pair i of a word are codes i and i + kPairs.
#pragma once
#include "tensor_cores.cuh"

typedef ELEMENT T;
constexpr int kPairs = 16 / BITS;                          // of a word
constexpr int kLane = 2 * kPairs, kUnit = 4 * kLane;       // codes of a word, of a unit
constexpr int kParts = kUnit > BLOCK ? kUnit / BLOCK : 1;  // blocks of a unit
constexpr bool kIsFloat = sizeof(T) == 4;
constexpr int kTerms = kIsFloat ? 3 : 1;  // a float is the sum of three bf16

template <typename U>
struct Multiplying {  // by bf16
  static constexpr bool by_f16 = false;
};
template <>
struct Multiplying<f16> {
  static constexpr bool by_f16 = true;
};
constexpr bool kIsHalf = Multiplying<T>::by_f16;

__device__ inline void multiply(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  if (kIsHalf) {
    mma_f16(d, a, b);
  } else {
#if HAS_BF16_CORES
    mma_bf16(d, a, b);
#endif
  }
}

// The integers code - zero of a word, in pairs. Each is the difference of two exact numbers that have the code and the
// zero point in their mantissas. float16 has room for ten bits: codes that lie higher there are multiplied by 2^-place.
constexpr int kTop = kIsHalf ? 10 : BITS < 8 ? 7 : BITS;  // bits of a mantissa
constexpr int kInPlace = kIsHalf ? kTop / BITS : 1;       // pairs for which a word is shifted once

__device__ inline void decode(u32 word, u32 zero, u32 (&pairs)[kPairs]) {
  constexpr u32 kBoth = 0x00010001u, kMask = ((1u << BITS) - 1) * kBoth;
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    const u32 shifted = word >> i / kInPlace * kInPlace * BITS;
    constexpr int kPlaces[] = {0, BITS, 2 * BITS, 3 * BITS, 4 * BITS};
    const int place = kPlaces[i % kInPlace];
    if (kIsHalf) {  // 1024 + code * 2^place; -1024 / 2^place - zero
      const u32 codes = and_or(shifted, kMask << place, 0x6400u * kBoth);
      const u32 less = (0xe400u - (place << 10) + (zero << place)) * kBoth;
      pairs[i] = place ? fma_f16(codes, (0x3c00u - (place << 10)) * kBoth, less) : add_f16(codes, less);
    } else if (BITS < 8) {  // 128 + code, -128 - zero
      pairs[i] = add_bf16(and_or(shifted, kMask, 0x4300u * kBoth), (0xc300u + zero) * kBoth);
    } else {  // 2^23 + code, 2^23 + zero; the differences are exact in the upper 16 bits
      const u32 codes = shifted & kMask;
      const float from = bits_to_float(0x4b000000u + zero);
      const float low = bits_to_float((codes & 255u) | 0x4b000000u) - from;
      const float high = bits_to_float(codes >> 16 | 0x4b000000u) - from;
      pairs[i] = high_halves(float_to_bits(low), float_to_bits(high));
    }
  }
}

// The lane's elements of a row of x from k on, in pairs as the codes. A float is the sum of its terms.
struct Row {
  u32 pair[kTerms][kPairs];
};

__device__ inline Row pairs_of(const u32 (&words)[kPairs]) {  // of elements of 16 bits
  Row r;
#pragma unroll
  for (int i = 0; i < kPairs / 2; ++i) {
    r.pair[0][2 * i] = low_halves(words[i], words[i + kPairs / 2]);
    r.pair[0][2 * i + 1] = high_halves(words[i], words[i + kPairs / 2]);
  }
  return r;
}
__device__ inline Row pairs_of(const u32 (&words)[kLane]) {  // of floats
  Row r;
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    float low = bits_to_float(words[i]), high = bits_to_float(words[i + kPairs]);
#pragma unroll
    for (int term = 0; term < kTerms; ++term) {
      const u32 first = float_to_bits(low), second = float_to_bits(high);
      r.pair[term][i] = high_halves(first, second);
      low -= bits_to_float(first & 0xffff0000u);
      high -= bits_to_float(second & 0xffff0000u);
    }
  }
  return r;
}

struct __align__(8) Half {  // of a Wide
  u32 word[2];
};
constexpr int kRowWords = kLane * int(sizeof(T)) / 4;

struct Elements {
  u32 word[kRowWords];
};

// From k on; zeros if they are not there. They can be read by 8 or 16 bytes, and exist all or not at all.
__device__ inline Elements load_row(const T* x, bool there) {
  Elements all = {};
  if (!there) return all;
  if (kRowWords == 2) {
    const Half v = *(const Half*)x;
    all.word[0] = v.word[0];
    all.word[1] = v.word[1];
  } else {
#pragma unroll
    for (int i = 0; i < kRowWords / 4; ++i) {
      const Wide v = ((const Wide*)x)[i];
#pragma unroll
      for (int j = 0; j < 4; ++j) all.word[(i * 4 + j) % kRowWords] = v.word[j];
    }
  }
  return all;
}
