#include "base/cgroup.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <vector>

namespace retort {
namespace {

/// A mounted hierarchy that has the controller "cpu".
struct Hierarchy {
  bool unified = false;  ///< version 2
  std::string root;      ///< the group that is mounted
  std::string mount_point;
};

// A list such as "cpu,cpuacct".
bool holds_cpu(const std::string& list) { return ("," + list + ",").find(",cpu,") != std::string::npos; }

// Lines of mountinfo: "36 35 98:0 /root /point options … - type source superoptions".
std::vector<Hierarchy> hierarchies(const std::string& root) {
  std::vector<Hierarchy> all;
  std::ifstream mounts(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    const size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream front(line.substr(0, dash)), back(line.substr(dash + 3));
    std::string skipped, type, options;
    Hierarchy h;
    front >> skipped >> skipped >> skipped >> h.root >> h.mount_point;
    back >> type >> skipped >> options;
    h.unified = type == "cgroup2";
    if (h.unified || (type == "cgroup" && holds_cpu(options))) all.push_back(h);
  }
  return all;
}

// The path of this process's group, as lines "4:cpu,cpuacct:/a/b" (version 1) and "0::/a/b" (version 2) tell it.
std::string own_group(const std::string& root, bool unified) {
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (unified ? controllers.empty() : holds_cpu(controllers)) return line.substr(second + 1);
  }
  return "/";
}

int processors(long quota, long period) { return quota > 0 && period > 0 ? int((quota + period - 1) / period) : 0; }

// The quota of the group in `folder` alone.
int quota_of(const std::string& folder, bool unified) {
  long quota = 0, period = 0;
  if (unified) {
    std::ifstream(folder + "/cpu.max") >> quota >> period;  // or "max 100000": reads no number
  } else {
    std::ifstream(folder + "/cpu.cfs_quota_us") >> quota;  // or -1
    std::ifstream(folder + "/cpu.cfs_period_us") >> period;
  }
  return processors(quota, period);
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
