/* Stops in a function that is called from another one, both without frame pointers. */
__attribute__((noinline)) long inner_function_of_member(long x) {
    __asm__ volatile("int3");
    return x * 3;
}

__attribute__((noinline)) long outer_function_of_member(long x) {
    volatile long room[20] = {x};
    return inner_function_of_member(room[0]) + room[1];
}

long trap(long x) { return outer_function_of_member(x) + 1; }
