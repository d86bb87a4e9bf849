/* A program with a main: its first argument is the action. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int runs;
static int *told;

static void at_exit(void) { *told += 1; }

static void deep(int status) {
    if (status > 100)
        deep(status - 1);
    exit(status);
}

int main(int argc, char **argv, char **envp) {
    runs++;
    if (argc < 2)
        return 99;
    if (strcmp(argv[1], "return") == 0)
        return atoi(argv[2]);
    if (strcmp(argv[1], "exit") == 0)
        deep(atoi(argv[2]));
    if (strcmp(argv[1], "now") == 0)
        _exit(atoi(argv[2]));
    if (strcmp(argv[1], "runs") == 0)
        return runs;
    if (strcmp(argv[1], "environment") == 0)
        return getenv("MEMBER") && strcmp(getenv("MEMBER"), "yes") == 0 && !getenv("PATH") && envp[1] == NULL ? 7 : 8;
    if (strcmp(argv[1], "atexit") == 0) {
        told = (int *)strtoul(argv[2], NULL, 0);
        atexit(at_exit);
        exit(3);
    }
    if (strcmp(argv[1], "forks") == 0) {
        /* The child ends with 5, in the way of the second argument; the program returns that status. */
        int status = 0;
        pid_t child = strcmp(argv[2], "vfork") == 0 ? vfork() : fork();
        if (child == 0) {
            if (strcmp(argv[2], "return") == 0)
                return 5;
            if (strcmp(argv[2], "exit") == 0)
                deep(5);
            _exit(5);
        }
        return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 97;
    }
    if (strcmp(argv[1], "call") == 0)
        ((void (*)(void))strtoul(argv[2], NULL, 0))();
    return 98;
}
