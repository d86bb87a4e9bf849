// fork_blocked: forks while a signal is blocked, as shells and servers do. Each child frees ten of its parent's blocks.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GOT = 700, FREED = 300, CHILDREN = 3, EACH = 10 };
static char *blocks[GOT];

int main(void)
{
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGCHLD);
    sigprocmask(SIG_BLOCK, &one, NULL);
    for (int at = 0; at < GOT; at++)
        blocks[at] = malloc(20 + at % 400);
    for (int at = 0; at < FREED; at++)
        free(blocks[at]);
    for (int child = 0; child < CHILDREN; child++) {
        pid_t pid = fork();
        if (pid == 0) {
            for (int at = FREED; at < FREED + EACH; at++)
                free(blocks[at]);
            _exit(0);
        }
        int status;
        if (waitpid(pid, &status, 0) != pid || status != 0)
            return 1;
    }
    for (int at = FREED; at < GOT; at++)
        free(blocks[at]);
    puts("done");
    return 0;
}
