#include "cli/text.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "cli/terminal.h"

namespace retort::cli {
namespace {

struct Character {
  uint32_t code = 0;
  size_t bytes = 0;  ///< 0: not UTF-8
};

Character first_of(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? uint8_t(text[i]) : uint8_t(0); };
  const uint8_t lead = byte(0);
  const size_t more = lead < 0x80 ? 0 : lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
  if (more == 0) return {lead, 1};
  if (lead < 0xc2 || lead > 0xf4) return {};
  uint32_t code = lead & (0x3fu >> more);
  for (size_t i = 1; i <= more; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  const bool shorter = code < (more == 2 ? 0x800u : more == 3 ? 0x10000u : 0x80u);
  if (shorter || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return {};
  return {code, more + 1};
}

struct Range {
  uint32_t first, last;
};

template <size_t N>
bool is_in(const Range (&ranges)[N], uint32_t code) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [code](const Range& r) { return code >= r.first && code <= r.last; });
}

/// Control characters, marks of the direction of writing, separators of lines, and invisible characters.
bool acts(uint32_t code) {
  constexpr Range kActing[] = {{0, 0x1f},        {0x7f, 0x9f},      {0x61c, 0x61c},   {0x200b, 0x200b},
                               {0x200e, 0x200f}, {0x2028, 0x202e},  {0x2060, 0x206f}, {0xfeff, 0xfeff},
                               {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};
  return is_in(kActing, code);
}

/// The columns that a terminal gives to a character: none to one that is drawn over the one before it, two to those of
/// East Asia and to emoji.
size_t width_of(uint32_t code) {
  constexpr Range kOver[] = {{0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},   {0x610, 0x61a},   {0x64b, 0x65f},
                             {0x900, 0x902},   {0x93c, 0x93c},   {0x941, 0x948},   {0xe31, 0xe31},   {0xe34, 0xe3a},
                             {0xe47, 0xe4e},   {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200c, 0x200d}, {0x20d0, 0x20ff},
                             {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};
  constexpr Range kWide[] = {{0x1100, 0x115f},   {0x231a, 0x231b},   {0x2e80, 0x303e},   {0x3041, 0x33ff},
                             {0x3400, 0x4dbf},   {0x4e00, 0xa4cf},   {0xa960, 0xa97f},   {0xac00, 0xd7a3},
                             {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
                             {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};
  return is_in(kOver, code) ? 0 : is_in(kWide, code) ? 2 : 1;
}

std::string escaped(uint32_t code) {
  if (code == '\n') return "\\n";
  if (code == '\t') return "\\t";
  char text[16];
  std::snprintf(text, sizeof text, code < 0x100 ? "\\x%02x" : "\\u%04x", code);
  return text;
}

/// The length of an escape sequence for a colour at the start of the text.
size_t colour(std::string_view text) { return text.starts_with("\033[") ? text.find('m') + 1 : 0; }

}  // namespace

std::string clean(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const Character c = first_of(std::string_view(text).substr(at));
    if (c.bytes == 0)
      out += escaped(uint8_t(text[at]));
    else
      out += acts(c.code) ? escaped(c.code) : text.substr(at, c.bytes);
    at += std::max<size_t>(c.bytes, 1);
  }
  return out;
}

std::string clean_lines(const std::string& text) {
  std::string lines;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines += (at ? "\n" : "") + clean(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

nlohmann::json clean(const nlohmann::json& data) {
  if (data.is_string()) return clean(data.get_ref<const std::string&>());
  if (!data.is_structured()) return data;
  nlohmann::json out = data.is_array() ? nlohmann::json::array() : nlohmann::json::object();
  for (const auto& [key, value] : data.items()) {
    if (data.is_array())
      out.push_back(clean(value));
    else
      out[clean(key)] = clean(value);
  }
  return out;
}

void print_json(const nlohmann::json& data) {
  std::printf("%s\n", data.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

size_t columns_of(const std::string& text) {
  size_t n = 0;
  for (size_t at = 0; at < text.size();) {
    if (const size_t paint = colour(std::string_view(text).substr(at))) {
      at += paint;
      continue;
    }
    const Character c = first_of(std::string_view(text).substr(at));
    at += std::max<size_t>(c.bytes, 1);
    n += width_of(c.code);
  }
  return n;
}

std::string shortened(const std::string& text, size_t columns) {
  const size_t all = columns_of(text);
  if (all <= columns || text.find('\033') != std::string::npos) return text;
  const size_t front = (columns - 1) / 2, back = columns - 1 - front;
  std::string begin, end;
  size_t n = 0;
  for (size_t at = 0; at < text.size();) {
    const Character c = first_of(std::string_view(text).substr(at));
    const size_t bytes = std::max<size_t>(c.bytes, 1), width = width_of(c.code);
    if (n + width <= front)
      begin += text.substr(at, bytes);
    else if (n >= all - back && (width > 0 || !end.empty()))  // a mark needs the character that it is drawn over
      end += text.substr(at, bytes);
    n += width;
    at += bytes;
  }
  return begin + "…" + end;
}

std::string wrapped(const std::string& text, size_t width, size_t indent) {
  std::string out, word;
  size_t at = 0;
  const auto put = [&] {
    if (word.empty()) return;
    const size_t n = columns_of(word);
    if (at > 0 && at + 1 + n > width) {
      out += "\n" + std::string(indent, ' ');
      at = indent;
    } else if (at > 0 && !out.ends_with(' ')) {
      out += " ";
      ++at;
    }
    out += word;
    at += n;
    word.clear();
  };
  for (const char c : text) {
    if (c == ' ' || c == '\n')
      put();
    else
      word += c;
  }
  put();
  return out;
}

std::vector<size_t> Table::widths() const {
  std::vector<size_t> widths;
  for (size_t c = 0; c < columns_.size(); ++c) {
    size_t width = columns_of(columns_[c].title);
    for (const auto& row : rows_) width = std::max(width, c < row.size() ? columns_of(row[c]) : 0);
    widths.push_back(width);
  }
  constexpr size_t kLeast = 16, kGap = 2;
  size_t all = indent_;
  for (const size_t width : widths) all += width + kGap;
  const size_t limit = isatty(STDOUT_FILENO) ? terminal_width() + kGap : SIZE_MAX;
  while (all > limit) {  // the widest column becomes narrower
    size_t widest = SIZE_MAX;
    for (size_t c = 0; c < widths.size(); ++c) {
      if (!columns_[c].right && widths[c] > kLeast && (widest == SIZE_MAX || widths[c] > widths[widest])) widest = c;
    }
    if (widest == SIZE_MAX) break;
    --widths[widest];
    --all;
  }
  return widths;
}

std::string Table::line(const std::vector<std::string>& cells, const std::vector<size_t>& widths) const {
  std::string out(indent_, ' ');
  for (size_t c = 0; c < widths.size(); ++c) {
    const std::string cell = c < cells.size() ? shortened(cells[c], std::max<size_t>(widths[c], 1)) : "";
    const std::string space(widths[c] - std::min(widths[c], columns_of(cell)), ' ');
    out += columns_[c].right ? space + cell : cell + space;
    out += "  ";
  }
  return out.substr(0, out.find_last_not_of(' ') + 1) + "\n";
}

std::string Table::text() const {
  const std::vector<size_t> wide = widths();
  std::vector<std::string> titles;
  for (const Column& c : columns_) titles.push_back(c.title);
  const bool titled = std::any_of(titles.begin(), titles.end(), [](const auto& t) { return !t.empty(); });
  std::string out = titled ? line(titles, wide) : "";
  for (const auto& row : rows_) out += line(row, wide);
  return out;
}

void Table::print() const { std::fputs(text().c_str(), stdout); }

}  // namespace retort::cli
