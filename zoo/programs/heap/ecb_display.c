/* One ECB that is alive: ecb_display CASE. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <underbar/ecb.h>
#include <unistd.h>

#define CHECK(what)                                          \
    do {                                                     \
        if (!(what)) {                                       \
            printf("line %d: %s\n", __LINE__, #what);        \
            _exit(3);                                        \
        }                                                    \
    } while (0)

static struct underbar_ecb_figures of(underbar_ecb ecb) {
    struct underbar_ecb_figures figures;
    memset(&figures, 0xee, sizeof figures);
    CHECK(underbar_ecb_figures(ecb, &figures, sizeof figures) == 0);
    return figures;
}

/* Three buffers of the second list, one of them freed and got again; one of the fourth. Names, a pair. */
static void work(void) {
    char *first = malloc(40);
    malloc(64);
    free(malloc(50));
    malloc(50);
    CHECK(tpf_eheap_tag(first, "SESSION ") == 0);
    long size = 0;
    CHECK(tpf_heap_locate_ext("SESSION ", &size) == first && size >= 40);
    CHECK(!tpf_heap_locate_ext("NOTHING ", &size) && size == 0 && !tpf_heap_locate_ext("NOTHING ", NULL));
    malloc(200);
    CHECK(underbar_ecb_name("TRANSACTION", "PAY") == 0);
}

static pthread_barrier_t meet;

static void *sleeper(void *ecb) {
    underbar_ecb_enter(*(underbar_ecb *)ecb);
    malloc(100);
    pthread_barrier_wait(&meet);
    pthread_barrier_wait(&meet);
    underbar_ecb_leave();
    return NULL;
}

int main(int count, char **argument) {
    if (!underbar_ecb_create) return puts("none"), 0;
    setvbuf(stdout, NULL, _IONBF, 0);
    struct underbar_ecb_figures figures;
    CHECK(underbar_ecb_figures(0, &figures, sizeof figures) == EPERM && underbar_ecb_display(0, 1) == EPERM);
    CHECK(underbar_ecb_figures(7, &figures, sizeof figures) == EINVAL && underbar_ecb_display(7, 1) == EINVAL);
    /* The first one of its class is not counted by its lists, unless RPTSTG says so. */
    underbar_ecb ecb = underbar_ecb_begin("SHOWN");
    malloc(40);
    int is_counted = of(0).counted;
    CHECK(!strcmp(of(ecb).class_name, "SHOWN") && of(0).threads == 1);
    underbar_ecb_finish(ecb);
    CHECK(underbar_ecb_figures(ecb, &figures, sizeof figures) == EINVAL);

    ecb = underbar_ecb_begin("SHOWN");
    work();
    figures = of(ecb);
    CHECK(figures.counted && figures.dispensed[1] == 4 && figures.freed[1] == 1 && figures.dispensed[3] == 1);
    /* The table of names is a buffer, too. */
    CHECK(figures.buffers == 5 && figures.names == 1 && figures.name_table == 8 && figures.high_water > 0);
    /* Others see the same, and what a thread does since it entered when it has left. */
    underbar_ecb_leave();
    pthread_t thread;
    pthread_barrier_init(&meet, NULL, 2);
    pthread_create(&thread, NULL, sleeper, &ecb);
    pthread_barrier_wait(&meet);
    CHECK(of(ecb).threads == 1 && of(ecb).dispensed[2] == 0);
    pthread_barrier_wait(&meet);
    pthread_join(thread, NULL);
    CHECK(of(ecb).threads == 0 && of(ecb).dispensed[2] == 1);
    if (!strcmp(argument[1], "figures")) {
        underbar_ecb_finish(ecb);
        printf("held %d\n", is_counted);
    } else if (!strcmp(argument[1], "display")) {
        CHECK(underbar_ecb_display(ecb, 1) == 0);
    } else {
        /* Serves until its input ends. */
        printf("%llu\n", (unsigned long long)ecb);
        for (int number = 0; ; number++) {
            underbar_ecb other = underbar_ecb_begin("OTHER");
            malloc(1000);
            underbar_ecb_finish(other);
            if (number % 1000 == 0) {
                struct timeval none = {0, 0};
                fd_set input;
                FD_ZERO(&input);
                FD_SET(0, &input);
                char byte;
                if (select(1, &input, NULL, NULL, &none) == 1 && read(0, &byte, 1) == 0) break;
            }
        }
    }
    return 0;
}
