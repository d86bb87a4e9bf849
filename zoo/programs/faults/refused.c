/* refused NUMBER PROGRAM ARGUMENTS: from now on the kernel refuses this system call with EPERM; becomes PROGRAM. */
#include <stdlib.h>

#include "../filter.h"

int main(int count, char **words) {
    if (count < 3) return 90;
    struct sock_filter rows[] = {NUMBER, REFUSE(atoi(words[1])), OTHERWISE(SECCOMP_RET_ALLOW)};
    if (INSTALL(rows, 0)) return 91;
    execv(words[2], words + 2);
    return 92;
}
