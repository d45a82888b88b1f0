/* glibc 2.32: true while the process has one thread, and counters of shared pointers need no atomic instructions. False is always
   right. A copy of the true one would not do: it changes when any library starts a thread. */
char __libc_single_threaded = 0;
