// WebP by libwebp. Of an animation, there is no single image.
#include "ops/image/common/pictures.h"
#include "ops/image/common/system_library.h"

namespace retort::ops {
namespace {

struct WebP {
  SystemLibrary library{"WebP", {"libwebp.so.7", "libwebp.so.6"}, "libwebp7"};
  int (*info)(const uint8_t*, size_t, int*, int*) = library.function("WebPGetInfo");
  uint8_t* (*decode)(const uint8_t*, size_t, uint8_t*, size_t, int) = library.function("WebPDecodeRGBInto");
};

const WebP& webp() {
  static const WebP functions;
  return functions;
}

}  // namespace

std::optional<Picture> decode_webp(std::span<const uint8_t> file) {
  const WebP& f = webp();
  int width = 0, height = 0;
  if (f.info(file.data(), file.size(), &width, &height) == 0) return std::nullopt;
  auto p = new_picture(width, height);
  if (!p || !f.decode(file.data(), file.size(), p->rgb.data(), p->rgb.size(), width * 3)) return std::nullopt;
  return p;
}

}  // namespace retort::ops
