/* starts COUNT HOW PROGRAM: tries COUNT times to start PROGRAM, and waits for it each time.

     plain    as it is               empty    without an environment
     nobody   as user 65534          root     with the folder of PROGRAM as its root
     data     with 8 MB of data      space    with 24 MB of address space, at the most
     filter   with a filter that kills at calls that a library might make at its start
     quiet    the same, installed by `syscall`

   or, if COUNT is `becomes`, continues as PROGRAM, and kills itself if it cannot. */
#define _GNU_SOURCE
#include <libgen.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../filter.h"

extern char **environ;

/* Kills at calls that a library might make at its start. */
static long filter(int by_call) {
    struct sock_filter rows[] = {
        NUMBER,
        KILL(SYS_madvise),
        KILL(SYS_getrusage),
        KILL(SYS_clock_gettime),
        KILL(SYS_getpid),
        KILL(SYS_readlink),
        OTHERWISE(SECCOMP_RET_ALLOW),
    };
    return INSTALL(rows, by_call);
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
