/* A second preloaded library: when a process ends, it appends figures of /proc/self/smaps to $PARTS.PROCESS: bytes that are
   anonymous, and those resident that are shared. An independent count for a look at the end. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((destructor)) static void ends(void) {
    static char text[1 << 16];
    unsigned long anonymous = 0;
    const char *prefix = getenv("PARTS");
    int list = open("/proc/self/smaps", O_RDONLY);
    if (!prefix || list < 0) return;
    size_t filled = 0;
    ssize_t more;
    while ((more = read(list, text + filled, sizeof text - 1 - filled)) > 0) {
        filled += more;
        text[filled] = 0;
        char *line = text, *end;
        while ((end = strchr(line, '\n'))) {
            if (!strncmp(line, "Anonymous:", 10)) anonymous += strtoul(line + 10, NULL, 10);
            line = end + 1;
        }
        filled = text + filled - line;
        memmove(text, line, filled);
    }
    close(list);
    int length = snprintf(text, sizeof text, "%s.%d", prefix, (int)getpid());
    if (length < 0) return;
    int file = open(text, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    length = snprintf(text, sizeof text, "%lu\n", anonymous * 1024);
    if (file >= 0 && write(file, text, length) != length) _exit(1);
    close(file);
}
