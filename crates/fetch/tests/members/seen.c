/* Does dl_iterate_phdr report this program, and how many does it report? */
#define _GNU_SOURCE
#include <link.h>
#include <string.h>

static long count, own;

static int look(struct dl_phdr_info *info, size_t size, void *data) {
    count++;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        ElfW(Addr) start = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_LOAD && (ElfW(Addr))&look >= start && (ElfW(Addr))&look < start + header->p_memsz)
            own += size >= sizeof *info && strstr(info->dlpi_name, "seen") && info->dlpi_adds > info->dlpi_subs;
    }
    (void)data;
    return 0;
}

long seen(long x) {
    count = own = 0;
    dl_iterate_phdr(look, &x);
    return own * 1000 + count;
}
