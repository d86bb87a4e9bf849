/* signals: writes "ready PID", then each signal's number on a line as it comes; TERM (15) ends with 7.
   `signals quiet`: without the PID, so that two runs write the same. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const int known[] = {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGTERM, SIGWINCH, SIGCONT};

int main(int count, char **arguments) {
    sigset_t set;
    sigemptyset(&set);
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++) {
        struct sigaction action;
        sigaction(known[i], 0, &action);
        if (action.sa_handler != SIG_IGN) sigaddset(&set, known[i]);
    }
    sigprocmask(SIG_BLOCK, &set, 0);
    if (count > 1 && !strcmp(arguments[1], "quiet")) printf("ready\n");
    else printf("ready %d\n", getpid());
    fflush(stdout);
    for (;;) {
        int number = 0;
        sigwait(&set, &number);
        printf("%d\n", number);
        fflush(stdout);
        if (number == SIGTERM) return 7;
    }
}
