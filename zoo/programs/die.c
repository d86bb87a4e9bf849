/* die SIGNAL: dies by it. SEGV (11) by a real access to a page that may not be read. */
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

int main(int count, char **arguments) {
    int number = count > 1 ? atoi(arguments[1]) : 9;
    if (number == SIGSEGV) {
        volatile char *page = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return *page;
    }
    raise(number);
    return 0;
}
