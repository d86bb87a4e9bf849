/* Versions of symbols that new programs are no longer linked with: each test names one of the first version. */
#pragma once

#define PTHREAD_IN_LIBC 1
#define SHLIB_COMPAT(...) 0
#define TEST_COMPAT(...) 1
#define compat_symbol_reference(library, name, symbol, version) \
  __asm__ (".symver " #name "," #symbol "@GLIBC_2.2.5")
