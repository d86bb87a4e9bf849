/* sandbox HOW: from now on the kernel kills this process at any system call but those that malloc, writing and ending
   need; works with its heap and ends in good order with 6. HOW: filter by prctl, or by the call seccomp. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../filter.h"

int main(int count, char **words) {
    struct sock_filter rows[] = {
        NUMBER,
        ALLOW(SYS_write),
        ALLOW(SYS_brk),
        ALLOW(SYS_mmap),
        ALLOW(SYS_munmap),
        ALLOW(SYS_mremap),
        ALLOW(SYS_madvise),
        ALLOW(SYS_futex),
        ALLOW(SYS_getrandom),
        ALLOW(SYS_exit_group),
        OTHERWISE(SECCOMP_RET_KILL_PROCESS),
    };
    if (count < 2) return 90;
    if (INSTALL(rows, strcmp(words[1], "prctl"))) return 91;
    for (int i = 0; i < 3000; i++) {
        char *volatile small = malloc(i), *volatile large = calloc(1, 4 << 20);
        if (!small || !large) return 92;
        if (i % 10 == 0) memset(large, 1, 4 << 20);
        large = realloc(large, 6 << 20);
        if (i % 3) free(small);
        free(large);
    }
    if (write(1, "done\n", 5) != 5) return 93;
    return 6;
}
