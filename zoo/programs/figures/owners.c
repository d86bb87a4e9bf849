/* owners MAPPED GOT: maps so many bytes past the heap, gets so many from it, and touches all of them. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int main(int count, char **words) {
    if (count < 3) return 2;
    long mapped = atol(words[1]), got = atol(words[2]);
    char *past = mmap(0, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (past == MAP_FAILED) return 3;
    memset(past, 1, mapped);
    for (long bytes = 0; bytes < got; bytes += 1000) {
        char *block = malloc(1000);
        if (!block) return 3;
        memset(block, 1, 1000);
    }
    return 0;
}
