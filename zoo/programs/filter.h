/* Filters of system calls (seccomp) for test programs: rows for single calls, and the installation of a filter. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The first row: loads the number of the call. */
#define NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
/* The last row: the action for all other calls. */
#define OTHERWISE(action) BPF_STMT(BPF_RET | BPF_K, action)
#define ON(number, action) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), OTHERWISE(action)
#define ALLOW(number) ON(number, SECCOMP_RET_ALLOW)
#define REFUSE(number) ON(number, SECCOMP_RET_ERRNO | EPERM)
#define KILL(number) ON(number, SECCOMP_RET_KILL_PROCESS)

/* Installs the rows in this process for good, by prctl or by the kernel's own call; 0 if that worked. */
static long install(struct sock_filter *rows, unsigned short count, int by_call) {
    struct sock_fprog program = {count, rows};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return -1;
    return by_call ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)
                   : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}
#define INSTALL(rows, by_call) install(rows, sizeof rows / sizeof *rows, by_call)
