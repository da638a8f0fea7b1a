// Lets a program that is built with a newer glibc run with glibc 2.34, which Ubuntu 22.04, RHEL 9 and Amazon Linux 2023 have.
//
// glibc 2.35 gave hypot and hypotf a second version, which sets no errno. Nothing here reads errno after them, so the program
// calls the first version: the one that glibc has had since it runs on this architecture. The linker's option --wrap sends the
// program's calls here.
#if defined(__aarch64__)
#define FIRST "GLIBC_2.17"
#elif defined(__x86_64__)
#define FIRST "GLIBC_2.2.5"
#else
#error "Which version of glibc was the first on this architecture? glibc's libm.abilist says it."
#endif

__asm__(".symver first_hypot, hypot@" FIRST);
__asm__(".symver first_hypotf, hypotf@" FIRST);

double first_hypot(double, double);
float first_hypotf(float, float);

double __wrap_hypot(double x, double y) { return first_hypot(x, y); }
float __wrap_hypotf(float x, float y) { return first_hypotf(x, y); }
