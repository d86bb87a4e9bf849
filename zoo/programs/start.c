/* start WAY PROGRAM: starts PROGRAM (which is also found in PATH by its last part) in one of many ways and
   returns its exit code; with "start WAY PROGRAM ARGUMENT..." passes arguments on if the way can. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int ended(pid_t pid) {
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) != pid) return 99;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

int main(int count, char **arguments) {
    if (count < 3) return 97;
    static const char *way; /* static: vfork must not clobber it */
    way = arguments[1];
    const char *path = arguments[2];
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    char **rest = arguments + 2;
    int is_child = !strncmp(way, "vfork-", 6) || !strncmp(way, "fork-", 5);
    if (is_child) {
        pid_t pid = way[0] == 'v' ? vfork() : fork();
        if (pid) return ended(pid);
        way = strchr(way, '-') + 1;
    }
    if (!strcmp(way, "execl")) execl(path, "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", (char *)0);
    if (!strcmp(way, "execlp")) execlp(name, "a0", "a1", (char *)0);
    if (!strcmp(way, "execle")) execle(path, "a0", "a1", "a2", "a3", "a4", "a5", (char *)0, environ);
    if (!strcmp(way, "execv")) execv(path, rest);
    if (!strcmp(way, "execvp")) execvp(name, rest);
    if (!strcmp(way, "execve")) execve(path, rest, environ);
    if (!strcmp(way, "execvpe")) execvpe(name, rest, environ);
    if (!strcmp(way, "fexecve")) fexecve(open(path, O_RDONLY | O_CLOEXEC), rest, environ);
    if (!strcmp(way, "fexecve-path")) fexecve(open(path, O_PATH | O_CLOEXEC), rest, environ);
    if (!strcmp(way, "execveat")) execveat(open("/", O_PATH | O_CLOEXEC), path + 1, rest, environ, 0);
    if (is_child) _exit(errno == ENOENT ? 127 : 126);
    if (!strcmp(way, "spawn") || !strcmp(way, "spawnp")) {
        pid_t pid = -1;
        int error = way[5] ? posix_spawnp(&pid, name, 0, 0, rest, environ)
                           : posix_spawn(&pid, path, 0, 0, rest, environ);
        return error ? error == ENOENT ? 127 : 126 : ended(pid);
    }
    if (!strcmp(way, "system")) {
        int status = system(path);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
    }
    if (!strcmp(way, "popen")) {
        char line[256];
        FILE *pipe = popen(path, "r");
        while (pipe && fgets(line, sizeof line, pipe)) fputs(line, stdout);
        return pipe ? WEXITSTATUS(pclose(pipe)) : 98;
    }
    return errno == ENOENT ? 127 : 126;
}
