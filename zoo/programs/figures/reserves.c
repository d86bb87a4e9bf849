/* Reserves 64 GiB of address space, and writes to 24 MiB in its middle: "locked" with rights for these only, "open" for all. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

int main(int count, char **words) {
    const size_t all = 64UL << 30, used = 24UL << 20;
    int is_open = count > 1 && !strcmp(words[1], "open");
    int rights = is_open ? PROT_READ | PROT_WRITE : PROT_NONE;
    char *reserve = mmap(NULL, all, rights, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserve == MAP_FAILED) return perror("mmap"), 1;
    char *part = reserve + all / 2;
    if (!is_open && mprotect(part, used, PROT_READ | PROT_WRITE)) return perror("mprotect"), 1;
    for (size_t at = 0; at < used; at += 4096) part[at] = 1;
    return 0;
}
