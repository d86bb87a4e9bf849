/* starts COUNT HOW PROGRAM: tries COUNT times to start PROGRAM, and waits for it each time.

     plain    as it is               empty    without an environment
     nobody   as user 65534          root     with the folder of PROGRAM as its root
     data     with 8 MB of data      space    with 24 MB of address space, at the most
     filter   behind a filter that kills for what a library might ask the kernel at its start
     quiet    the same, installed by `syscall`

   or, where COUNT is `becomes`, goes on as PROGRAM, and kills itself where it cannot. */
#define _GNU_SOURCE
#include <libgen.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define KILL(number)                                                         \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),                       \
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

static long filter(int is_quiet) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        KILL(SYS_madvise),
        KILL(SYS_getrusage),
        KILL(SYS_clock_gettime),
        KILL(SYS_getpid),
        KILL(SYS_readlink),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return -1;
    return is_quiet ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)
                    : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int count, char **words) {
    if (count < 4) return 2;
    char *program = words[3], *nothing[] = {NULL};
    char **environment = strcmp(words[2], "empty") ? environ : nothing;
    if (!strcmp(words[2], "nobody") && setresuid(65534, 65534, 65534)) return 3;
    if (!strcmp(words[2], "root")) {
        char *folder = strdup(program);
        if (chroot(dirname(folder)) || chdir("/")) return 4;
        program = basename(program);
    }
    struct rlimit data = {8000000, 8000000}, space = {24000000, 24000000};
    if (!strcmp(words[2], "data") && setrlimit(RLIMIT_DATA, &data)) return 5;
    if (!strcmp(words[2], "space") && setrlimit(RLIMIT_AS, &space)) return 6;
    int is_quiet = !strcmp(words[2], "quiet");
    if ((is_quiet || !strcmp(words[2], "filter")) && filter(is_quiet)) return 7;
    char *arguments[] = {program, NULL};
    if (!strcmp(words[1], "becomes")) {
        execv(program, arguments);
        raise(SIGKILL);
    }
    for (long i = 0; i < atol(words[1]); i++) {
        pid_t child;
        if (posix_spawn(&child, program, NULL, NULL, arguments, environment) == 0) waitpid(child, NULL, 0);
    }
    return 0;
}
