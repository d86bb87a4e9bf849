/* A heap that is filled to the last byte: while a small request finds nothing, a large one must not find more. Argument: MiB of
 * address space beyond what is mapped at the start. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

struct block {
    struct block *next;
};

static size_t mapped(void) {
    FILE *file = fopen("/proc/self/statm", "r");
    size_t pages = 0;
    if (!file || fscanf(file, "%zu", &pages) != 1) exit(9);
    fclose(file);
    return pages * 4096;
}

/* Takes blocks of one size until there are no more. */
static struct block *use_up(struct block *all, size_t size) {
    struct block *one;
    while ((one = malloc(size))) {
        memset(one, 0, size);
        one->next = all;
        all = one;
    }
    if (errno != ENOMEM) printf("errno is not ENOMEM but %d\n", errno);
    return all;
}

static void give_all(struct block *all) {
    while (all) {
        struct block *next = all->next;
        free(all);
        all = next;
    }
}

int main(int count, char **words) {
    size_t more = (size_t)(count > 1 ? atoi(words[1]) : 10) << 20;
    char line[64];
    struct rlimit limit;
    setvbuf(stdout, line, _IOLBF, sizeof line);
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = mapped() + more;
    if (setrlimit(RLIMIT_AS, &limit)) return 9;
    size_t sizes[] = {4104, 1000, 30000, 100};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct block *all = use_up(use_up(NULL, sizes[i]), sizeof(struct block));
        for (size_t large = 40000; large < 2000000; large *= 2) {
            void *more = malloc(large);
            if (more) printf("after blocks of %zu: %zu bytes, though 8 were refused\n", sizes[i], large);
            free(more);
        }
        give_all(all);
    }
    printf("done\n");
    return 0;
}
