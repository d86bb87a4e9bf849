/* drops PROGRAM: gives up the rights of root for good, works with its heap, has a child, and becomes
   PROGRAM. */
#define _GNU_SOURCE
#include <grp.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void work(void) {
    for (int i = 0; i < 20000; i++) {
        void *volatile block = malloc(i);
        free(block);
    }
}

int main(int count, char **words) {
    work();
    if (count < 2 || setgroups(0, NULL) || setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534)) return 3;
    work();
    pid_t child = fork();
    if (child == 0) {
        work();
        exit(0);
    }
    int status;
    if (waitpid(child, &status, 0) != child || status) return 4;
    execl(words[1], words[1], NULL);
    return 5;
}
