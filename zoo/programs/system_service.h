/* The system calls of x86-64 that a service with these two lines may make, by systemd 252:
 *
 *     SystemCallFilter=@system-service
 *     SystemCallFilter=~@privileged @resources
 *
 * Any other one ends the process. Debian's units of redis-server, and many others, have these lines. */
#define SYSTEM_SERVICE(CALL) \
    CALL(accept) CALL(accept4) CALL(access) CALL(add_key) CALL(alarm) CALL(arch_prctl) CALL(bind) CALL(brk) CALL(capget) CALL(chdir) \
    CALL(chmod) CALL(clock_getres) CALL(clock_gettime) CALL(clock_nanosleep) CALL(clone) CALL(clone3) CALL(close) CALL(close_range) \
    CALL(connect) CALL(copy_file_range) CALL(creat) CALL(dup) CALL(dup2) CALL(dup3) CALL(epoll_create) CALL(epoll_create1) CALL(epoll_ctl) \
    CALL(epoll_ctl_old) CALL(epoll_pwait) CALL(epoll_pwait2) CALL(epoll_wait) CALL(epoll_wait_old) CALL(eventfd) CALL(eventfd2) \
    CALL(execve) CALL(execveat) CALL(exit) CALL(exit_group) CALL(faccessat) CALL(faccessat2) CALL(fadvise64) CALL(fallocate) CALL(fchdir) \
    CALL(fchmod) CALL(fchmodat) CALL(fcntl) CALL(fdatasync) CALL(fgetxattr) CALL(flistxattr) CALL(flock) CALL(fork) CALL(fremovexattr) \
    CALL(fsetxattr) CALL(fstat) CALL(fstatfs) CALL(fsync) CALL(ftruncate) CALL(futex) CALL(futex_waitv) CALL(futimesat) \
    CALL(get_mempolicy) CALL(get_robust_list) CALL(get_thread_area) CALL(getcpu) CALL(getcwd) CALL(getdents) CALL(getdents64) \
    CALL(getegid) CALL(geteuid) CALL(getgid) CALL(getgroups) CALL(getitimer) CALL(getpeername) CALL(getpgid) CALL(getpgrp) CALL(getpid) \
    CALL(getppid) CALL(getpriority) CALL(getrandom) CALL(getresgid) CALL(getresuid) CALL(getrlimit) CALL(getrusage) CALL(getsid) \
    CALL(getsockname) CALL(getsockopt) CALL(gettid) CALL(gettimeofday) CALL(getuid) CALL(getxattr) CALL(inotify_add_watch) \
    CALL(inotify_init) CALL(inotify_init1) CALL(inotify_rm_watch) CALL(io_cancel) CALL(io_destroy) CALL(io_getevents) CALL(io_pgetevents) \
    CALL(io_setup) CALL(io_submit) CALL(io_uring_enter) CALL(io_uring_register) CALL(io_uring_setup) CALL(ioctl) CALL(ioprio_get) \
    CALL(kcmp) CALL(keyctl) CALL(kill) CALL(lgetxattr) CALL(link) CALL(linkat) CALL(listen) CALL(listxattr) CALL(llistxattr) \
    CALL(lremovexattr) CALL(lseek) CALL(lsetxattr) CALL(lstat) CALL(madvise) CALL(membarrier) CALL(memfd_create) CALL(mkdir) CALL(mkdirat) \
    CALL(mknod) CALL(mknodat) CALL(mlock) CALL(mlock2) CALL(mlockall) CALL(mmap) CALL(mprotect) CALL(mq_getsetattr) CALL(mq_notify) \
    CALL(mq_open) CALL(mq_timedreceive) CALL(mq_timedsend) CALL(mq_unlink) CALL(mremap) CALL(msgctl) CALL(msgget) CALL(msgrcv) \
    CALL(msgsnd) CALL(msync) CALL(munlock) CALL(munlockall) CALL(munmap) CALL(name_to_handle_at) CALL(nanosleep) CALL(newfstatat) \
    CALL(open) CALL(openat) CALL(openat2) CALL(pause) CALL(personality) CALL(pidfd_open) CALL(pidfd_send_signal) CALL(pipe) CALL(pipe2) \
    CALL(poll) CALL(ppoll) CALL(prctl) CALL(pread64) CALL(preadv) CALL(preadv2) CALL(prlimit64) CALL(process_madvise) \
    CALL(process_vm_readv) CALL(process_vm_writev) CALL(pselect6) CALL(pwrite64) CALL(pwritev) CALL(pwritev2) CALL(read) CALL(readahead) \
    CALL(readlink) CALL(readlinkat) CALL(readv) CALL(recvfrom) CALL(recvmmsg) CALL(recvmsg) CALL(remap_file_pages) CALL(removexattr) \
    CALL(rename) CALL(renameat) CALL(renameat2) CALL(request_key) CALL(restart_syscall) CALL(rmdir) CALL(rseq) CALL(rt_sigaction) \
    CALL(rt_sigpending) CALL(rt_sigprocmask) CALL(rt_sigqueueinfo) CALL(rt_sigreturn) CALL(rt_sigsuspend) CALL(rt_sigtimedwait) \
    CALL(rt_tgsigqueueinfo) CALL(sched_get_priority_max) CALL(sched_get_priority_min) CALL(sched_getaffinity) CALL(sched_getattr) \
    CALL(sched_getparam) CALL(sched_getscheduler) CALL(sched_rr_get_interval) CALL(sched_yield) CALL(select) CALL(semctl) CALL(semget) \
    CALL(semop) CALL(semtimedop) CALL(sendfile) CALL(sendmmsg) CALL(sendmsg) CALL(sendto) CALL(set_robust_list) CALL(set_thread_area) \
    CALL(set_tid_address) CALL(setfsgid) CALL(setgid) CALL(setitimer) CALL(setns) CALL(setpgid) CALL(setregid) CALL(setresgid) \
    CALL(setsid) CALL(setsockopt) CALL(setxattr) CALL(shmat) CALL(shmctl) CALL(shmdt) CALL(shmget) CALL(shutdown) CALL(sigaltstack) \
    CALL(signalfd) CALL(signalfd4) CALL(socket) CALL(socketpair) CALL(splice) CALL(stat) CALL(statfs) CALL(statx) CALL(symlink) \
    CALL(symlinkat) CALL(sync) CALL(sync_file_range) CALL(syncfs) CALL(sysinfo) CALL(tee) CALL(tgkill) CALL(time) CALL(timer_create) \
    CALL(timer_delete) CALL(timer_getoverrun) CALL(timer_gettime) CALL(timer_settime) CALL(timerfd_create) CALL(timerfd_gettime) \
    CALL(timerfd_settime) CALL(times) CALL(tkill) CALL(truncate) CALL(umask) CALL(uname) CALL(unlink) CALL(unlinkat) CALL(unshare) \
    CALL(userfaultfd) CALL(utime) CALL(utimensat) CALL(utimes) CALL(vfork) CALL(vmsplice) CALL(wait4) CALL(waitid) CALL(write) \
    CALL(writev)
