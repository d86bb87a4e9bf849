/* A 32-bit program without a C library: returns 3. Built with -m32 -nostdlib -static. */
void _start(void) {
    __asm__ volatile("int $0x80" : : "a"(1), "b"(3));
    __builtin_unreachable();
}
