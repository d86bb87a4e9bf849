/* Storage used before any constructor (preinit) and after main, in exit handlers and destructors. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char *early_text;
extern int early_function(void);
static char *before_all, *at_exit;

static void preinit(void) {
    before_all = malloc(100);
    strcpy(before_all, "before all constructors");
    before_all = realloc(before_all, 5000);
}
__attribute__((section(".preinit_array"), used)) static void (*preinit_pointer)(void) = preinit;

static void at_the_end(void) {
    printf("%s\n", at_exit);
    free(at_exit);
    free(before_all);
    for (int i = 0; i < 1000; i++) free(malloc((size_t)i * 50));
}

__attribute__((destructor)) static void destructor(void) {
    char *p = strdup("in a destructor");
    printf("%s\n", p);
    free(p);
    fflush(stdout);
}

int main(void) {
    printf("%s, %s, %d\n", before_all, early_text, early_function());
    at_exit = strdup("in an exit handler");
    atexit(at_the_end);
    return 0;
}
