#include "base/task_parts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <thread>

namespace retort {
namespace {

std::vector<size_t> all_that(TaskParts::Taker taker) {
  std::vector<size_t> tasks;
  for (size_t task = 0; taker.take(task);) tasks.push_back(task);
  return tasks;
}

TaskParts begun(size_t workers, size_t tasks, size_t parts) {
  TaskParts p;
  p.resize(workers);
  p.begin(tasks, parts);
  return p;
}

TEST(TaskParts, a_worker_takes_its_own_part_in_order_and_then_the_ends_of_others) {
  TaskParts p = begun(3, 9, 3);
  EXPECT_EQ(all_that({p, 1}), (std::vector<size_t>{3, 4, 5, 8, 7, 6, 2, 1, 0}));
  EXPECT_EQ(all_that({p, 0}), std::vector<size_t>());
}

TEST(TaskParts, the_owner_goes_on_where_a_helper_has_taken_the_end) {
  TaskParts p = begun(2, 8, 2);
  TaskParts::Taker owner(p, 0), helper(p, 1);
  size_t task = 0;
  EXPECT_TRUE(owner.take(task) && task == 0);
  for (const size_t expected : {4, 5, 6, 7, 3, 2}) EXPECT_TRUE(helper.take(task) && task == expected) << task;
  EXPECT_TRUE(owner.take(task) && task == 1);
  EXPECT_FALSE(owner.take(task));
  EXPECT_FALSE(helper.take(task));
}

TEST(TaskParts, parts_are_the_same_in_every_loop_of_as_many_tasks) {
  TaskParts p = begun(4, 10, 4);
  const std::vector<size_t> first = all_that({p, 2});
  p.begin(3, 4);
  EXPECT_EQ(all_that({p, 0}).size(), 3u);
  p.begin(10, 4);
  EXPECT_EQ(all_that({p, 2}), first);
}

TEST(TaskParts, with_one_part_all_workers_take_tasks_in_order) {
  TaskParts p = begun(3, 5, 1);
  TaskParts::Taker a(p, 0), b(p, 2);
  size_t task = 9;
  for (size_t i = 0; i < 5; ++i) EXPECT_TRUE((i % 2 ? a : b).take(task) && task == i);
  EXPECT_FALSE(a.take(task));
}

TEST(TaskParts, fewer_tasks_than_workers_give_parts_of_one_task) {
  for (size_t worker = 0; worker < 5; ++worker) {
    TaskParts p = begun(5, 2, 5);
    size_t task = 9;
    EXPECT_TRUE(TaskParts::Taker(p, worker).take(task));
    EXPECT_EQ(task, worker % 2);
  }
  TaskParts none = begun(5, 0, 5);
  EXPECT_EQ(all_that({none, 3}), std::vector<size_t>());
}

TEST(TaskParts, no_number_is_lost_in_the_longest_loop) {
  TaskParts p = begun(2, TaskParts::kMostTasks, 2);
  size_t task = 0;
  TaskParts::Taker owner(p, 1);
  EXPECT_TRUE(owner.take(task));
  EXPECT_EQ(task, TaskParts::kMostTasks / 2);
  p.begin(TaskParts::kMostTasks, 1);
  TaskParts::Taker last(p, 1);
  EXPECT_TRUE(last.take(task));
  EXPECT_EQ(task, 0u);
}

TEST(TaskParts, every_task_is_taken_once_by_threads_at_the_same_time) {
  constexpr size_t kWorkers = 4, kTasks = 20000;
  for (const size_t parts : {size_t(1), size_t(3), kWorkers}) {
    TaskParts p = begun(kWorkers, kTasks, parts);
    std::vector<std::vector<size_t>> taken(kWorkers);
    std::vector<std::thread> threads;
    for (size_t w = 0; w < kWorkers; ++w) threads.emplace_back([&, w] { taken[w] = all_that({p, w}); });
    for (auto& t : threads) t.join();
    std::vector<size_t> all, expected(kTasks);
    for (const auto& some : taken) all.insert(all.end(), some.begin(), some.end());
    std::ranges::sort(all);
    std::iota(expected.begin(), expected.end(), size_t(0));
    EXPECT_EQ(all, expected);
  }
}

}  // namespace
}  // namespace retort
