/* glibc 2.32: true while the process has one thread, so that counters of shared pointers need no atomic instructions.
 * False is always correct. A copy of the system's variable would not work: it changes when any library starts a
 * thread. */
char __libc_single_threaded = 0;
