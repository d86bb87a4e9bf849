/* given FILE ARGUMENTS: writes into FILE everything that a program gets at exec, except for process numbers
   and underbar's own parts. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

int main(int count, char **arguments) {
    FILE *file;
    char closed[3];
    for (int fd = 0; fd < 3; fd++) closed[fd] = fcntl(fd, F_GETFD) < 0;
    file = fopen(arguments[1], "w");
    if (!file) return 1;
    fprintf(file, "closed %d%d%d\n", closed[0], closed[1], closed[2]);
    for (int fd = 3; fd < 200; fd++)
        if (fd != fileno(file) && fcntl(fd, F_GETFD) >= 0) fprintf(file, "open %d\n", fd);
    for (int i = 0; i < count; i++) fprintf(file, "argument %s\n", arguments[i]);
    for (char **string = environ; *string; string++)
        if (strncmp(*string, "UNDERBAR_", 9) && strncmp(*string, "LD_PRELOAD=", 11))
            fprintf(file, "variable %s\n", *string);
    sigset_t mask;
    sigprocmask(SIG_BLOCK, 0, &mask);
    for (int number = 1; number < 65; number++) {
        struct sigaction action;
        if (sigaction(number, 0, &action)) continue;
        if (action.sa_handler != SIG_DFL) fprintf(file, "ignored %d\n", number);
        if (sigismember(&mask, number)) fprintf(file, "held back %d\n", number);
    }
    mode_t mode = umask(0);
    fprintf(file, "umask %o\n", mode);
    for (int kind = 0; kind < RLIM_NLIMITS; kind++) {
        struct rlimit limit;
        getrlimit(kind, &limit);
        fprintf(file, "limit %d %lu %lu\n", kind, (unsigned long)limit.rlim_cur, (unsigned long)limit.rlim_max);
    }
    fprintf(file, "priority %d\n", getpriority(PRIO_PROCESS, 0));
    fprintf(file, "same group as the caller %d\n", getpgid(0) == getpgid(getppid()));
    fprintf(file, "leader %d\n", getsid(0) == getpid());
    return fclose(file) != 0;
}
