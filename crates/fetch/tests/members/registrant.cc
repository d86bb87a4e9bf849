// Its constructor registers it with a library that it needs: twice is an error.
extern "C" long enter_name(const char *);

#define TEXT(name) #name
#define TEXT_OF(name) TEXT(name)
static long entered = enter_name(TEXT_OF(NAME));
static long calls = 40;

#ifdef UNIQUE
// Unique by its name in the process: the system's loader keeps its library.
template <class T> struct Shared {
    static long value;
};
template <class T> long Shared<T>::value = 40;
extern "C" long unique(long) { return Shared<long>::value++; }
#endif

extern "C" long registrant(long) { return entered; }
extern "C" long calls_so_far(long) { return ++calls; }
