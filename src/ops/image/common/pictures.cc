#include "ops/image/common/pictures.h"

#include <string_view>

#include "base/error.h"

namespace retort::ops {
namespace {

using Decoder = std::optional<Picture> (*)(std::span<const uint8_t>);
using std::string_view_literals::operator""sv;

struct PictureFormat {
  std::string_view begin;  ///< the first bytes of a file
  Decoder decode;
};

// That of WebP has the size of the file in between; decode_webp() checks the rest.
constexpr PictureFormat kPictureFormats[] = {
    {"\xff\xd8\xff"sv, decode_jpeg},
    {"\x89PNG\r\n\x1a\n"sv, decode_png},
    {"RIFF"sv, decode_webp},
    {"BM"sv, decode_bmp},
    {"II*\0"sv, decode_tiff},
    {"MM\0*"sv, decode_tiff},
    {"II+\0"sv, decode_tiff},  // with 64-bit offsets
    {"MM\0+"sv, decode_tiff},
    {"\0\0\0\x0cjP  \r\n\x87\n"sv, decode_jpeg2000},
    {"\xff\x4f\xff\x51"sv, decode_jpeg2000},
    {"P1"sv, decode_pnm},
    {"P2"sv, decode_pnm},
    {"P3"sv, decode_pnm},
    {"P4"sv, decode_pnm},
    {"P5"sv, decode_pnm},
    {"P6"sv, decode_pnm},
};

}  // namespace

bool has_pixels(int64_t width, int64_t height) {
  if (width <= 0 || height <= 0) return false;
  require(width <= kMostPixels / height, ErrorCode::invalid_argument,
          "the image has {} x {} pixels, the limit is {}; give a smaller one", width, height, kMostPixels);
  return true;
}

std::optional<Picture> new_picture(int64_t width, int64_t height) {
  if (!has_pixels(width, height)) return std::nullopt;
  const size_t bytes = size_t(width) * size_t(height) * 3;
  return Picture{size_t(width), size_t(height), std::vector<uint8_t>(bytes)};
}

std::optional<Picture> decode_picture(std::span<const uint8_t> file) {
  const std::string_view bytes(reinterpret_cast<const char*>(file.data()), file.size());
  for (const PictureFormat& format : kPictureFormats) {
    if (bytes.starts_with(format.begin)) return format.decode(file);
  }
  return std::nullopt;
}

}  // namespace retort::ops
