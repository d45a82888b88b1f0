#include "nvrtc_text.h"

#include <algorithm>
#include <cctype>
#include <regex>
#include <set>

#include "texts.h"

namespace software_cuda {
namespace {

struct Found {
  std::string name, threads = "0";
};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

size_t skip_space(const std::string& s, size_t i) {
  while (i < s.size() && std::isspace(static_cast<unsigned char>(s[i]))) ++i;
  return i;
}

/// The place behind the bracket that closes the one at `i`.
size_t closing(const std::string& s, size_t i) {
  int depth = 0;
  for (; i < s.size(); ++i) {
    if (s[i] == '(') ++depth;
    if (s[i] == ')' && --depth == 0) return i + 1;
  }
  return s.size();
}

/// The first of the arguments between two brackets.
std::string first_argument(const std::string& inner) {
  int depth = 0;
  for (size_t i = 0; i < inner.size(); ++i) {
    if (inner[i] == '(') ++depth;
    if (inner[i] == ')') --depth;
    if (inner[i] == ',' && depth == 0) return inner.substr(0, i);
  }
  return inner;
}

/// What is declared behind `__global__` at `i`; the name is empty if it is no kernel that can be found by name.
Found read_kernel(const std::string& s, size_t i) {
  size_t begin = s.find_last_of(";}{", i);
  begin = begin == std::string::npos ? 0 : begin;
  const std::string before = s.substr(begin, i - begin);
  const bool plain = before.find("\"C\"") != std::string::npos || s.find("extern \"C\" {") != std::string::npos;
  if (before.find("template") != std::string::npos || !plain) return {};
  Found found;
  for (i += 10; i < s.size();) {
    i = skip_space(s, i);
    size_t end = i;
    while (end < s.size() && is_word(s[end])) ++end;
    if (end == i) return {};
    const std::string word = s.substr(i, end - i);
    i = skip_space(s, end);
    if (i >= s.size() || s[i] != '(') continue;
    const size_t close = closing(s, i);
    if (word == "__launch_bounds__") {
      found.threads = first_argument(s.substr(i + 1, close - i - 2));
    } else if (word != "__attribute__") {
      found.name = word;
      return found;
    }
    i = close;
  }
  return {};
}

std::vector<Found> kernels(const std::string& s) {
  std::vector<Found> all;
  std::set<std::string> names;
  for (size_t i = s.find("__global__"); i != std::string::npos; i = s.find("__global__", i + 10)) {
    Found f = read_kernel(s, i);
    if (!f.name.empty() && names.insert(f.name).second) all.push_back(std::move(f));
  }
  return all;
}

/// Dynamic shared memory becomes a pointer: `extern static` is not C++.
std::string with_dynamic_shared(const std::string& s) {
  static const std::regex declaration(
      R"(\bextern\s+((?:__align__\s*\([^)]*\)\s*|alignas\s*\([^)]*\)\s*)?)__shared__\s+((?:__align__\s*\([^)]*\)\s*|alignas\s*\([^)]*\)\s*)?)([\w:<>\s]+?)\s*\b(\w+)\s*\[\s*\]\s*;)");
  std::string out;
  size_t from = 0;
  long depth = 0;
  for (std::sregex_iterator it(s.begin(), s.end(), declaration), end; it != end; ++it) {
    const auto at = size_t(it->position());
    depth += std::count(s.begin() + long(from), s.begin() + long(at), '{') -
             std::count(s.begin() + long(from), s.begin() + long(at), '}');
    out.append(s, from, at - from);
    const std::string type = (*it)[3], name = (*it)[4];
    if (depth > 0) {
      out += type + "* const " + name + " = (" + type + "*)software_shared;";
    } else {
      out += "\n#undef " + name + "\n#define " + name + " ((" + type + "*)software_shared)\n";
    }
    from = at + size_t(it->length());
  }
  return out.append(s, from);
}

}  // namespace

std::string wrap(const std::string& text) {
  std::string whole = software_text_abi;
  whole += software_text_front;
  whole += software_text_math;
  whole += with_dynamic_shared(text);
  whole += "\n";
  // The types of prelude.cuh are there if its functions are declared.
  if (text.find("to_f16(float v);") != std::string::npos) whole += "#define SOFTWARE_PRELUDE\n";
  whole += "#line 1 \"shim_tail.cuh\"\n";
  whole += software_text_tail;
  for (const Found& k : kernels(text)) whole += "SOFTWARE_KERNEL(" + k.name + ", (" + k.threads + "))\n";
  return whole;
}

}  // namespace software_cuda
