#include "base/grid_order.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

namespace retort {
namespace {

using Cells = std::vector<std::pair<size_t, size_t>>;

Cells cells(size_t rows, size_t columns, int workers) {
  const GridOrder order(rows, columns, workers);
  Cells all;
  for (size_t task = 0; task < order.tasks(); ++task) all.emplace_back(order.at(task).row, order.at(task).column);
  return all;
}

TEST(GridOrder, one_worker_goes_column_after_column) {
  EXPECT_EQ(cells(3, 2, 1), (Cells{{0, 0}, {1, 0}, {2, 0}, {0, 1}, {1, 1}, {2, 1}}));
}

TEST(GridOrder, each_worker_has_rows_of_its_own) {
  EXPECT_EQ(cells(4, 2, 2), (Cells{{0, 0}, {1, 0}, {0, 1}, {1, 1}, {2, 0}, {3, 0}, {2, 1}, {3, 1}}));
}

TEST(GridOrder, a_single_row_is_divided_by_columns) { EXPECT_EQ(cells(1, 3, 2), (Cells{{0, 0}, {0, 1}, {0, 2}})); }

TEST(GridOrder, every_cell_is_one_task) {
  for (size_t rows = 1; rows < 9; ++rows) {
    for (size_t columns = 1; columns < 5; ++columns) {
      for (int workers = 1; workers < 12; ++workers) {
        const Cells all = cells(rows, columns, workers);
        const std::set<std::pair<size_t, size_t>> different(all.begin(), all.end());
        EXPECT_EQ(different.size(), rows * columns) << rows << " x " << columns << " for " << workers;
        EXPECT_LT(different.rbegin()->first, rows);
        for (const auto& cell : all) EXPECT_LT(cell.second, columns);
      }
    }
  }
}

}  // namespace
}  // namespace retort
