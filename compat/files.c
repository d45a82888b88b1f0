/* Since glibc 2.33, these are functions; before, they were inline functions in headers that called the functions
 * below. */
struct stat;

#ifdef __x86_64__
enum { kVersion = 1 };
#else
enum { kVersion = 0 };
#endif

int __xstat(int version, const char* path, struct stat* result);
int __fxstat(int version, int file, struct stat* result);
int __lxstat(int version, const char* path, struct stat* result);
int __fxstatat(int version, int folder, const char* path, struct stat* result, int flags);

int stat(const char* path, struct stat* result) { return __xstat(kVersion, path, result); }
int fstat(int file, struct stat* result) { return __fxstat(kVersion, file, result); }
int lstat(const char* path, struct stat* result) { return __lxstat(kVersion, path, result); }
int fstatat(int folder, const char* path, struct stat* result, int flags) {
  return __fxstatat(kVersion, folder, path, result, flags);
}

/* The names of _FILE_OFFSET_BITS=64: where long has 64 bits, the struct is the same. */
_Static_assert(sizeof(long) == 8, "the structs of stat and stat64 differ on this processor");
int stat64(const char*, struct stat*) __attribute__((alias("stat")));
int fstat64(int, struct stat*) __attribute__((alias("fstat")));
int lstat64(const char*, struct stat*) __attribute__((alias("lstat")));
int fstatat64(int, const char*, struct stat*, int) __attribute__((alias("fstatat")));
