/* A program of a library, with its entry point at its own name or at main. */
#include <stdlib.h>
#include <string.h>

int transfer(void);

long MEMBER(int *number) {
    static int calls;
    long before = *number;
    *number = ++calls;
    return before + 1;
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 1;
    if (strcmp(argv[1], "exit") == 0)
        exit(getenv("WORD") ? 54 : 55);
    return transfer();
}
