/* glibc 2.38: for C++ and C23, headers replace strtol and others by these functions, which also read binary numbers
 * (0b101) if the base is 0, 2 or given by the text. Retort reads none. Headers are not included, as they would make
 * each function call itself. */
#include <stdarg.h>
#include <stddef.h>

long strtol(const char* text, char** end, int base);
unsigned long strtoul(const char* text, char** end, int base);
long long strtoll(const char* text, char** end, int base);
unsigned long long strtoull(const char* text, char** end, int base);
int vsscanf(const char* text, const char* format, va_list arguments);

long __isoc23_strtol(const char* text, char** end, int base) { return strtol(text, end, base); }
unsigned long __isoc23_strtoul(const char* text, char** end, int base) { return strtoul(text, end, base); }
long long __isoc23_strtoll(const char* text, char** end, int base) { return strtoll(text, end, base); }
unsigned long long __isoc23_strtoull(const char* text, char** end, int base) { return strtoull(text, end, base); }

int __isoc23_vsscanf(const char* text, const char* format, va_list arguments) {
  return vsscanf(text, format, arguments);
}

int __isoc23_sscanf(const char* text, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int read = vsscanf(text, format, arguments);
  va_end(arguments);
  return read;
}
