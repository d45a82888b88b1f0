#include "images.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace digits {
namespace {

// Reads the elements of a .npy file of bytes (format 1.0: magic, version, length of the header, header, data).
std::vector<uint8_t> read_npy(const std::string& path) {
  if (!std::filesystem::exists(path))
    throw std::runtime_error(path + " does not exist; give its folder, examples/digits");
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error(path + " cannot be read");
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  if (bytes.size() < 10 || bytes.compare(1, 5, "NUMPY") != 0) throw std::runtime_error(path + " is not an .npy file");
  const size_t header = static_cast<uint8_t>(bytes[8]) + 256u * static_cast<uint8_t>(bytes[9]);
  if (bytes.size() < 10 + header || bytes.substr(10, header).find("'|u1'") == std::string::npos)
    throw std::runtime_error(path + " does not hold bytes");
  return {bytes.begin() + 10 + static_cast<ptrdiff_t>(header), bytes.end()};
}

}  // namespace

Digits read_digits(const std::string& folder) {
  Digits d{read_npy(folder + "/heldout_images.npy"), read_npy(folder + "/heldout_labels.npy")};
  if (d.labels.empty() || d.pixels.size() != d.count() * kPixels)
    throw std::runtime_error(folder + ": the numbers of images and labels do not match");
  return d;
}

std::string draw_line(std::span<const uint8_t> image, int row, bool colours) {
  static constexpr const char* kBlocks[] = {"  ", "░░", "▒▒", "▓▓", "██"};
  std::string line;
  for (const int pixel : image.subspan(static_cast<size_t>(row) * kSide, kSide)) {
    if (colours) {
      line += "\033[48;5;" + std::to_string(232 + pixel * 23 / kWhite) + "m  ";  // the 24 greys of 256 colours
    } else {
      line += kBlocks[pixel * 4 / kWhite];
    }
  }
  return colours ? line + "\033[0m" : line;
}

std::string draw_bar(double share) {
  static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(std::lround(share * 56));
  std::string bar;
  for (int k = 0; k < eighths / 8; ++k) bar += "█";
  return bar + kEighths[eighths % 8];
}

size_t columns(const std::string& text) {
  size_t n = 0;
  bool escape = false;
  for (const char ch : text) {
    if (ch == '\033') escape = true;
    if (!escape && (static_cast<unsigned char>(ch) & 0xC0) != 0x80) ++n;  // not a continuation byte
    if (ch == 'm') escape = false;
  }
  return n;
}

}  // namespace digits
