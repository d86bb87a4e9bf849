/* foreign COUNT: COUNT times, gives back a pointer that is from no heap. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int count, char **words) {
    static char mine[64];
    char *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *volatile pointers[] = {mine + 16, page, page + 128};
    for (long i = 0; count > 1 && i < atol(words[1]); i++) free(pointers[i % 3]);
    return write(1, "done\n", 5) != 5;
}
