/* The answers of dladdr and dlsym to this program: a bit for each correct one. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

long asker(long x) {
    Dl_info info;
    long right = 0;
    if (dladdr((char *)asker + 1, &info))
        right |= (strstr(info.dli_fname, "asker") != NULL) | (!strcmp(info.dli_sname, "asker")) << 1
               | (info.dli_saddr == (void *)asker) << 2 | (info.dli_fbase < info.dli_saddr) << 3;
    if (dladdr(&right, &info) == 0) right |= 16;
    if (dladdr(dlsym(RTLD_DEFAULT, "puts"), &info) && strstr(info.dli_fname, "libc")) right |= 32;
    if (dlsym(RTLD_NEXT, "puts") == dlsym(RTLD_DEFAULT, "puts")) right |= 64;
    if (!dlsym(RTLD_NEXT, "there_is_no_such_thing") && dlerror()) right |= 128;
    return right + x;
}
