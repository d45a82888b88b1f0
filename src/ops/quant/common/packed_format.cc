#include "ops/quant/common/packed_format.h"

#include <bit>
#include <cstring>

#include "base/half.h"
#include "ops/quant/common/packed_grids.h"

namespace retort::ops {
namespace {

template <typename T>
T packed_number(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
float packed_half(const uint8_t* from) { return float(packed_number<float16>(from)); }

// Q4_0: a scale and 16 bytes with the upper half of the block in their upper bits.
void decode_q4_0(const uint8_t* from, float* to) {
  const float scale = packed_half(from);
  for (size_t i = 0; i < 16; ++i) {
    to[i] = float((from[2 + i] & 15) - 8) * scale;
    to[i + 16] = float((from[2 + i] >> 4) - 8) * scale;
  }
}

// Q5_0: the same with the fifth bits of all elements between scale and bytes.
void decode_q5_0(const uint8_t* from, float* to) {
  const float scale = packed_half(from);
  const auto high = packed_number<uint32_t>(from + 2);
  for (size_t i = 0; i < 16; ++i) {
    to[i] = float(int((from[6 + i] & 15u) | (high >> i & 1) << 4) - 16) * scale;
    to[i + 16] = float(int((from[6 + i] >> 4) | (high >> (i + 16) & 1) << 4) - 16) * scale;
  }
}

void decode_q8_0(const uint8_t* from, float* to) {
  const float scale = packed_half(from);
  for (size_t i = 0; i < 32; ++i) to[i] = float(int8_t(from[2 + i])) * scale;
}

// Type 42: a scale and codes of 2 bits for 64 elements.
void decode_q2_0(const uint8_t* from, float* to) {
  const float scale = packed_half(from);
  for (size_t i = 0; i < 64; ++i) to[i] = float((from[2 + i / 4] >> (i % 4 * 2) & 3) - 1) * scale;
}

// Scale and minimum of the eight parts of a Q5_K block: 6 bits each, in 12 bytes.
struct ScaleAndMinimum {
  float scale, minimum;
  ScaleAndMinimum(const uint8_t* packed, size_t part) {
    const uint8_t *low = packed + part, *high = packed + part + 4;
    if (part < 4) {
      scale = float(*low & 63);
      minimum = float(*high & 63);
    } else {
      scale = float((high[0] & 15) | (low[-4] >> 6 << 4));
      minimum = float((high[0] >> 4) | (low[0] >> 6 << 4));
    }
  }
};

// Q5_K: scales of scales and of minima, 12 bytes of these, the fifth bits, and 128 bytes for pairs of parts.
void decode_q5_k(const uint8_t* from, float* to) {
  const float scale = packed_half(from), minimum = packed_half(from + 2);
  const uint8_t *high = from + 16, *codes = from + 48;
  for (size_t part = 0; part < 8; ++part) {
    const ScaleAndMinimum s(from + 4, part);
    const float step = scale * s.scale, least = minimum * s.minimum;
    for (size_t i = 0; i < 32; ++i) {
      const int low = codes[part / 2 * 32 + i] >> (part % 2 * 4) & 15;
      to[part * 32 + i] = step * float(low | ((high[i] >> part & 1) << 4)) - least;
    }
  }
}

// Q6_K: the lower 4 bits, the upper 2, sixteen scales of 8 bits and their scale.
void decode_q6_k(const uint8_t* from, float* to) {
  const float scale = packed_half(from + 208);
  for (size_t half = 0; half < 2; ++half) {
    const uint8_t *low = from + half * 64, *high = from + 128 + half * 32, *scales = from + 192 + half * 8;
    for (size_t i = 0; i < 128; ++i) {
      const size_t quarter = i / 32, at = i % 32;
      const int lower = low[quarter % 2 * 32 + at] >> (quarter / 2 * 4) & 15;
      const int code = lower | ((high[at] >> (quarter * 2) & 3) << 4);
      to[half * 128 + i] = scale * float(int8_t(scales[quarter * 2 + at / 16])) * float(code - 32);
    }
  }
}

constexpr float kLevels4[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

void decode_levels4(const uint8_t* codes, float scale, float* to) {
  for (size_t i = 0; i < 16; ++i) {
    to[i] = scale * kLevels4[codes[i] & 15];
    to[i + 16] = scale * kLevels4[codes[i] >> 4];
  }
}

// IQ4_NL: like Q4_0, but a code is the index of a level; levels are closer together near zero.
void decode_iq4_nl(const uint8_t* from, float* to) { decode_levels4(from + 2, packed_half(from), to); }

// IQ4_XS: eight of these with scales of 6 bits.
void decode_iq4_xs(const uint8_t* from, float* to) {
  const float scale = packed_half(from);
  const auto high = packed_number<uint16_t>(from + 2);
  for (size_t part = 0; part < 8; ++part) {
    const int lower = from[4 + part / 2] >> (part % 2 * 4) & 15;
    const int code = lower | ((high >> (part * 2) & 3) << 4);
    decode_levels4(from + 8 + part * 16, scale * float(code - 32), to + part * 32);
  }
}

// The coordinates of a point; bit i of `signs` makes coordinate i negative.
void decode_point2(uint16_t point, unsigned signs, float scale, float* to) {
  constexpr float kLevels[4] = {8, 25, 43, 0};
  for (size_t i = 0; i < 8; ++i) to[i] = scale * kLevels[point >> (2 * i) & 3] * (signs >> i & 1 ? -1.0f : 1.0f);
}
void decode_point3(uint16_t point, unsigned signs, float scale, float* to) {
  constexpr float kLevels[8] = {4, 12, 20, 28, 36, 44, 52, 62};
  for (size_t i = 0; i < 4; ++i) to[i] = scale * kLevels[point >> (3 * i) & 7] * (signs >> i & 1 ? -1.0f : 1.0f);
}
// The number of negative signs is even, so the eighth bit follows from the other seven.
unsigned even_signs(uint32_t seven) { return (seven & 127) | (unsigned(std::popcount(seven & 127)) & 1) << 7; }

// IQ2_XXS: for 32 elements, four bytes with indices of points, then four times seven signs and a scale of 4 bits.
void decode_iq2_xxs(const uint8_t* from, float* to) {
  for (size_t part = 0; part < 8; ++part) {
    const uint8_t* points = from + 2 + part * 8;
    const auto signs = packed_number<uint32_t>(points + 4);
    const float scale = packed_half(from) * (0.5f + float(signs >> 28)) * 0.25f;
    for (size_t i = 0; i < 4; ++i)
      decode_point2(kGrid2Xxs[points[i]], even_signs(signs >> (7 * i)), scale, to + part * 32 + i * 8);
  }
}

// The scale of 8 elements; 16 elements share a scale of 4 bits.
float scale_of_eight(const uint8_t* from, const uint8_t* scales, size_t eight) {
  return packed_half(from) * (0.5f + float(scales[eight / 4] >> (eight / 2 % 2 * 4) & 15)) * 0.25f;
}

// IQ2_XS: for 8 elements, an index of a point (9 bits) and seven signs; scales are at the end.
void decode_iq2_xs(const uint8_t* from, float* to) {
  for (size_t i = 0; i < 32; ++i) {
    const auto code = packed_number<uint16_t>(from + 2 + i * 2);
    decode_point2(kGrid2Xs[code & 511], even_signs(code >> 9), scale_of_eight(from, from + 66, i), to + i * 8);
  }
}

// IQ2_S: for 8 elements, the lower 8 bits of an index, then 8 signs; then the upper 2 bits of the indices, and scales.
void decode_iq2_s(const uint8_t* from, float* to) {
  for (size_t i = 0; i < 32; ++i) {
    const unsigned point = from[2 + i] | (from[66 + i / 4] >> (i % 4 * 2) & 3u) << 8;
    decode_point2(kGrid2S[point], from[34 + i], scale_of_eight(from, from + 74, i), to + i * 8);
  }
}

// IQ3_XXS: for 4 elements, a byte with the index of a point; then, for 32, four times seven signs and a scale of 4
// bits.
void decode_iq3_xxs(const uint8_t* from, float* to) {
  for (size_t part = 0; part < 8; ++part) {
    const auto signs = packed_number<uint32_t>(from + 66 + part * 4);
    const float scale = packed_half(from) * (0.5f + float(signs >> 28)) * 0.5f;
    for (size_t i = 0; i < 8; ++i)
      decode_point3(kGrid3Xxs[from[2 + part * 8 + i]], even_signs(signs >> (i / 2 * 7)) >> (i % 2 * 4), scale,
                    to + part * 32 + i * 4);
  }
}

constexpr PackedFormat kFormats[] = {
    {0, 1, 4, [](const uint8_t* from, float* to) { *to = packed_number<float>(from); }},
    {1, 1, 2, [](const uint8_t* from, float* to) { *to = packed_half(from); }},
    {2, 32, 18, decode_q4_0},
    {6, 32, 22, decode_q5_0},
    {8, 32, 34, decode_q8_0},
    {13, 256, 176, decode_q5_k},
    {14, 256, 210, decode_q6_k},
    {16, 256, 66, decode_iq2_xxs},
    {17, 256, 74, decode_iq2_xs},
    {18, 256, 98, decode_iq3_xxs},
    {20, 32, 18, decode_iq4_nl},
    {22, 256, 82, decode_iq2_s},
    {23, 256, 136, decode_iq4_xs},
    {30, 1, 2, [](const uint8_t* from, float* to) { *to = float(packed_number<bfloat16>(from)); }},
    {42, 64, 18, decode_q2_0},
};

}  // namespace

const PackedFormat* find_packed_format(int64_t id) {
  for (const PackedFormat& f : kFormats)
    if (f.id == id) return &f;
  return nullptr;
}

}  // namespace retort::ops
