#include "base/cgroup.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>
#include <string_view>
#include <vector>

#include "base/checked.h"

namespace retort {
namespace {

// The text of a kernel file, empty if it cannot be read. (Streams would add the locales of the C++ library, 0.5 MB.)
std::string text_of(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"), std::fclose);
  std::string text;
  char part[4096];
  for (size_t n = 1; file && n != 0;) text.append(part, n = std::fread(part, 1, sizeof(part), file.get()));
  return text;
}

// The non-empty parts of `text` between separators.
std::vector<std::string> pieces(std::string_view text, char separator) {
  std::vector<std::string> all;
  for (size_t end; !text.empty(); text.remove_prefix(std::min(end + 1, text.size()))) {
    end = std::min(text.find(separator), text.size());
    if (end != 0) all.emplace_back(text.substr(0, end));
  }
  return all;
}

/// A mounted hierarchy that has the controller "cpu".
struct Hierarchy {
  bool unified = false;  ///< whether it has version 2
  std::string root;      ///< the group that is mounted
  std::string mount_point;
};

// A list such as "cpu,cpuacct".
bool holds_cpu(const std::string& list) { return ("," + list + ",").find(",cpu,") != std::string::npos; }

// Parses lines of mountinfo: "36 35 98:0 /root /point options … - type source superoptions".
std::vector<Hierarchy> hierarchies(const std::string& root) {
  std::vector<Hierarchy> all;
  for (const std::string& line : pieces(text_of(root + "/proc/self/mountinfo"), '\n')) {
    const std::vector<std::string> words = pieces(line, ' ');
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (dash - words.begin() < 5 || words.end() - dash < 4) continue;
    const bool unified = dash[1] == "cgroup2";
    if (unified || (dash[1] == "cgroup" && holds_cpu(dash[3]))) all.push_back({unified, words[3], words[4]});
  }
  return all;
}

// The path of this process's group, from lines "4:cpu,cpuacct:/a/b" (version 1) and "0::/a/b" (version 2).
std::string own_group(const std::string& root, bool unified) {
  for (const std::string& line : pieces(text_of(root + "/proc/self/cgroup"), '\n')) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (unified ? controllers.empty() : holds_cpu(controllers)) return line.substr(second + 1);
  }
  return "/";
}

int processors(long quota, long period) { return quota > 0 && period > 0 ? int(ceil_div(quota, period)) : 0; }

// The number at the beginning of a text; 0 if there is none ("max").
long number_in(const std::string& text) {
  long value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// The quota of the group in `folder` alone.
int quota_of(const std::string& folder, bool unified) {
  if (!unified) {  // a quota of -1 means none
    return processors(number_in(text_of(folder + "/cpu.cfs_quota_us")),
                      number_in(text_of(folder + "/cpu.cfs_period_us")));
  }
  const std::vector<std::string> words = pieces(text_of(folder + "/cpu.max"), ' ');  // "50000 100000" or "max 100000"
  return words.size() < 2 ? 0 : processors(number_in(words[0]), number_in(words[1]));
}

}  // namespace

int cgroup_cpus(const std::string& root) {
  int least = 0;
  for (const Hierarchy& h : hierarchies(root)) {
    std::string group = own_group(root, h.unified);
    if (h.root != "/" && (group + "/").starts_with(h.root + "/")) group.erase(0, h.root.size());
    const std::string top = root + h.mount_point;
    for (std::string folder = top + (group == "/" ? "" : group); folder.size() >= top.size();
         folder.resize(folder.rfind('/'))) {
      const int cpus = quota_of(folder, h.unified);
      if (cpus > 0) least = least == 0 ? cpus : std::min(least, cpus);
    }
  }
  return least;
}

}  // namespace retort
