/* load SOCKET CONNECTIONS REQUESTS: CONNECTIONS connections to a memcached on this socket, each with its own thread, send
   REQUESTS pairs of a set and a get of a few common keys, several at a time. Prints the answers. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { AT_ONCE = 50 };
static const char *name;
static long requests, stored, got;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int connected(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, name, sizeof address.sun_path - 1);
    for (int tries = 0; tries < 20000; tries++) {
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) return fd;
        close(fd);
        usleep(1000);
    }
    perror(name);
    exit(3);
}

static void *asks(void *number) {
    int fd = connected();
    FILE *answers = fdopen(dup(fd), "r");
    char text[AT_ONCE * 64], line[256];
    long sets = 0, gets = 0;
    for (long i = 0; i < requests; i += AT_ONCE) {
        size_t length = 0;
        for (int n = 0; n < AT_ONCE; n++)
            length += (size_t)sprintf(text + length, "set k%d 0 0 5\r\nvalue\r\nget k%d\r\n", n % 3, (n + 1) % 3);
        for (size_t sent = 0; sent < length;) {
            ssize_t some = write(fd, text + sent, length - sent);
            if (some <= 0) exit(4);
            sent += (size_t)some;
        }
        for (int ends = 0; ends < AT_ONCE;) {
            if (!fgets(line, sizeof line, answers)) exit(5);
            sets += !strcmp(line, "STORED\r\n");
            gets += !strcmp(line, "value\r\n");
            ends += !strcmp(line, "END\r\n");
        }
    }
    fclose(answers);
    close(fd);
    pthread_mutex_lock(&mutex);
    stored += sets;
    got += gets >= requests - 3;
    pthread_mutex_unlock(&mutex);
    return number;
}

int main(int count, char **words) {
    if (count < 4) return 2;
    name = words[1];
    requests = atol(words[3]);
    long connections = atol(words[2]);
    pthread_t threads[64];
    close(connected());
    for (long i = 0; i < connections; i++) pthread_create(&threads[i], NULL, asks, NULL);
    for (long i = 0; i < connections; i++) pthread_join(threads[i], NULL);
    printf("stored %ld, %ld connections got all\n", stored, got);
    return 0;
}
