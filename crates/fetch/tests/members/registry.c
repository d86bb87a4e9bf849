/* Keeps the names that others register: each once. */
static const char *names[16];

long enter_name(const char *name) {
    for (int at = 0; at < 16; at++) {
        if (!names[at]) {
            names[at] = name;
            return 0;
        }
        if (names[at][0] == name[0])
            return 1;
    }
    return 2;
}

#ifdef UNIQUE
/* Unique by its name in the process: the system's loader keeps its library. */
__asm__(".section .data.only,\"aw\"\n"
        ".globl only\n"
        ".type only, @gnu_unique_object\n"
        ".size only, 4\n"
        "only: .long 1\n"
        ".previous\n");
extern int only;
int only_one(int x) { return only + x; }
#endif
