/* forbidden PROGRAM: forbids this process (seccomp) the system calls `access` and `fgetxattr`, by which the
   library inspects a program before it is started, and becomes PROGRAM. */
#include "filter.h"

int main(int count, char **arguments) {
    struct sock_filter rows[] = {
        NUMBER,
        REFUSE(SYS_access),
        REFUSE(SYS_fgetxattr),
        OTHERWISE(SECCOMP_RET_ALLOW),
    };
    if (count < 2) return 90;
    if (INSTALL(rows, 0)) return 91;
    execv(arguments[1], arguments + 1);
    return 92;
}
