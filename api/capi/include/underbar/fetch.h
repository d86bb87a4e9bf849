/* underbar/fetch.h: programs from libraries: LOAD, DELETE, LINK, CALL, BLDL, XCTL.
 *
 * A library is a PDSE, a PDS, a folder of shared objects, or one shared object. Calls take a list of libraries and search
 * it in order, like JOBLIB and STEPLIB. A loaded program is kept in relocated form when its last user gives it back, so
 * the next LOAD of it costs less than a microsecond; its data are then in their initial state, unless it is shared.
 * Programs that our loader cannot load are left to dlopen, and counted by the reason.
 *
 * Calls return 0, or one of the numbers below; underbar_fetch_message has the message for this thread's last one. All of
 * them may be called in all threads, and by constructors of programs; none of them in signal handlers.
 */
#ifndef UNDERBAR_FETCH_H
#define UNDERBAR_FETCH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An open library, and a program in use; 0 is no program. */
typedef uint32_t underbar_library;
typedef uint64_t underbar_program;

/* The results of a failed call. */
enum {
    UNDERBAR_DAMAGED = 1,          /* the program is damaged */
    UNDERBAR_NOT_FOUND = 2,        /* no library has it */
    UNDERBAR_BAD_LIBRARY = 3,      /* the library is damaged, or none */
    UNDERBAR_UNRESOLVED = 4,       /* it needs a symbol that does not exist */
    UNDERBAR_SYSTEM = 5,           /* it was left to dlopen, which refused it */
    UNDERBAR_EXECUTABLE = 6,       /* it is no shared object */
    UNDERBAR_UNREADABLE = 7,       /* a file cannot be read */
    UNDERBAR_NO_STORAGE = 8,
    UNDERBAR_NO_THREAD_STORAGE = 9,
    UNDERBAR_TABLES_FULL = 10,
    UNDERBAR_NOT_LOADED = 11,      /* no such program, or no such library */
    UNDERBAR_NO_ENTRY = 12,        /* it has no entry point, or no main */
    UNDERBAR_BAD_NAME = 13,
    UNDERBAR_NOT_ISOLATED = 14,    /* LINK of a program that was left to dlopen */
    UNDERBAR_NOT_LINKED = 15,      /* XCTL by a program that was not LINKed */
    UNDERBAR_CHECKSUM = 16,        /* the bytes differ from those that were stored */
    UNDERBAR_THROWN = 17           /* LINK: an exception came out of its main; it has ended */
};

/* The state of a program's data for its users. */
enum {
    UNDERBAR_AS_MARKED = -1,       /* shared if the library marks it as reentrant, else fresh */
    UNDERBAR_SHARED = 0,           /* as its last user left them */
    UNDERBAR_FRESH = 1             /* in the initial state, whenever its use count was 0; but see docs/programs.md for programs
                                      that begin only once, and for threads that have objects of a program */
};

/* The directory of a library is compared with the file at each LOAD, or valid until underbar_library_refresh. */
enum { UNDERBAR_NOFREEZE = 0, UNDERBAR_FREEZE = 1 };

int underbar_library_open(const char *path, int freeze, underbar_library *library);
int underbar_library_refresh(underbar_library library);
/* 1 if one of the two labels of a PDSE is damaged or cut short: the data may be the state before the last change. */
int underbar_library_doubtful(underbar_library library);
int underbar_library_close(underbar_library library);

/* LOAD: constructors run, the use count rises by one. */
int underbar_load(const underbar_library *libraries, size_t count, const char *name, int form,
                  underbar_program *program);
/* DELETE: removes one LOAD. After the last one nothing of the program may be used. */
int underbar_delete(underbar_program program);
/* The entry point, or a symbol, of a program in use; NULL if there is none. */
void *underbar_entry(underbar_program program);
void *underbar_symbol(underbar_program program, const char *name);

/* CALL: entry(parameter), on this stack. */
int underbar_call(underbar_program program, void *parameter, long *result);

/* LINK: loads a program, runs its main(arguments, environment), gives it back. Both lists end with NULL and are copied; an
 * environment of NULL is the caller's. exit() in the program, its constructors and the programs that it LOADs ends the
 * program, not its caller: status is 0 to 255. longjmp to a place of the caller's and pthread_exit end it first; an exception
 * out of its main gives UNDERBAR_THROWN. This does not cover abort, quick_exit, signals, exec, exit in another
 * thread, or exit called by a system library. If the program is in use, LINK makes another copy, unless it is reentrant. */
int underbar_link(const underbar_library *libraries, size_t count, const char *name, char *const arguments[],
                  char *const environment[], int *status);
/* XCTL: ends the LINKed program that calls this, and runs another in its place. Returns only with an error. */
int underbar_xctl(const underbar_library *libraries, size_t count, const char *name, char *const arguments[],
                  char *const environment[]);

/* BLDL: the entries of directories. */
struct underbar_entry {
    const char *name;              /* in: the name */
    int found;                     /* out: 0, or the number of the error; then: */
    uint32_t library;              /* its index in the list of libraries */
    uint64_t length;               /* bytes */
    int reentrant;
};
int underbar_bldl(const underbar_library *libraries, size_t count, struct underbar_entry *entries, size_t entry_count);

/* Sets how much is kept: bytes of unused programs (0: none), from which LOAD of a program on, and directories. */
void underbar_fetch_options(uint64_t pool_bytes, uint64_t keep_after, int lookaside);
/* Drops the programs that are kept, except resident ones. */
void underbar_fetch_purge(void);
/* Keeps a program from its first DELETE on, beyond the bound; or ends this. */
int underbar_fetch_resident(const underbar_library *libraries, size_t count, const char *name, int resident);
/* Passes every figure since the process began to the function. */
void underbar_fetch_statistics(void (*each)(const char *key, uint64_t value, void *data), void *data);
/* The message for this thread's last error, ended by a zero byte; returns its length. */
size_t underbar_fetch_message(char *text, size_t size);

/* dl_iterate_phdr with the programs that were loaded here. To let profilers and sanitizers find them, write
 * UNDERBAR_EXPORT_DL_ITERATE_PHDR once in a source file of the program (linked dynamically, with -rdynamic if no library
 * that it links asks for the name). Exceptions and debuggers find the programs without it. */
struct dl_phdr_info;
int underbar_dl_iterate_phdr(int (*visitor)(struct dl_phdr_info *, size_t, void *), void *data);
#define UNDERBAR_EXPORT_DL_ITERATE_PHDR                                                                  \
    int dl_iterate_phdr(int (*visitor)(struct dl_phdr_info *, size_t, void *), void *data) {             \
        return underbar_dl_iterate_phdr(visitor, data);                                                  \
    }

#ifdef __cplusplus
}
#endif

#endif
