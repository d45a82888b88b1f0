// How much processor time the control group of this process allows.
#pragma once
#include <string>

namespace retort {

/// Processors by the quotas of the process's control group and of all groups above it that can be seen, rounded up;
/// 0: no quota. Version 1 and 2. `root` stands before every path that is read: "" but in tests.
int cgroup_cpus(const std::string& root = "");

}  // namespace retort
