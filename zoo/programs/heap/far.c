/* far SIZE: 2 MiB of address space are left, and the kernel's next mapping will be gigabytes away from all earlier ones. Gets
 * blocks until there are no more, and prints whether they reached half of that, and whether a mapping was put where the
 * main thread's stack may grow. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static char maps[1 << 20];

/* Whether a mapping begins between the lowest address of a full stack and the stack as it is. */
static int is_in_stack(unsigned long limit) {
    unsigned long top = getauxval(AT_EXECFN), start, end;
    size_t length = 0;
    ssize_t more;
    int file = open("/proc/self/maps", O_RDONLY), found = 0;
    while ((more = read(file, maps + length, sizeof maps - 1 - length)) > 0) length += (size_t)more;
    close(file);
    for (char *line = maps; line && *line; line = strchr(line, '\n'), line += line != NULL) {
        if (sscanf(line, "%lx-%lx", &start, &end) != 2) continue;
        if (end > top - limit && end < top) found = 1;
    }
    return found;
}

int main(int count, char **words) {
    const size_t left = 2 << 20;
    size_t size = count > 1 ? strtoul(words[1], NULL, 10) : 100, total = 0, pages = 0;
    void *volatile first = malloc(100);
    free(first);
    if (mmap(NULL, (size_t)3 << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED) return 2;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%zu", &pages) != 1) return 3;
    fclose(file);
    struct rlimit limit, stack;
    getrlimit(RLIMIT_AS, &limit);
    getrlimit(RLIMIT_STACK, &stack);
    limit.rlim_cur = pages * 4096 + left;
    if (setrlimit(RLIMIT_AS, &limit)) return 4;
    for (char *block; (block = malloc(size)); total += size) memset(block, 1, size);
    const char *answer = errno != ENOMEM              ? "errno\n"
                         : is_in_stack(stack.rlim_cur) ? "in the stack\n"
                         : total >= left / 2           ? "enough\n"
                                                       : "FEW\n";
    return write(1, answer, strlen(answer)) < 0;
}
