/* What the memory allows for y = -x and y = x of N floats: loops of two threads with plain stores, which read each line
 * before they write to it, and with stores past the caches, which do not.
 *
 *     cc -O2 -pthread stores.c -o stores && ./stores N BLOCKS
 *
 * Prints {"negated": {"plain": s, "streamed": s}, "copied": {...}}: medians of the seconds of a pass, over blocks that
 * alternate. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { kThreads = 2, kPasses = 5, kMost = 1000 };
static const size_t kTask = 1 << 18; /* floats that a thread takes at a time */

static float *x, *y;
static size_t count, next;

static void negate(size_t at, size_t n) {
  for (size_t i = at; i < at + n; ++i) y[i] = -x[i];
}
static void copy(size_t at, size_t n) { memcpy(y + at, x + at, n * sizeof *x); }

#ifdef __SSE2__
static void negate_streamed(size_t at, size_t n) {
  const __m128 sign = _mm_set1_ps(-0.0f);
  for (size_t i = at; i < at + n; i += 4) _mm_stream_ps(y + i, _mm_xor_ps(_mm_load_ps(x + i), sign));
  _mm_sfence();
}
static void copy_streamed(size_t at, size_t n) {
  for (size_t i = at; i < at + n; i += 4) _mm_stream_ps(y + i, _mm_load_ps(x + i));
  _mm_sfence();
}
#else
#define negate_streamed negate
#define copy_streamed copy
#endif

typedef void Loop(size_t at, size_t n);
static Loop *const loops[] = {negate, negate_streamed, copy, copy_streamed};

static void *work(void *loop) {
  for (size_t at; (at = __atomic_fetch_add(&next, kTask, __ATOMIC_RELAXED)) < count;)
    (*(Loop *const *)loop)(at, count - at < kTask ? count - at : kTask);
  return NULL;
}

static double pass(Loop *const *loop) {
  struct timespec a, b;
  pthread_t others[kThreads - 1];
  next = 0;
  clock_gettime(CLOCK_MONOTONIC, &a);
  for (int t = 0; t < kThreads - 1; ++t) pthread_create(&others[t], NULL, work, (void *)loop);
  work((void *)loop);
  for (int t = 0; t < kThreads - 1; ++t) pthread_join(others[t], NULL);
  clock_gettime(CLOCK_MONOTONIC, &b);
  return (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
}

static float *allocate(size_t bytes) {
  const size_t huge = (size_t)2 << 20;
  char *p = mmap(NULL, bytes + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) exit(2);
  p += (huge - (size_t)p % huge) % huge;
  madvise(p, bytes, MADV_HUGEPAGE);
  memset(p, 1, bytes);
  return (float *)p;
}

static int ascending(const void *a, const void *b) {
  const double d = *(const double *)a - *(const double *)b;
  return d < 0 ? -1 : d > 0;
}

int main(int argc, char **argv) {
  static double times[4][kMost];
  const int blocks = argc > 2 ? atoi(argv[2]) : 0;
  count = argc > 1 ? (size_t)atoll(argv[1]) / 16 * 16 : 0;
  if (count == 0 || blocks < 1 || blocks > kMost) return 1;
  x = allocate(count * sizeof *x);
  y = allocate(count * sizeof *y);
  for (int b = 0; b < blocks; ++b) {
    for (int l = 0; l < 4; ++l) {
      times[l][b] = 0;
      for (int i = 0; i < kPasses; ++i) times[l][b] += pass(&loops[l]) / kPasses;
    }
  }
  for (int l = 0; l < 4; ++l) qsort(times[l], (size_t)blocks, sizeof(double), ascending);
  printf("{\"negated\": {\"plain\": %g, \"streamed\": %g}, \"copied\": {\"plain\": %g, \"streamed\": %g}}\n",
         times[0][blocks / 2], times[1][blocks / 2], times[2][blocks / 2], times[3][blocks / 2]);
  return 0;
}
