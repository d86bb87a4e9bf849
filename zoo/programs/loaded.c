/* loaded: prints "followed" if the library of underbar is in this process, "plain" if nothing of
   underbar is, and otherwise the rest of it. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

int main(void) {
    char line[4096 + 256];
    int mapped = 0, named = 0, other = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        if (strstr(line, "libunderbar.so")) mapped = 1;
    for (char **string = environ; *string; string++) {
        if (!strncmp(*string, "LD_PRELOAD=", 11)) {
            if (strstr(*string, "libunderbar.so") || strstr(*string, "/fd/")) named = 1;
            else other = 1;
        }
        if (!strncmp(*string, "UNDERBAR_", 9)) named |= 2;
    }
    if (mapped) puts("followed");
    else if (named) printf("left over %d\n", named);
    else if (other) puts("plain, another library");
    else puts("plain");
    return 0;
}
