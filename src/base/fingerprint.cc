#include "base/fingerprint.h"

#include <elf.h>
#include <link.h>

#include <bit>
#include <cstring>

#include "base/checked.h"
#include "base/error.h"
#include "base/loading.h"

namespace retort {
namespace {

constexpr uint64_t kOdd[] = {0xa4093822299f31d1, 0x082efa98ec4e6c89, 0x452821e638d01377, 0xbe5466cf34e90c6d};

uint64_t fold(uint64_t x, uint64_t y) {
  const auto product = static_cast<unsigned __int128>(x) * y;
  return uint64_t(product) ^ uint64_t(product >> 64);
}

uint64_t word(const char* p) {
  uint64_t w;
  std::memcpy(&w, p, sizeof w);
  return w;
}

struct Search {
  uintptr_t inside;  ///< an address in the object that is searched for
  std::string_view id;
};

// The description of the note NT_GNU_BUILD_ID among the notes at `p`.
std::string_view find_id(const char* p, const char* end) {
  while (size_t(end - p) >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, p, sizeof note);
    const char* const name = p + sizeof note;
    const size_t name_size = round_up(note.n_namesz, 4), size = round_up(note.n_descsz, 4);
    if (name_size + size > size_t(end - name)) break;
    const bool gnu = note.n_namesz == sizeof ELF_NOTE_GNU && std::memcmp(name, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0;
    if (gnu && note.n_type == NT_GNU_BUILD_ID) return {name + name_size, note.n_descsz};
    p = name + name_size + size;
  }
  return {};
}

int look_into(dl_phdr_info* object, size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  std::string_view id;
  bool here = false;
  for (size_t i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    const uintptr_t begin = object->dlpi_addr + part.p_vaddr;
    here |= part.p_type == PT_LOAD && search.inside - begin < part.p_memsz;
    const char* const notes = reinterpret_cast<const char*>(begin);
    if (part.p_type == PT_NOTE && id.empty()) id = find_id(notes, notes + part.p_memsz);
  }
  if (here) search.id = id;
  return here;
}

}  // namespace

void Fingerprint::add(const void* bytes, size_t size) {
  const char* p = static_cast<const char*>(bytes);
  uint64_t a = a_ ^ kOdd[0], b = b_ + size;
  const auto take = [&](const char* from) {
    a = std::rotl(a, 29) ^ fold(word(from) ^ kOdd[0], word(from + 8) ^ a ^ kOdd[1]);
    b = std::rotl(b, 31) ^ fold(word(from + 16) ^ kOdd[2], word(from + 24) ^ b ^ kOdd[3]);
  };
  in_pieces(size / 32 * 32, [&](size_t begin, size_t bytes) {
    for (size_t at = 0; at < bytes; at += 32) take(p + begin + at);
  });
  if (const size_t left = size % 32) {
    char last[32] = {};
    std::memcpy(last, p + size - left, left);
    take(last);
  }
  a_ = fold(a ^ kOdd[2], b ^ kOdd[1]) ^ b;
  b_ = fold(b ^ kOdd[0], a ^ kOdd[3]) ^ a;
}

std::string Fingerprint::text() const { return fmt::format("{:016x}{:016x}", a_, b_); }

std::string_view build_id() {
  static const std::string_view id = [] {
    Search search{reinterpret_cast<uintptr_t>(&kOdd), {}};
    dl_iterate_phdr(look_into, &search);
    return search.id;
  }();
  return id;
}

}  // namespace retort
