/* Up to glibc 2.33, the start-up code of a program passed __libc_start_main a function that runs the program's
 * constructors. Since 2.34 it passes none, and __libc_start_main finds them itself; an older one does not look for
 * them. Programs are linked with --wrap=__libc_start_main, so that their start-up code calls this function, which
 * passes one: every version calls it once, and newer ones then look for no others. In every version, the loader runs
 * constructors of .preinit_array and all destructors. */
typedef int Main(int, char**, char**);
typedef void Init(int, char**, char**);
typedef void Fini(void);

/* Begin and end of .init_array, from the linker; _init is from crti.o. */
extern Init* const __init_array_start[] __attribute__((visibility("hidden")));
extern Init* const __init_array_end[] __attribute__((visibility("hidden")));
void _init(void);

int __real___libc_start_main(Main* main, int count, char** words, Init* init, Fini* fini, Fini* loader_fini,
                             void* stack_end);
int __wrap___libc_start_main(Main* main, int count, char** words, Init* init, Fini* fini, Fini* loader_fini,
                             void* stack_end);

static void run_constructors(int count, char** words, char** environment) {
  _init();
  for (Init* const* one = __init_array_start; one != __init_array_end; ++one) (*one)(count, words, environment);
}

int __wrap___libc_start_main(Main* main, int count, char** words, Init* init, Fini* fini, Fini* loader_fini,
                             void* stack_end) {
  return __real___libc_start_main(main, count, words, init ? init : run_constructors, fini, loader_fini, stack_end);
}
