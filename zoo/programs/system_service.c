/* system_service PROGRAM WORDS...: forbids this process (seccomp) all system calls but those of many services, and becomes PROGRAM. */
#include "system_service.h"
#include "filter.h"

#define CALL(name) ALLOW(SYS_##name),

int main(int count, char **arguments) {
    struct sock_filter rows[] = {NUMBER, SYSTEM_SERVICE(CALL) OTHERWISE(SECCOMP_RET_KILL_PROCESS)};
    if (count < 2) return 90;
    if (INSTALL(rows, 0)) return 91;
    execvp(arguments[1], arguments + 1);
    return 92;
}
