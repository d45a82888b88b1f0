// JPEG by the TurboJPEG interface of libjpeg-turbo.
#include <memory>

#include "base/error.h"
#include "ops/image/common/pictures.h"
#include "ops/image/common/system_library.h"

namespace retort::ops {
namespace {

constexpr int kRgb = 0, kCmykPixels = 11;  // TJPF
constexpr int kCmyk = 3, kYcck = 4;        // TJCS
constexpr int kAccurate = 4096;            // TJFLAG_ACCURATEDCT; the default smooth upsampling is that of the standard
constexpr int kFatal = 1;                  // TJERR

struct Turbo {
  SystemLibrary library{"JPEG", {"libturbojpeg.so.0"}, "libturbojpeg0"};
  void* (*create)() = library.function("tjInitDecompress");
  int (*destroy)(void*) = library.function("tjDestroy");
  int (*error_code)(void*) = library.function("tjGetErrorCode");
  int (*header)(void*, const unsigned char*, unsigned long, int*, int*, int*,
                int*) = library.function("tjDecompressHeader3");
  int (*decompress)(void*, const unsigned char*, unsigned long, unsigned char*, int, int, int, int,
                    int) = library.function("tjDecompress2");
};

const Turbo& turbo() {
  static const Turbo functions;  // tried again in the next call if it throws
  return functions;
}

/// Programs store the four inks inverted, so that 255 is white.
void to_rgb(const std::vector<uint8_t>& inks, Picture& p) {
  for (size_t i = 0; i < p.width * p.height; ++i) {
    for (size_t c = 0; c < 3; ++c) p.rgb[3 * i + c] = uint8_t((inks[4 * i + c] * inks[4 * i + 3] + 127) / 255);
  }
}

}  // namespace

std::optional<Picture> decode_jpeg(std::span<const uint8_t> file) {
  const Turbo& f = turbo();
  const std::unique_ptr<void, int (*)(void*)> handle(f.create(), f.destroy);
  require(handle != nullptr, ErrorCode::fail, "libturbojpeg cannot begin, probably out of memory; free some");
  int width = 0, height = 0, sampling = 0, colours = 0;
  if (f.header(handle.get(), file.data(), file.size(), &width, &height, &sampling, &colours) != 0) return std::nullopt;
  auto picture = new_picture(width, height);
  if (!picture) return std::nullopt;
  const bool inks = colours == kCmyk || colours == kYcck;
  std::vector<uint8_t> cmyk(inks ? picture->width * picture->height * 4 : 0);
  const int failed = f.decompress(handle.get(), file.data(), file.size(), inks ? cmyk.data() : picture->rgb.data(),
                                  width, 0, height, inks ? kCmykPixels : kRgb, kAccurate);
  // Files with stray bytes, which viewers show without a word, lead to warnings; they are no reason to reject an image.
  if (failed != 0 && f.error_code(handle.get()) == kFatal) return std::nullopt;
  if (inks) to_rgb(cmyk, *picture);
  return picture;
}

}  // namespace retort::ops
