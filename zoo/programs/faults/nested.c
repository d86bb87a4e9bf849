/* nested: with a filter that allows every system call, has a child that has a child that has a child. */
#include <sys/wait.h>

#include "../filter.h"

static int family(int depth) {
    if (!depth) return 0;
    pid_t child = fork();
    if (child < 0) return 90;
    if (!child) _exit(family(depth - 1));
    int status;
    return waitpid(child, &status, 0) == child ? status : 91;
}

int main(void) {
    struct sock_filter rows[] = {OTHERWISE(SECCOMP_RET_ALLOW)};
    return INSTALL(rows, 0) ? 92 : family(3);
}
