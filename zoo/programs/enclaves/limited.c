/* limited LIBRARY TIMES SECONDS: LINKs the burner so many times, one after the other, in a second thread. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <underbar/fetch.h>

static char **words;

static void *links(void *unused) {
    underbar_library library;
    if (underbar_library_open(words[1], 0, &library)) exit(3);
    char *const arguments[] = {"burner", words[3], NULL};
    for (long at = 0; at < atol(words[2]); at++) {
        int status = 0;
        if (underbar_link(&library, 1, "burner", arguments, NULL, &status) || status != 7) exit(4);
    }
    return unused;
}

int main(int count, char **given) {
    pthread_t thread;
    if (count != 4) return 2;
    words = given;
    if (pthread_create(&thread, NULL, links, NULL) || pthread_join(thread, NULL)) return 5;
    printf("linked %s\n", words[2]);
    return 0;
}
