/* on_terminal COLUMNS COMMAND...: runs COMMAND on a terminal of its own with so many columns, and copies what it writes there. */
#include <pty.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <signal.h>

int main(int count, char **words) {
    if (count < 3) return 2;
    struct winsize size = {.ws_row = 40, .ws_col = (unsigned short)atoi(words[1])};
    int terminal;
    pid_t child = forkpty(&terminal, NULL, NULL, &size);
    if (child < 0) return 3;
    if (!child) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execv(words[2], words + 2);
        _exit(127);
    }
    char bytes[4096];
    /* The end of the terminal is an error here. */
    for (ssize_t length; (length = read(terminal, bytes, sizeof bytes)) > 0;)
        if (write(1, bytes, (size_t)length) != length) return 4;
    int status;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return 5;
    return WEXITSTATUS(status);
}
