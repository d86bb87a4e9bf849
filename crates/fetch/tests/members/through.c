/* Goes through the door (door.c) when it begins and when it ends, with different numbers. */
extern void (*door)(int);

#ifndef BEGINNING
#define BEGINNING 1
#endif

__attribute__((constructor)) static void begin(void) {
    if (door)
        door(BEGINNING);
}

__attribute__((destructor)) static void end(void) {
    if (door)
        door(-BEGINNING);
}

int through(int x) { return x + BEGINNING; }
