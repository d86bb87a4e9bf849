/* sandbox HOW: from now on the kernel kills this process at any system call except those that malloc, writing and ending
   need; works with its heap and ends in good order with 6. HOW: filter by prctl, or by the call seccomp; or the strict mode,
   in which only reading, writing and the end of a thread are allowed: it then lives on some kilobytes of its heap.
     unadvised the same without madvise, which a heap that neither trims itself nor asks for huge pages does without
     past      the filter is installed without prctl, by syscall alone; past-strict: strict mode in this way
     library   the filter is made and installed by libseccomp, where this was compiled with it
     unending  the kernel refuses the call that ends a process; the one that ends a thread is allowed. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../filter.h"

/* With no more than glibc's malloc holds after its first request. */
static int strict(int past) {
    char *blocks[90];
    /* The kept block prevents glibc from giving the rest back, which would end it, too. */
    char *volatile kept = malloc(10000);
    if (!kept) return 92;
    if (past ? syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL) : prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)) return 91;
    for (int round = 0; round < 5000; round++) {
        for (int i = 0; i < 90; i++) blocks[i] = memset(malloc(i * 10 + 1), i, i * 10 + 1);
        for (int i = 0; i < 90; i++) free(blocks[i]);
    }
    long status = write(1, "done\n", 5) == 5 ? 6 : 93;
    syscall(SYS_exit, status);
    return 94;
}

#ifdef LIBRARY
#include <seccomp.h>
static int by_library(void) {
    static const int allowed[] = {SCMP_SYS(write), SCMP_SYS(brk), SCMP_SYS(mmap), SCMP_SYS(munmap), SCMP_SYS(mremap),
                                  SCMP_SYS(madvise), SCMP_SYS(futex), SCMP_SYS(getrandom), SCMP_SYS(exit_group)};
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
    if (!filter) return 1;
    for (unsigned i = 0; i < sizeof allowed / sizeof *allowed; i++)
        if (seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0)) return 1;
    int result = seccomp_load(filter);
    seccomp_release(filter);
    return result;
}
#else
static int by_library(void) {
    return 1;
}
#endif

static int unending(void) {
    struct sock_filter rows[] = {
        NUMBER,
        REFUSE(SYS_exit_group),
        OTHERWISE(SECCOMP_RET_ALLOW),
    };
    if (INSTALL(rows, 0)) return 91;
    if (write(1, "done\n", 5) != 5) return 93;
    _exit(6);
}

int main(int count, char **words) {
    struct sock_filter rows[] = {
        NUMBER,
        ALLOW(SYS_write),
        ALLOW(SYS_brk),
        ALLOW(SYS_mmap),
        ALLOW(SYS_munmap),
        ALLOW(SYS_mremap),
        ALLOW(SYS_futex),
        ALLOW(SYS_getrandom),
        ALLOW(SYS_exit_group),
        ALLOW(SYS_madvise),
        OTHERWISE(SECCOMP_RET_KILL_PROCESS),
    };
    if (count < 2) return 90;
    /* The comparison with madvise becomes another one with exit_group. */
    if (!strcmp(words[1], "unadvised")) rows[sizeof rows / sizeof *rows - 3].k = SYS_exit_group;
    if (!strcmp(words[1], "strict")) return strict(0);
    if (!strcmp(words[1], "past-strict")) return strict(1);
    if (!strcmp(words[1], "unending")) return unending();
    if (!strcmp(words[1], "past")) {
        struct sock_fprog program = {sizeof rows / sizeof *rows, rows};
        if (syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return 91;
        if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)) return 91;
    } else if (!strcmp(words[1], "library") ? by_library() : INSTALL(rows, strcmp(words[1], "prctl"))) {
        return 91;
    }
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
