/* far SIZE: 2 MiB of address space are left, and the kernel's next mapping will be gigabytes away from all earlier ones. Gets
 * blocks until there are no more, and says whether they came to half of what was left. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

int main(int count, char **words) {
    const size_t left = 2 << 20;
    size_t size = count > 1 ? strtoul(words[1], NULL, 10) : 100, total = 0, pages = 0;
    void *volatile first = malloc(100);
    free(first);
    if (mmap(NULL, (size_t)3 << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED) return 2;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%zu", &pages) != 1) return 3;
    fclose(file);
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = pages * 4096 + left;
    if (setrlimit(RLIMIT_AS, &limit)) return 4;
    for (char *block; (block = malloc(size)); total += size) memset(block, 1, size);
    const char *answer = errno != ENOMEM ? "errno\n" : total >= left / 2 ? "enough\n" : "FEW\n";
    return write(1, answer, strlen(answer)) < 0;
}
