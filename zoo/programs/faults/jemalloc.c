/* jemalloc: linked with another heap. Gets by both interfaces of that heap, and gives back by the common one. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *mallocx(size_t size, int flags);
void dallocx(void *block, int flags);
int mallctl(const char *name, void *old, size_t *old_size, void *new, size_t new_size);

int main(void) {
    const char *version;
    size_t size = sizeof version;
    if (mallctl("version", &version, &size, NULL, 0) || !*version) return 3;
    for (int i = 1; i < 10000; i++) {
        char *common = malloc(i), *own = mallocx(i, 0), *crossed = mallocx(i, 0);
        if (!common || !own || !crossed) return 4;
        memset(common, 1, i);
        memset(own, 2, i);
        memset(crossed, 3, i);
        common = realloc(common, 2 * i);
        if (!common || common[i - 1] != 1) return 5;
        free(common);
        dallocx(own, 0);
        free(crossed);
    }
    return write(1, "done\n", 5) != 5;
}
