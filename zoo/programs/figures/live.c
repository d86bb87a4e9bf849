/* live SIZE: gets and frees 60 MB in elements of SIZE bytes, and holds them until a change from outside releases them: the policy
   for empty segments. Twice: says "held BYTES" when they are resident, goes on getting and freeing one element, and says
   "fell BYTES" when they are not. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ALL = 60000000 };

static char *elements[ALL / 100];
static int size;

static long resident(void) {
    char text[128] = {0};
    long pages = 0;
    int file = open("/proc/self/statm", O_RDONLY);
    if (read(file, text, sizeof text - 1) <= 0 || sscanf(text, "%*d %ld", &pages) != 1) _exit(2);
    close(file);
    return pages * sysconf(_SC_PAGESIZE);
}

static void use(int count) {
    for (int i = 0; i < count; i++) {
        elements[i] = malloc(size);
        if (!elements[i]) _exit(3);
        memset(elements[i], 1, size);
    }
    for (int i = 0; i < count; i++) free(elements[i]);
}

static void say(const char *word) {
    char text[64];
    int length = snprintf(text, sizeof text, "%s %ld\n", word, resident());
    if (write(1, text, length) != length) _exit(2);
}

int main(int count, char **words) {
    if (count != 2 || (size = atoi(words[1])) < 100) return 2;
    /* Without any change: the end. */
    alarm(300);
    for (int round = 0; round < 2; round++) {
        do use(ALL / size);
        while (resident() < ALL);
        say("held");
        do use(1);
        while (resident() > ALL / 4);
        say("fell");
    }
    return 0;
}
