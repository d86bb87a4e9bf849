/* Linked with the installed library for C: a simple lock of sys/simplelock.h. */
#include <stdio.h>
#include <sys/simplelock.h>

int main(void) {
    static simplelock_t lock;
    simple_lock(&lock);
    int is_free = simple_trylock(&lock) == 0;
    simple_unlock(&lock);
    puts(is_free ? "failed" : "served");
    return is_free;
}
