/* forks_in_handler: a signal handler that forks, as a crash reporter's does, while the program's only thread is in the
 * middle of getting and freeing. The child ends at once; the program goes on, all bytes in place. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FORKS = 400, PIECES = 256 };

static volatile sig_atomic_t forks, failed;

static void handler(int signal) {
    (void)signal;
    if (forks == FORKS) return;
    pid_t child = fork();
    if (!child) _exit(3);
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0) {
    }
    if (child < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 3) failed = 1;
    forks++;
}

int main(void) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigaction(SIGPROF, &action, NULL);
    struct itimerval often = {{0, 300}, {0, 300}};
    setitimer(ITIMER_PROF, &often, NULL);
    static unsigned char *piece[PIECES];
    static size_t length[PIECES];
    for (unsigned long i = 0, x = 1; forks < FORKS; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        unsigned at = (unsigned)(x >> 56);
        for (size_t k = 0; k < length[at]; k += 512)
            if (piece[at][k] != (unsigned char)at) failed = 2;
        free(piece[at]);
        length[at] = 1 + (x >> 33) % (i % 1024 ? 60000 : 2000000);
        piece[at] = malloc(length[at]);
        if (piece[at]) memset(piece[at], (int)at, length[at]);
        else length[at] = 0;
    }
    printf("%d forks, %d wrong\n", (int)forks, (int)failed);
    return 0;
}
