/* faults PAGES: touches PAGES pages of storage one by one, and prints the kernel's counts before and after. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

static long faults(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

int main(int count, char **words) {
    if (count != 2) return 2;
    long pages = atol(words[1]), before = faults();
    char *storage = mmap(NULL, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (storage == MAP_FAILED) return 3;
    madvise(storage, pages * 4096, MADV_NOHUGEPAGE);
    for (long page = 0; page < pages; page++) storage[page * 4096] = 1;
    free(malloc(1000));
    printf("before %ld after %ld\n", before, faults());
    return 0;
}
