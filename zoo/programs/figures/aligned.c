/* Gets aligned memory as PHP does: maps it, unmaps it, maps more, and unmaps the parts before and after the wanted one.
   The unmapped parts were never written to. The wanted one is, and is the third large range that goes. */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { part = 2 << 20, whole = 48 << 20 };

static char *map(size_t size) {
    char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

int main(void) {
    char *first = map(whole);
    if (!first) return 95;
    munmap(first, whole);
    char *wider = map(2 * (size_t)whole);
    if (!wider) return 95;
    char *aligned = (char *)(((uintptr_t)wider + part) & ~(uintptr_t)(part - 1));
    munmap(aligned + whole, (size_t)(wider + 2 * (size_t)whole - (aligned + whole)));
    memset(aligned, 1, whole);
    int is_written = aligned[whole / 2] == 1;
    munmap(aligned, whole);
    return is_written ? 0 : 94;
}
