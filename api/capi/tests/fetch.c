/* A C program that contains the library: LOAD, CALL, LINK, XCTL, BLDL, DELETE. Its argument is a folder of programs. */
#define _GNU_SOURCE
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <underbar/fetch.h>

UNDERBAR_EXPORT_DL_ITERATE_PHDR

#define CHECK(what)                                                                  \
    do {                                                                             \
        if (!(what)) {                                                               \
            char text[300];                                                          \
            underbar_fetch_message(text, sizeof text);                               \
            printf("line %d: %s (%s)\n", __LINE__, #what, text);                     \
            exit(1);                                                                 \
        }                                                                            \
    } while (0)

static underbar_library library;

static int look(struct dl_phdr_info *info, size_t size, void *found) {
    (void)size;
    *(int *)found += strstr(info->dlpi_name, "MEMBER") != NULL;
    return 0;
}

static int seen(void) {
    int found = 0;
    dl_iterate_phdr(look, &found);
    return found;
}

static uint64_t fetches;

static void each(const char *key, uint64_t value, void *data) {
    (void)data;
    if (strcmp(key, "fetches") == 0 || strncmp(key, "fallback-", 9) == 0)
        fetches += value;
}

/* Called by the LINKed program. */
int transfer(void);
int transfer(void) {
    char *arguments[] = {"MEMBER", "exit", NULL};
    return underbar_xctl(&library, 1, "MEMBER", arguments, NULL);
}

int main(int argc, char **argv) {
    underbar_program program;
    long result = 0;
    int status = 0;
    CHECK(argc == 2);
    CHECK(underbar_library_open("/no/such/library", UNDERBAR_NOFREEZE, &library) == UNDERBAR_UNREADABLE);
    CHECK(underbar_library_open(argv[1], UNDERBAR_NOFREEZE, &library) == 0);
    underbar_fetch_options(64 << 20, 1, 1);
    for (int turn = 0; turn < 3; turn++) {
        int number = 41;
        CHECK(underbar_load(&library, 1, "MEMBER", UNDERBAR_FRESH, &program) == 0);
        CHECK(seen() == 1);
        CHECK(underbar_call(program, &number, &result) == 0 && result == 42 && number == 1);
        CHECK(underbar_symbol(program, "main") && !underbar_symbol(program, "nobody"));
        CHECK(underbar_entry(program) == underbar_symbol(program, "MEMBER"));
        CHECK(underbar_delete(program) == 0);
        CHECK(underbar_delete(program) == UNDERBAR_NOT_LOADED);
    }
    char *arguments[] = {"MEMBER", "transfer", NULL}, *environment[] = {"WORD=1", NULL};
    CHECK(underbar_link(&library, 1, "MEMBER", arguments, environment, &status) == 0 && status == 55);
    CHECK(underbar_xctl(&library, 1, "MEMBER", arguments, NULL) == UNDERBAR_NOT_LINKED);
    struct underbar_entry entries[] = {{.name = "MEMBER"}, {.name = "NOBODY"}};
    CHECK(underbar_bldl(&library, 1, entries, 2) == UNDERBAR_NOT_FOUND);
    CHECK(entries[0].found == 0 && entries[0].length > 1000 && entries[1].found == UNDERBAR_NOT_FOUND);
    CHECK(underbar_fetch_resident(&library, 1, "MEMBER", 1) == 0);
    underbar_fetch_purge();
    CHECK(seen() == 1);
    CHECK(underbar_fetch_resident(&library, 1, "MEMBER", 0) == 0);
    underbar_fetch_purge();
    CHECK(seen() == 0);
    underbar_fetch_statistics(each, NULL);
    CHECK(fetches == 5);
    CHECK(underbar_library_doubtful(library) == 0);
    CHECK(underbar_library_refresh(library) == 0 && underbar_library_close(library) == 0);
    CHECK(underbar_load(&library, 1, "MEMBER", UNDERBAR_FRESH, &program) == UNDERBAR_NOT_LOADED);
    puts("all held");
    return 0;
}
