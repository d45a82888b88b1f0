// Reads the held-out digits and draws them in a terminal.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace digits {

constexpr int kSide = 8;
constexpr int kPixels = kSide * kSide;
constexpr int kClasses = 10;
constexpr int kWhite = 16;  // pixels are 0..16

struct Digits {
  std::vector<uint8_t> pixels;  // count() * kPixels
  std::vector<uint8_t> labels;
  size_t count() const { return labels.size(); }
  std::span<const uint8_t> image(size_t k) const { return {pixels.data() + k * kPixels, kPixels}; }
};

/// Reads heldout_images.npy and heldout_labels.npy. Throws std::runtime_error.
Digits read_digits(const std::string& folder);

/// One line of an image, 16 columns wide: shades of grey, or block characters if colours are off.
std::string draw_line(std::span<const uint8_t> image, int row, bool colours);

/// A bar of up to 7 columns for a share in 0..1.
std::string draw_bar(double share);

constexpr size_t kCellColumns = 2 * kSide;  // columns of an image

/// Columns of UTF-8 text on the screen; colour sequences take none.
size_t columns(const std::string& text);

}  // namespace digits
