/* children HOW COUNT: has COUNT children.

     turn     one after the other, each this program anew, which gets 7 blocks
     alive    all alive at one time, by fork, each gets 7 blocks
     child    is one of those of `turn` */
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int seven(void) {
    for (int i = 0; i < 7; i++) {
        void *volatile block = malloc(100);
        if (!block) return 3;
    }
    return 0;
}

int main(int count, char **words) {
    if (count < 3) return 2;
    long number = atol(words[2]);
    if (!strcmp(words[1], "child")) return seven();
    if (!strcmp(words[1], "turn")) {
        char *arguments[] = {words[0], "child", "0", NULL};
        for (long i = 0; i < number; i++) {
            pid_t child;
            int status;
            if (posix_spawn(&child, words[0], NULL, NULL, arguments, environ)) return 4;
            if (waitpid(child, &status, 0) != child || status) return 5;
        }
    } else {
        int ready[2], go[2];
        char byte = 0;
        if (pipe(ready) || pipe(go)) return 6;
        for (long i = 0; i < number; i++) {
            pid_t child = fork();
            if (child < 0) return 7;
            if (child == 0) {
                int failed = seven();
                close(go[1]);
                if (write(ready[1], &byte, 1) != 1) _exit(8);
                if (read(go[0], &byte, 1) != 0) _exit(9);
                exit(failed);
            }
        }
        for (long i = 0; i < number; i++)
            if (read(ready[0], &byte, 1) != 1) return 10;
        close(go[1]);
        for (long i = 0; i < number; i++) {
            int status;
            if (wait(&status) < 0 || status) return 11;
        }
    }
    return write(1, "done\n", 5) != 5;
}
