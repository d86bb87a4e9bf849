/* Pointers from no heap: from mmap, from another allocator, from the stack, from the program's data. A
 * heap that recognises them leaves them alone. (Without underbar this program would be ended by glibc.) */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static char data[10000];

static void give(char *stranger) {
    strcpy(stranger, "untouched");
    void *volatile hidden = stranger;
    errno = 77;
    free(hidden);
    void *moved = realloc(hidden, 100);
    size_t usable = malloc_usable_size(hidden);
    printf("%s %s %zu\n", stranger, moved ? "MOVED" : "null", usable);
}

int main(void) {
    char local[100];
    char *mapped = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    give(local);
    give(data + 16);
    give(mapped);
    give(mapped + 4096);
    give(mapped + (1 << 19) + 48);
    void *volatile low = (void *)4096, *volatile high = (void *)(uintptr_t)-4096;
    free(low), free(high);
    printf("done\n");
    return 0;
}
