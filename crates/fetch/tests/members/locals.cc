// A thread_local with a destructor, and a static one.
static long *told;

struct Local {
    long value = 3;
    ~Local() {
        if (told)
            *told += value;
    }
};
thread_local Local local;

struct Static {
    ~Static() {
        if (told)
            *told += 1000;
    }
};
static Static fixed;

extern "C" long locals(long where) {
    told = reinterpret_cast<long *>(where);
    return local.value++;
}
