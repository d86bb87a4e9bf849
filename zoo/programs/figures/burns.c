/* burns: uses CPU time. burns SECONDS [handled|ignored|forked|executed]: of this process; with a handler of SIGXCPU that ends it with
   status 9, or ignoring it; in a child by fork; as a program that was executed after half of the time. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double used(void) {
    struct timespec at;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
    return at.tv_sec + at.tv_nsec / 1e9;
}

static void burn(double seconds) {
    double until = used() + seconds;
    while (used() < until) {}
}

static void handler(int signal) {
    (void)signal;
    _exit(9);
}

int main(int count, char **words) {
    if (count < 2) return 2;
    double seconds = atof(words[1]);
    const char *how = count > 2 ? words[2] : "";
    if (!strcmp(how, "handled")) signal(SIGXCPU, handler);
    if (!strcmp(how, "ignored")) signal(SIGXCPU, SIG_IGN);
    if (!strcmp(how, "forked")) {
        int status;
        burn(seconds / 2);
        if (fork() == 0) {
            burn(seconds);
            _exit(0);
        }
        if (wait(&status) < 0) return 3;
        printf("child %s %d\n", WIFSIGNALED(status) ? "signal" : "status", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        return 0;
    }
    if (!strcmp(how, "executed")) {
        burn(seconds);
        execl("/proc/self/exe", words[0], words[1], (char *)0);
        return 4;
    }
    burn(seconds);
    puts("ended");
    return 0;
}
