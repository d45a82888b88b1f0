// Memory and files that take longer to free than a call may take to return.
#pragma once
#include <memory>

namespace retort {

/// Drops `object` on a thread that exists only while there is something to drop, and returns at once. Its destructor must
/// not call the program's code. Without such a thread (the system has none to give), it is dropped here.
void drop_later(std::shared_ptr<void> object) noexcept;

/// Waits until everything that was given to drop_later() is gone, and the thread with it.
void finish_dropping();

/// Closes a file as drop_later() does: the system frees what it keeps in memory of a file that was just deleted when the
/// last descriptor is closed, at 60 to 300 ms per GiB.
void close_later(int file) noexcept;

}  // namespace retort
