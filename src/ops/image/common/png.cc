// PNG by libpng: 8 bits of each colour, without gamma correction and without transparency.
#include <csetjmp>
#include <cstring>

#include "base/error.h"
#include "ops/image/common/pictures.h"
#include "ops/image/common/system_library.h"

namespace retort::ops {
namespace {

using ReadFn = void (*)(void*, uint8_t*, size_t);
using MessageFn = void (*)(void*, const char*);

struct Png {
  SystemLibrary library{"PNG", {"libpng16.so.16"}, "libpng16-16"};
  const char* (*version)(const void*) = library.function("png_get_libpng_ver");
  void* (*create)(const char*, void*, MessageFn, MessageFn) = library.function("png_create_read_struct");
  void* (*create_info)(void*) = library.function("png_create_info_struct");
  void (*destroy)(void**, void**, void**) = library.function("png_destroy_read_struct");
  void* (*error_pointer)(const void*) = library.function("png_get_error_ptr");
  void* (*io_pointer)(const void*) = library.function("png_get_io_ptr");
  void (*set_reader)(void*, void*, ReadFn) = library.function("png_set_read_fn");
  void (*read_info)(void*, void*) = library.function("png_read_info");
  uint32_t (*width)(const void*, const void*) = library.function("png_get_image_width");
  uint32_t (*height)(const void*, const void*) = library.function("png_get_image_height");
  void (*expand)(void*) = library.function("png_set_expand");
  void (*strip_16)(void*) = library.function("png_set_strip_16");
  void (*strip_alpha)(void*) = library.function("png_set_strip_alpha");
  void (*gray_to_rgb)(void*) = library.function("png_set_gray_to_rgb");
  int (*interlaced)(void*) = library.function("png_set_interlace_handling");
  void (*update)(void*, void*) = library.function("png_read_update_info");
  size_t (*row_bytes)(const void*, const void*) = library.function("png_get_rowbytes");
  void (*read_row)(void*, uint8_t*, uint8_t*) = library.function("png_read_row");
  void (*read_end)(void*, void*) = library.function("png_read_end");
};

const Png& png() {
  static const Png functions;
  return functions;
}

/// One file that is read. libpng reports an error by a function that may not return, so on_error() jumps back to
/// attempt(); the functions in between own nothing.
struct Reading {
  const Png& f;
  std::span<const uint8_t> rest;
  void *reader = nullptr, *info = nullptr;
  int passes = 1;
  std::jmp_buf failed;

  Reading(const Png& functions, std::span<const uint8_t> file) : f(functions), rest(file) {}
  Reading(const Reading&) = delete;
  ~Reading() {
    if (reader) f.destroy(&reader, &info, nullptr);
  }
};

[[noreturn]] void on_error(void* reader, const char*) {
  std::longjmp(static_cast<Reading*>(png().error_pointer(reader))->failed, 1);
}
void on_warning(void*, const char*) {}

void read_bytes(void* reader, uint8_t* to, size_t count) {
  auto& r = *static_cast<Reading*>(png().io_pointer(reader));
  if (count > r.rest.size()) on_error(reader, "");
  std::memcpy(to, r.rest.data(), count);
  r.rest = r.rest.subspan(count);
}

bool attempt(Reading& r, void (*step)(Reading&, Picture&), Picture& picture) {
  if (setjmp(r.failed)) return false;
  step(r, picture);
  return true;
}

void read_header(Reading& r, Picture&) {
  r.f.set_reader(r.reader, &r, read_bytes);
  r.f.read_info(r.reader, r.info);
  r.f.expand(r.reader);  // palettes and fewer than 8 bits
  r.f.strip_16(r.reader);
  r.f.strip_alpha(r.reader);
  r.f.gray_to_rgb(r.reader);
  r.passes = r.f.interlaced(r.reader);
  r.f.update(r.reader, r.info);
}

void read_rows(Reading& r, Picture& p) {
  for (int pass = 0; pass < r.passes; ++pass) {
    for (size_t y = 0; y < p.height; ++y) r.f.read_row(r.reader, p.row(y), nullptr);
  }
  r.f.read_end(r.reader, nullptr);
}

}  // namespace

std::optional<Picture> decode_png(std::span<const uint8_t> file) {
  const Png& f = png();
  Reading r(f, file);
  r.reader = f.create(f.version(nullptr), &r, on_error, on_warning);
  if (r.reader) r.info = f.create_info(r.reader);
  require(r.info != nullptr, ErrorCode::fail, "libpng cannot begin, probably out of memory; free some");
  Picture none;
  if (!attempt(r, read_header, none)) return std::nullopt;
  auto p = new_picture(f.width(r.reader, r.info), f.height(r.reader, r.info));
  if (!p || f.row_bytes(r.reader, r.info) != p->width * 3 || !attempt(r, read_rows, *p)) return std::nullopt;
  return p;
}

}  // namespace retort::ops
