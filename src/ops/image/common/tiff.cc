// TIFF by libtiff: the first image of the file, as 8 bits of red, green and blue.
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>

#include "ops/image/common/pictures.h"
#include "ops/image/common/system_library.h"

namespace retort::ops {
namespace {

using Transfer = std::ptrdiff_t (*)(void*, void*, std::ptrdiff_t);
using TiffSeek = uint64_t (*)(void*, uint64_t, int);
using Close = int (*)(void*);
using Size = uint64_t (*)(void*);
using Map = int (*)(void*, void**, uint64_t*);
using Unmap = void (*)(void*, void*, uint64_t);
using Report = int (*)(void*, void*, const char*, const char*, va_list);

constexpr uint32_t kWidth = 256, kHeight = 257;  // tags
constexpr int kTopLeft = 1;
constexpr std::ptrdiff_t kMostBytes = std::ptrdiff_t(4) * kMostPixels;

struct Tiff {
  SystemLibrary library{"TIFF", {"libtiff.so.6", "libtiff.so.5"}, "libtiff6"};
  void* (*open)(const char*, const char*, void*, Transfer, Transfer, TiffSeek, Close, Size, Map,
                Unmap) = library.function("TIFFClientOpen");
  void (*close)(void*) = library.function("TIFFClose");
  int (*field)(void*, uint32_t, ...) = library.function("TIFFGetField");
  int (*read)(void*, uint32_t, uint32_t, uint32_t*, int, int) = library.function("TIFFReadRGBAImageOriented");
  // From 4.5 on: reports of one file, without changing those of the process. Before, libtiff writes to standard error.
  void* (*new_options)() = library.optional("TIFFOpenOptionsAlloc");
  void (*free_options)(void*) = library.optional("TIFFOpenOptionsFree");
  void (*limit_memory)(void*, std::ptrdiff_t) = library.optional("TIFFOpenOptionsSetMaxSingleMemAlloc");
  void (*on_error)(void*, Report, void*) = library.optional("TIFFOpenOptionsSetErrorHandlerExtR");
  void (*on_warning)(void*, Report, void*) = library.optional("TIFFOpenOptionsSetWarningHandlerExtR");
  void* (*open_with)(const char*, const char*, void*, Transfer, Transfer, TiffSeek, Close, Size, Map, Unmap,
                     void*) = library.optional("TIFFClientOpenExt");
  bool has_options() const {
    return new_options && free_options && limit_memory && on_error && on_warning && open_with;
  }
};

const Tiff& tiff() {
  static const Tiff functions;
  return functions;
}

struct TiffSource {
  std::span<const uint8_t> file;
  uint64_t at = 0;
};

std::ptrdiff_t read_bytes(void* source, void* to, std::ptrdiff_t count) {
  auto& s = *static_cast<TiffSource*>(source);
  if (count <= 0 || s.at >= s.file.size()) return 0;
  const size_t n = std::min(size_t(count), s.file.size() - size_t(s.at));
  std::memcpy(to, s.file.data() + s.at, n);
  s.at += n;
  return std::ptrdiff_t(n);
}
std::ptrdiff_t write_bytes(void*, void*, std::ptrdiff_t) { return 0; }
uint64_t seek(void* source, uint64_t offset, int whence) {
  auto& s = *static_cast<TiffSource*>(source);
  s.at = offset + (whence == SEEK_CUR ? s.at : whence == SEEK_END ? s.file.size() : 0);
  return s.at;
}
int close_source(void*) { return 0; }
uint64_t size(void* source) { return static_cast<TiffSource*>(source)->file.size(); }
int map(void*, void**, uint64_t*) { return 0; }
void unmap(void*, void*, uint64_t) {}
int silent(void*, void*, const char*, const char*, va_list) { return 1; }

void* open(const Tiff& f, TiffSource& source) {
  constexpr const char *kName = "image", *kMode = "rm";  // m: not mapped
  if (!f.has_options())
    return f.open(kName, kMode, &source, read_bytes, write_bytes, seek, close_source, size, map, unmap);
  const std::unique_ptr<void, void (*)(void*)> options(f.new_options(), f.free_options);
  if (!options) return nullptr;
  f.limit_memory(options.get(), kMostBytes);
  f.on_error(options.get(), silent, nullptr);
  f.on_warning(options.get(), silent, nullptr);
  return f.open_with(kName, kMode, &source, read_bytes, write_bytes, seek, close_source, size, map, unmap,
                     options.get());
}

}  // namespace

std::optional<Picture> decode_tiff(std::span<const uint8_t> file) {
  const Tiff& f = tiff();
  TiffSource source{file};
  const std::unique_ptr<void, void (*)(void*)> image(open(f, source), f.close);
  uint32_t width = 0, height = 0;
  if (!image || !f.field(image.get(), kWidth, &width) || !f.field(image.get(), kHeight, &height)) return std::nullopt;
  auto p = new_picture(width, height);
  if (!p) return std::nullopt;
  std::vector<uint32_t> pixels(p->width * p->height);
  if (!f.read(image.get(), width, height, pixels.data(), kTopLeft, 1)) return std::nullopt;
  for (size_t i = 0; i < pixels.size(); ++i) {
    for (size_t c = 0; c < 3; ++c) p->rgb[3 * i + c] = uint8_t(pixels[i] >> (8 * c));
  }
  return p;
}

}  // namespace retort::ops
