#include "base/cgroup.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>

#include "base/cpu.h"

namespace retort {
namespace {

/// A folder that stands for the root of the file system.
class Machine : public testing::Test {
 protected:
  Machine() {
    std::string name = (std::filesystem::temp_directory_path() / "retort_cgroup_XXXXXX").string();
    root_ = mkdtemp(name.data());
  }
  ~Machine() override { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text << "\n";
  }
  std::string root_;
};

constexpr char kUnified[] = "29 22 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate";

TEST_F(Machine, WithoutGroupsHasNoQuota) { EXPECT_EQ(cgroup_cpus(root_), 0); }

TEST_F(Machine, Version2RoundsUp) {
  write("/proc/self/mountinfo", kUnified);
  write("/proc/self/cgroup", "0::/");
  EXPECT_EQ(cgroup_cpus(root_), 0);
  write("/sys/fs/cgroup/cpu.max", "max 100000");
  EXPECT_EQ(cgroup_cpus(root_), 0);
  write("/sys/fs/cgroup/cpu.max", "150000 100000");
  EXPECT_EQ(cgroup_cpus(root_), 2);
  write("/sys/fs/cgroup/cpu.max", "20000 100000");
  EXPECT_EQ(cgroup_cpus(root_), 1);
}

TEST_F(Machine, TheSmallestQuotaOnTheWayUpCounts) {
  write("/proc/self/mountinfo", kUnified);
  write("/proc/self/cgroup", "0::/system.slice/app.service");
  write("/sys/fs/cgroup/system.slice/app.service/cpu.max", "800000 100000");
  EXPECT_EQ(cgroup_cpus(root_), 8);
  write("/sys/fs/cgroup/system.slice/cpu.max", "300000 100000");
  EXPECT_EQ(cgroup_cpus(root_), 3);
}

TEST_F(Machine, Version1) {
  write("/proc/self/mountinfo",
        "30 22 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
        "33 22 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct");
  write("/proc/self/cgroup", "7:cpuset:/elsewhere\n4:cpu,cpuacct:/job");
  write("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "50000");
  write("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "-1");
  EXPECT_EQ(cgroup_cpus(root_), 0);
  write("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "200000");
  EXPECT_EQ(cgroup_cpus(root_), 4);
}

// As in a container without a cgroup namespace: its own group is mounted, but the path is that of the host.
TEST_F(Machine, AMountedGroupIsTheVisibleRoot) {
  write("/proc/self/mountinfo", "33 22 0:30 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu");
  write("/proc/self/cgroup", "4:cpu:/docker/abc");
  write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
  write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000");
  EXPECT_EQ(cgroup_cpus(root_), 1);
}

TEST(UsableCpus, KeepsToTheAffinityMask) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  }
  const int all = usable_cpus();
  EXPECT_GE(all, 1);
  EXPECT_LE(all, CPU_COUNT(&before));
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(usable_cpus(), 1);
  sched_setaffinity(0, sizeof before, &before);
}

}  // namespace
}  // namespace retort
