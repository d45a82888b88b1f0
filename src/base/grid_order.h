// The order of the tasks of a grid in a loop whose workers have parts of their own (task_parts.h).
#pragma once
#include <algorithm>
#include <cstddef>

namespace retort {

/// Tasks are cells of row blocks times column groups. Each worker's part of the loop has rows of its own, as it has in
/// loops over rows, and inside the part column after column, so that what a column needs is read once for all rows of
/// the part. With one worker, tasks are column after column.
class GridOrder {
 public:
  struct Cell {
    size_t row, column;
  };

  /// At least one row and one worker.
  GridOrder(size_t rows, size_t columns, int workers)
      : rows_(rows), columns_(columns), parts_(std::min(size_t(workers), rows)) {}

  size_t tasks() const { return rows_ * columns_; }
  Cell at(size_t task) const {
    const size_t part = ((task / columns_ + 1) * parts_ - 1) / rows_;
    const size_t begin = rows_ * part / parts_, rows = rows_ * (part + 1) / parts_ - begin;
    const size_t inside = task - begin * columns_;
    return {begin + inside % rows, inside / rows};
  }

 private:
  size_t rows_, columns_, parts_;
};

}  // namespace retort
