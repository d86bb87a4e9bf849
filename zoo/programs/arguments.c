/* arguments: writes them and the value of MARK, each on a line. */
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments) {
    for (int i = 0; i < count; i++) puts(arguments[i]);
    printf("mark %s\n", getenv("MARK") ? getenv("MARK") : "none");
    return 5;
}
