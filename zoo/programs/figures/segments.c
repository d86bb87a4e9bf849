/* segments COUNT SIZE [free]: gets COUNT times SIZE bytes and touches their first byte, gives them back with `free`,
   and prints the bytes of its mappings without a file at that time. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char text[4 << 20];
static char *blocks[200000];

int main(int count, char **words) {
    if (count < 3) return 2;
    long number = atol(words[1]), size = atol(words[2]);
    for (long i = 0; i < number; i++) {
        blocks[i] = malloc(size);
        if (!blocks[i]) return 3;
        *blocks[i] = 1;
    }
    if (count > 3)
        for (long i = 0; i < number; i++) free(blocks[i]);
    int file = open("/proc/self/maps", O_RDONLY);
    long length = 0, more;
    while ((more = read(file, text + length, sizeof text - 1 - length)) > 0) length += more;
    long bytes = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        unsigned long start, end, inode;
        int after = 0;
        sscanf(line, "%lx-%lx %*s %*s %*s %lu %n", &start, &end, &inode, &after);
        if (inode == 0 && line[after] == 0) bytes += end - start;
    }
    char said[64];
    int said_length = snprintf(said, sizeof said, "mapped %ld\n", bytes);
    return write(1, said, said_length) != said_length;
}
