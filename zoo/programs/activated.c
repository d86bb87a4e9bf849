/* A service as a manager starts it: it takes the socket that it was given if it is the process named, answers one connection, and sends the
 * notice that it is ready. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static long number(const char *name) {
    const char *text = getenv(name);
    return text ? atol(text) : -1;
}

int main(void) {
    if (number("LISTEN_PID") != getpid() || number("LISTEN_FDS") != 1) {
        fprintf(stderr, "no socket for process %d: LISTEN_PID is %ld\n", getpid(), number("LISTEN_PID"));
        return 1;
    }
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    const char *path = getenv("NOTIFY_SOCKET");
    if (!path || strlen(path) >= sizeof to.sun_path) return 2;
    strcpy(to.sun_path, path);
    int notices = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    static const char notice[] = "READY=1";
    if (sendto(notices, notice, sizeof notice - 1, 0, (struct sockaddr *)&to, sizeof to) < 0) return 3;
    int connection = accept(3, NULL, NULL);
    if (connection < 0 || write(connection, "hello\n", 6) != 6) return 4;
    return 0;
}
