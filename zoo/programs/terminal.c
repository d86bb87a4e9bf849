/* terminal MODE COMMAND...: runs COMMAND, which must end in the program `signals quiet`, as the job of a small
   shell on a terminal of its own, types at it, and logs the events.

   interrupt: Ctrl-C, then USR1 to the job's process alone, then TERM. A second INT, sent on by a wrapper,
              would have come before the USR1.
   stop:      Ctrl-Z; when the shell sees the job stopped, it continues it (fg), then TERM.
   alone:     the same by signals to the job's process alone: TSTP, CONT, TERM.
   hangup:    COMMAND is the leader of the terminal's session, as in a window of its own, and its output is a pipe;
              the terminal goes away, then TERM. The kernel tells the leader only, by HUP and CONT.
   Nothing waits for time but for the 30 seconds after which a test that hangs fails. However this program ends, the
   job ends with it: it listens for signals, and after a hangup no other process would send one. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static char seen[65536];
static size_t length, from;

/* Waits until the terminal has shown `text` (after the previous text). */
static void expect(int terminal, const char *text) {
    for (;;) {
        char *found = strstr(seen + from, text);
        if (found) {
            from = (size_t)(found - seen) + strlen(text);
            return;
        }
        struct pollfd wait = {terminal, POLLIN, 0};
        if (poll(&wait, 1, 30000) != 1 || length + 1 >= sizeof seen) {
            printf("missing %s in:\n%s", text, seen);
            exit(99);
        }
        ssize_t count = read(terminal, seen + length, sizeof seen - 1 - length);
        if (count <= 0) {
            printf("end before %s in:\n%s", text, seen);
            exit(98);
        }
        length += (size_t)count;
    }
}

/* The shell: session leader with the terminal; the job gets a process group of its own. */
static int shell(char **command, int tell_job, int go_on, int alone) {
    signal(SIGTTOU, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pid_t job = fork();
    if (!job) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setpgid(0, 0);
        tcsetpgrp(0, getpgrp());
        signal(SIGTTOU, SIG_DFL);
        close(tell_job);
        close(go_on);
        execv(command[0], command);
        _exit(127);
    }
    setpgid(job, job);
    tcsetpgrp(0, job);
    if (write(tell_job, &job, sizeof job) != sizeof job) return 97;
    for (;;) {
        int status;
        if (waitpid(job, &status, WUNTRACED) != job) return 96;
        if (!WIFSTOPPED(status)) {
            tcsetpgrp(0, getpgrp());
            if (WIFSIGNALED(status)) printf("job killed by %d\r\n", WTERMSIG(status));
            else printf("job exited with %d\r\n", WEXITSTATUS(status));
            fflush(stdout);
            return 0;
        }
        tcsetpgrp(0, getpgrp());
        printf("job stopped by %d\r\n", WSTOPSIG(status));
        fflush(stdout);
        char byte;
        if (read(go_on, &byte, 1) != 1) return 95;
        tcsetpgrp(0, job);
        kill(alone ? job : -job, SIGCONT);
    }
}

/* The terminal goes away. */
static int hangup(char **command) {
    int terminal, output[2], status = 0;
    if (pipe(output)) return 90;
    pid_t job = forkpty(&terminal, 0, 0, 0);
    if (job < 0) return 91;
    if (!job) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(output[1], 1);
        close(output[0]);
        close(output[1]);
        execv(command[0], command);
        _exit(127);
    }
    close(output[1]);
    expect(output[0], "ready\n");
    close(terminal);
    expect(output[0], "1\n");
    expect(output[0], "18\n");
    kill(job, SIGTERM);
    if (waitpid(job, &status, 0) != job) return 96;
    printf("%sjob exited with %d\r\n", seen, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    return 0;
}

int main(int count, char **arguments) {
    int terminal, tell_job[2], go_on[2];
    pid_t job = 0;
    if (count > 2 && !strcmp(arguments[1], "hangup")) return hangup(arguments + 2);
    if (count < 3 || pipe(tell_job) || pipe(go_on)) return 90;
    struct termios settings;
    memset(&settings, 0, sizeof settings);
    settings.c_lflag = ISIG | ICANON;
    settings.c_cc[VINTR] = 3;
    settings.c_cc[VSUSP] = 26;
    settings.c_cc[VQUIT] = 28;
    pid_t pid = forkpty(&terminal, 0, &settings, 0);
    if (pid < 0) return 91;
    int alone = !strcmp(arguments[1], "alone");
    if (!pid) return shell(arguments + 2, tell_job[1], go_on[0], alone);
    if (read(tell_job[0], &job, sizeof job) != sizeof job) return 92;
    expect(terminal, "ready\n");
    if (!strcmp(arguments[1], "interrupt")) {
        if (write(terminal, "\003", 1) != 1) return 93;
        expect(terminal, "2\n");
        kill(job, SIGUSR1);
        expect(terminal, "10\n");
    } else {
        if (alone) kill(job, SIGTSTP);
        else if (write(terminal, "\032", 1) != 1) return 93;
        expect(terminal, "job stopped by 20\r\n");
        if (write(go_on[1], "", 1) != 1) return 94;
        expect(terminal, "18\n");
    }
    kill(job, SIGTERM);
    expect(terminal, "job exited with 7\r\n");
    fputs(seen, stdout);
    waitpid(pid, 0, 0);
    return 0;
}
