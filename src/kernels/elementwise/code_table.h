// Functions of one code of 8 bits, by a table.
#pragma once
#include <cstddef>
#include <cstdint>

namespace retort::kernels {

/// y[i] = table[x[i]] of 256 entries; y may be x. Serial.
void map_codes(const uint8_t* table, const uint8_t* x, size_t n, uint8_t* y) noexcept;

}  // namespace retort::kernels
