/* A library that is chatty: it writes each line, looks whether it may write before each tenth, and starts its timer anew for each. */
#include <poll.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define LINE 132
#define LINES 1000

static char kept[LINES * LINE];
static int count;

static void start_timer(void) {
    struct itimerval hour = {{0, 0}, {3600, 0}};
    setitimer(ITIMER_REAL, &hour, 0);
}

static int may_write(int file) {
    struct pollfd one = {file, POLLOUT, 0};
    return poll(&one, 1, 0);
}

int log_line(int file, const char *line, int number) {
    start_timer();
    if (number % 10 == 0) may_write(file);
    return write(file, line, LINE) == LINE;
}

/* The same with its own buffer. */
int log_later(int file, const char *line, int number) {
    if (number == 0) start_timer();
    memcpy(kept + count++ * LINE, line, LINE);
    if (count < LINES) return 1;
    count = 0;
    may_write(file);
    return write(file, kept, sizeof kept) == sizeof kept;
}
