// The processor time that the control group of this process allows.
#pragma once
#include <string>

namespace retort {

/// Number of processors according to the quotas of the process's control group and of all visible groups above it,
/// rounded up; 0 if there is no quota. Supports versions 1 and 2. `root` is put before every path that is read; it is
/// "" except in tests.
int cgroup_cpus(const std::string& root = "");

}  // namespace retort
