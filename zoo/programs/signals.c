/* signals: writes "ready PID", then each signal's number on a line as it comes, with the value of one that has one
   (sigqueue); TERM (15) ends with 7, a missing reader of its output with 8.
   `signals quiet`: without the PID, so that two runs write the same.
   `signals anyhow`: those, too, that were ignored when it was started.
   `signals group`: sends its whole process group signal 35, once, when it is ready.
   `signals send PID SIGNAL VALUE`: sends one with a value. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const int known[] = {SIGHUP,  SIGINT,   SIGQUIT,   SIGABRT, SIGUSR1, SIGUSR2, SIGALRM, SIGTERM,
                            SIGCONT, SIGXCPU, SIGVTALRM, SIGPROF, SIGURG,  SIGWINCH, SIGPWR,  SIGPIPE, 35, 36};

int main(int count, char **arguments) {
    const char *mode = count > 1 ? arguments[1] : "";
    if (!strcmp(mode, "send") && count == 5) {
        union sigval value = {.sival_int = atoi(arguments[4])};
        return sigqueue(atoi(arguments[2]), atoi(arguments[3]), value) ? 9 : 0;
    }
    sigset_t set;
    sigemptyset(&set);
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++) {
        struct sigaction action;
        sigaction(known[i], 0, &action);
        if (action.sa_handler != SIG_IGN || !strcmp(mode, "anyhow")) sigaddset(&set, known[i]);
        if (!strcmp(mode, "anyhow")) signal(known[i], SIG_DFL);
    }
    sigprocmask(SIG_BLOCK, &set, 0);
    if (!strcmp(mode, "quiet")) printf("ready\n");
    else printf("ready %d\n", getpid());
    fflush(stdout);
    if (!strcmp(mode, "group")) kill(0, 35);
    for (;;) {
        siginfo_t info;
        int number = sigwaitinfo(&set, &info);
        if (number < 0) continue;
        if (info.si_code == SI_QUEUE) printf("%d %d\n", number, info.si_value.sival_int);
        else printf("%d\n", number);
        if (fflush(stdout)) return 8;
        if (number == SIGTERM) return 7;
    }
}
