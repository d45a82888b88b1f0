/* Declarations of the functions of this folder that its tests call. */
#pragma once
#include <pthread.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif
int retort_compat_wait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const struct timespec* end);
#ifdef __cplusplus
}
#endif
