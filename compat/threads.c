/* glibc 2.30: pthread_cond_clockwait, with which std::condition_variable and std::future wait for a time of the steady
 * clock. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "compat.h"

enum { kSecond = 1000000000 };

static bool before(struct timespec a, struct timespec b) {
  return a.tv_sec < b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec < b.tv_nsec);
}

/* start + (end - now), or start if end has passed. */
static struct timespec shifted(struct timespec start, struct timespec now, struct timespec end) {
  if (before(end, now)) return start;
  struct timespec sum = {start.tv_sec + (end.tv_sec - now.tv_sec), start.tv_nsec + (end.tv_nsec - now.tv_nsec)};
  if (sum.tv_nsec < 0) {
    sum.tv_nsec += kSecond;
    --sum.tv_sec;
  } else if (sum.tv_nsec >= kSecond) {
    sum.tv_nsec -= kSecond;
    ++sum.tv_sec;
  }
  return sum;
}

/* A condition variable only knows the realtime clock, unless it was made for another: it waits for the remaining time
 * on that clock. If the clock is set forward meanwhile, the wait ends like a spurious wake-up, which callers expect of
 * any wait (a second wait here would miss a signal between the two). If it is set back, the wait is longer by as much,
 * as with libstdc++ of gcc 9 and older. */
int retort_compat_wait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const struct timespec* end) {
  if (clock == CLOCK_REALTIME || end->tv_nsec < 0 || end->tv_nsec >= kSecond)
    return pthread_cond_timedwait(condition, mutex, end);
  if (clock != CLOCK_MONOTONIC) return EINVAL;
  struct timespec now, day;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &day);
  const struct timespec day_end = shifted(day, now, *end);
  const int code = pthread_cond_timedwait(condition, mutex, &day_end);
  if (code != ETIMEDOUT) return code;
  clock_gettime(clock, &now);
  return before(now, *end) ? 0 : ETIMEDOUT;
}

typedef int Wait(pthread_cond_t*, pthread_mutex_t*, clockid_t, const struct timespec*);
static Wait* system_wait;

/* The system's own function, if it has one. Looked up when this file is loaded: later, a caller's mutex would be held
 * while the loader takes its lock. */
__attribute__((constructor(101))) static void find_system_wait(void) {
  *(void**)&system_wait = dlsym(RTLD_DEFAULT, "pthread_cond_clockwait");
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* end) {
  return (system_wait ? system_wait : retort_compat_wait)(condition, mutex, clock, end);
}
