/* confined FOLDER: makes FOLDER its root, as daemons do, gives up the rights of root, works with its heap, and has a child and a
   grandchild that do so. */
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

static int with_children(int generations) {
    work();
    if (generations == 0) return 0;
    pid_t child = fork();
    if (child == 0) exit(with_children(generations - 1));
    int status;
    return waitpid(child, &status, 0) != child || status ? 4 : 0;
}

int main(int count, char **words) {
    if (count < 2 || chdir(words[1]) || chroot(".")) return 2;
    if (setgroups(0, NULL) || setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534)) return 3;
    return with_children(2);
}
