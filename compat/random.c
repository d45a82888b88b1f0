/* glibc 2.36: arc4random, from which std::random_device takes its numbers. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

/* For kernels without the system call: reads the device. Failures cannot be reported to callers. */
static size_t read_device(char* to, size_t size) {
  const int file = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
  if (file < 0) abort();
  ssize_t got;
  do got = read(file, to, size);
  while (got < 0 && errno == EINTR);
  close(file);
  if (got <= 0) abort();
  return (size_t)got;
}

void arc4random_buf(void* buffer, size_t size) {
  const int before = errno;
  char* to = buffer;
  while (size) {
    const ssize_t got = getrandom(to, size, 0);
    if (got < 0 && errno == EINTR) continue;
    const size_t filled = got > 0 ? (size_t)got : read_device(to, size);
    to += filled;
    size -= filled;
  }
  errno = before;
}

uint32_t arc4random(void) {
  uint32_t number;
  arc4random_buf(&number, sizeof number);
  return number;
}
