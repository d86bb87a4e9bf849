/* sandbox HOW: from now on the kernel kills this process at any system call but those that malloc, writing and ending
   need; works with its heap and ends in good order with 6. HOW: filter by prctl, or by the call seccomp. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ALLOW(number)                                                        \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),                       \
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

int main(int count, char **words) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_write),
        ALLOW(SYS_brk),
        ALLOW(SYS_mmap),
        ALLOW(SYS_munmap),
        ALLOW(SYS_mremap),
        ALLOW(SYS_madvise),
        ALLOW(SYS_futex),
        ALLOW(SYS_getrandom),
        ALLOW(SYS_exit_group),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (count < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return 90;
    long failed = strcmp(words[1], "prctl") ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)
                                            : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    if (failed) return 91;
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
