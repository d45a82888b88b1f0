// Decoders of image files, one per format, each in the file of its name. BMP and PNM are read here; the others are read
// by libraries of the system (system_library.h). `file` is not trusted.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace retort::ops {

/// Rows of pixels from the top, each pixel as red, green, blue.
struct Picture {
  size_t width = 0, height = 0;
  std::vector<uint8_t> rgb;

  uint8_t* row(size_t y) { return rgb.data() + y * width * 3; }
};

inline constexpr int64_t kMostPixels = int64_t(1) << 28;
/// False if a side is 0 or negative. Throws invalid_argument if there are more than kMostPixels, which a few bytes of a
/// file may claim.
bool has_pixels(int64_t width, int64_t height);
/// Returns a black picture; nullopt and exceptions as those of has_pixels().
std::optional<Picture> new_picture(int64_t width, int64_t height);

/// Recognises the format by the first bytes. Returns nullopt if the format is another one or the file is damaged.
/// Throws not_implemented, naming library and package, if the library for the format cannot be loaded.
std::optional<Picture> decode_picture(std::span<const uint8_t> file);

std::optional<Picture> decode_bmp(std::span<const uint8_t> file);
std::optional<Picture> decode_jpeg(std::span<const uint8_t> file);
std::optional<Picture> decode_jpeg2000(std::span<const uint8_t> file);
std::optional<Picture> decode_png(std::span<const uint8_t> file);
std::optional<Picture> decode_pnm(std::span<const uint8_t> file);
std::optional<Picture> decode_tiff(std::span<const uint8_t> file);
std::optional<Picture> decode_webp(std::span<const uint8_t> file);

}  // namespace retort::ops
