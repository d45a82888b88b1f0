/* Functions of the loopback provider's library besides the provider: settings, counters and a timeline, for tests and
 * measurements. Open the library with dlopen and find the functions by name, even before the library is registered. */
#ifndef LOOPBACK_H_
#define LOOPBACK_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of both devices together, since the last LoopbackReset. */
typedef struct LoopbackCounts {
  int64_t to_device, to_device_bytes;     /* copies from the host to a device */
  int64_t from_device, from_device_bytes; /* from a device to the host */
  int64_t on_device, on_device_bytes;     /* from a device to the same or another one */
  int64_t allocations;                    /* blocks that the library allocated */
  int64_t compiled;                       /* parts */
  int64_t runs;                           /* of parts and of registered kernels */
  int64_t kernels;                        /* operators that were computed */
  int64_t alive;                          /* blocks not freed; LoopbackReset does not change it */
  int64_t streams;                        /* streams not released; likewise */
} LoopbackCounts;

/* An event on a device. Times are of the steady clock, in nanoseconds. */
typedef struct LoopbackEvent {
  const char* what; /* an operator, or "host to device", "device to host", "device to device" */
  int64_t begin, end, bytes;
  int64_t stream; /* 0: on the caller's thread */
} LoopbackEvent;

typedef void (*LoopbackCountersFn)(LoopbackCounts* counts);
typedef void (*LoopbackResetFn)(void);
/* Sets an option of README.md for all later sessions. Returns 0 if there is no such option or value. */
typedef int (*LoopbackSetFn)(const char* key, const char* value);
/* Starts a new recording of events, or stops it. */
typedef void (*LoopbackRecordFn)(int on);
/* Writes the events so far, at most `room`; returns their number. */
typedef size_t (*LoopbackEventsFn)(LoopbackEvent* events, size_t room);

#ifdef __cplusplus
}
#endif
#endif
