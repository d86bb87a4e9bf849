/* underbar/malloc31.h: storage below the line (16 MiB) and below the bar (2 GiB), with the names of z/OS.
 *
 * A program that underbar runs finds these functions in it. They are weak: elsewhere the program starts all the same, and
 * their addresses are null.
 *
 *     void *address = __malloc31 ? __malloc31(4000) : NULL;
 *
 * free gives the storage back, and realloc keeps it below the same limit. Inside an ECB (underbar/ecb.h) __malloc31 gets storage that ends
 * with the ECB. Without room the result is null, and errno is ENOMEM:
 * below the line there are 16 MiB less vm.mmap_min_addr, and less the program itself if it is linked to fixed addresses.
 */
#ifndef UNDERBAR_MALLOC31_H
#define UNDERBAR_MALLOC31_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Storage for size bytes below 16 MiB, aligned to 16. */
__attribute__((weak)) void *__malloc24(size_t size);
/* The same below 2 GiB. */
__attribute__((weak)) void *__malloc31(size_t size);

#ifdef __cplusplus
}
#endif

#endif
