/* What the C library's own build gives every file before its first line. The files are compiled for programs here: names
   are neither hidden nor given a second time. */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define IS_IN(module) 0
#define TIMEOUTFACTOR 1
#define __set_errno(value) (errno = (value))
#define attribute_hidden
#define attribute_relro
#define weak_function
#define attribute_tls_model_ie
#define rtld_hidden_proto(...)
#define libc_hidden_proto(...)
#define libc_hidden_def(...)
#define libc_hidden_weak(...)
#define weak_alias(...)
#define strong_alias(...)
