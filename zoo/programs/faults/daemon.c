/* daemon QUESTION ANSWER: leaves a daemon behind and ends with 4. The daemon reads a byte from the file QUESTION,
   works with its heap, has a child that does, too, and writes to the file ANSWER. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int work(void) {
    static void *volatile blocks[50000];
    for (int i = 0; i < 50000; i++) {
        blocks[i] = malloc(i % 3000);
        if (!blocks[i]) return 1;
    }
    for (int i = 0; i < 50000; i++) free(blocks[i]);
    return 0;
}

int main(int count, char **words) {
    char byte;
    if (count < 3) return 2;
    if (fork()) return 4;
    setsid();
    if (fork()) _exit(0);
    for (int i = 0; i < 3; i++) close(i);
    int question = open(words[1], O_RDONLY);
    if (read(question, &byte, 1) != 1 || work()) _exit(1);
    pid_t child = fork();
    if (child == 0) exit(work());
    int status;
    if (waitpid(child, &status, 0) != child || status) _exit(1);
    int answer = open(words[2], O_WRONLY);
    return write(answer, "alive\n", 6) != 6;
}
