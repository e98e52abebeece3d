/* Runs a program and lets one of its system calls fail, be cut short, or be its last.

   usage: inject LOG SET FAULT N PROGRAM [ARG...]

   SET     writes: calls that open, write, name, lock or mark files; reads: calls that read, list or look at them
   FAULT   none; an errno as a number; short (half of the bytes); kill, term, int (the signal comes instead of the call,
           or just before it); with a + after it, an errno comes from the N-th call on
   LOG     a line for each call, in order: number, name, the file's path or "-", "!" where the fault was

   The exit code is the program's; 128 + N where signal N ended it; 125 where the machine cannot do this. The program's
   children are watched, too, but only its own calls are cut short.

   Works by seccomp's user notifications (Linux 5.6): every call of the set waits for us and is then let through, so
   there is no difference between the C library's calls and those that a program makes by itself. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define UNABLE 125
#define NONE (-1)

/* Where a call names its file: by a path, by a folder and a path, by a descriptor. */
enum by { PATH, AT, FD, COMMAND };
enum set { WRITES, READS };

static const struct call {
    long number;
    const char *name;
    enum set set;
    enum by by;
    int argument;
} CALLS[] = {
#ifdef SYS_open
    {SYS_open, "open", WRITES, PATH, 0},
    {SYS_creat, "creat", WRITES, PATH, 0},
    {SYS_rename, "rename", WRITES, PATH, 1},
    {SYS_link, "link", WRITES, PATH, 1},
    {SYS_symlink, "symlink", WRITES, PATH, 1},
    {SYS_unlink, "unlink", WRITES, PATH, 0},
    {SYS_mkdir, "mkdir", WRITES, PATH, 0},
    {SYS_rmdir, "rmdir", WRITES, PATH, 0},
    {SYS_chmod, "chmod", WRITES, PATH, 0},
    {SYS_chown, "chown", WRITES, PATH, 0},
    {SYS_stat, "stat", READS, PATH, 0},
    {SYS_lstat, "lstat", READS, PATH, 0},
    {SYS_readlink, "readlink", READS, PATH, 0},
    {SYS_newfstatat, "newfstatat", READS, AT, 0},
#endif
#ifdef SYS_renameat
    {SYS_renameat, "renameat", WRITES, AT, 2},
#endif
    {SYS_openat, "openat", WRITES, AT, 0},
    {SYS_openat2, "openat2", WRITES, AT, 0},
    {SYS_renameat2, "renameat2", WRITES, AT, 2},
    {SYS_linkat, "linkat", WRITES, AT, 2},
    {SYS_symlinkat, "symlinkat", WRITES, AT, 1},
    {SYS_unlinkat, "unlinkat", WRITES, AT, 0},
    {SYS_mkdirat, "mkdirat", WRITES, AT, 0},
    {SYS_fchmodat, "fchmodat", WRITES, AT, 0},
    {SYS_fchownat, "fchownat", WRITES, AT, 0},
    {SYS_utimensat, "utimensat", WRITES, AT, 0},
    {SYS_write, "write", WRITES, FD, 0},
    {SYS_pwrite64, "pwrite64", WRITES, FD, 0},
    {SYS_writev, "writev", WRITES, FD, 0},
    {SYS_pwritev, "pwritev", WRITES, FD, 0},
    {SYS_pwritev2, "pwritev2", WRITES, FD, 0},
    {SYS_fsync, "fsync", WRITES, FD, 0},
    {SYS_fdatasync, "fdatasync", WRITES, FD, 0},
    {SYS_ftruncate, "ftruncate", WRITES, FD, 0},
    {SYS_fallocate, "fallocate", WRITES, FD, 0},
    {SYS_fchmod, "fchmod", WRITES, FD, 0},
    {SYS_fchown, "fchown", WRITES, FD, 0},
    {SYS_setxattr, "setxattr", WRITES, PATH, 0},
    {SYS_lsetxattr, "lsetxattr", WRITES, PATH, 0},
    {SYS_fsetxattr, "fsetxattr", WRITES, FD, 0},
    {SYS_removexattr, "removexattr", WRITES, PATH, 0},
    {SYS_fremovexattr, "fremovexattr", WRITES, FD, 0},
    {SYS_copy_file_range, "copy_file_range", WRITES, FD, 2},
    {SYS_sendfile, "sendfile", WRITES, FD, 0},
    {SYS_flock, "flock", WRITES, FD, 0},
    {SYS_fcntl, "fcntl", WRITES, COMMAND, 0},
    {SYS_read, "read", READS, FD, 0},
    {SYS_pread64, "pread64", READS, FD, 0},
    {SYS_readv, "readv", READS, FD, 0},
    {SYS_lseek, "lseek", READS, FD, 0},
    {SYS_fstat, "fstat", READS, FD, 0},
    {SYS_statx, "statx", READS, AT, 0},
    {SYS_getdents64, "getdents64", READS, FD, 0},
    {SYS_readlinkat, "readlinkat", READS, AT, 0},
    {SYS_getxattr, "getxattr", READS, PATH, 0},
    {SYS_lgetxattr, "lgetxattr", READS, PATH, 0},
    {SYS_fgetxattr, "fgetxattr", READS, FD, 0},
    {SYS_listxattr, "listxattr", READS, PATH, 0},
    {SYS_llistxattr, "llistxattr", READS, PATH, 0},
    {SYS_flistxattr, "flistxattr", READS, FD, 0},
};
#define COUNT (sizeof CALLS / sizeof *CALLS)

enum kind { NOTHING, ERRNO, ERRNO_ON, SHORT, SIGNAL };
static struct { enum kind kind; int number; long at; } fault;
static pid_t child;

static void unable(const char *what) {
    fprintf(stderr, "inject: %s: %s\n", what, strerror(errno));
    if (child > 0)
        kill(child, SIGKILL);
    exit(UNABLE);
}

/* Notifies of each call of the set; the rest goes through without a delay. */
static int listener(enum set set) {
    struct sock_filter program[2 * COUNT + 2];
    unsigned at = 0;
    program[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < COUNT; i++) {
        if (CALLS[i].set != set)
            continue;
        program[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)CALLS[i].number, 0, 1);
        program[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
    }
    program[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog all = {.len = (unsigned short)at, .filter = program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return NONE;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &all);
}

static union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
} control;

static struct msghdr *message(void) {
    static char byte;
    static struct iovec one = {&byte, 1};
    static struct msghdr msg;
    msg = (struct msghdr){.msg_iov = &one, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    return &msg;
}

/* In the child: becomes the program; the listener goes to the parent. sendmsg and execve are in no set. */
static void become(char **program, enum set set, int to) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int fd = listener(set);
    if (fd < 0)
        _exit(UNABLE);
    struct msghdr *msg = message();
    control.header = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
    if (sendmsg(to, msg, 0) != 1)
        _exit(UNABLE);
    execvp(program[0], program);
    _exit(127);
}

static int received(int from) {
    int fd = NONE;
    if (recvmsg(from, message(), MSG_CMSG_CLOEXEC) == 1 && control.header.cmsg_type == SCM_RIGHTS)
        memcpy(&fd, CMSG_DATA(&control.header), sizeof fd);
    return fd;
}

static size_t from_memory(pid_t pid, uint64_t address, char *into, size_t bytes) {
    struct iovec here = {into, bytes}, there = {(void *)(uintptr_t)address, bytes};
    ssize_t n = process_vm_readv(pid, &here, 1, &there, 1, 0);
    return n < 0 ? 0 : (size_t)n;
}

/* A string's end may be the end of the memory that can be read: a part at a time. */
static void text_at(pid_t pid, uint64_t address, char *into, size_t bytes) {
    size_t n = 0;
    while (n + 1 < bytes && from_memory(pid, address + n, into + n, 1) == 1 && into[n] != 0)
        n++;
    into[n] = 0;
}

static void of_descriptor(pid_t pid, int fd, char *into, size_t bytes) {
    char link[64];
    if (fd == AT_FDCWD)
        snprintf(link, sizeof link, "/proc/%d/cwd", pid);
    else
        snprintf(link, sizeof link, "/proc/%d/fd/%d", pid, fd);
    ssize_t n = readlink(link, into, bytes - 1);
    into[n < 0 ? 0 : n] = 0;
}

static void path_of(const struct call *call, const struct seccomp_notif *seen, char *into, size_t bytes) {
    const __u64 *arguments = seen->data.args;
    pid_t pid = (pid_t)seen->pid;
    char name[PATH_MAX];
    switch (call->by) {
    case FD:
    case COMMAND:
        of_descriptor(pid, (int)arguments[call->argument], into, bytes);
        return;
    case PATH:
    case AT:
        text_at(pid, arguments[call->argument + (call->by == AT)], name, sizeof name);
        into[0] = 0;
        if (name[0] != '/')
            of_descriptor(pid, call->by == AT ? (int)arguments[call->argument] : AT_FDCWD, into, bytes);
        if (name[0] != 0) {
            size_t n = strlen(into);
            snprintf(into + n, bytes - n, "%s%s", n ? "/" : "", name);
        }
        return;
    }
}

/* Does half of a write or a read ourselves; gives the number of bytes, or NONE where it cannot be halved. */
static ssize_t half(const struct call *call, const struct seccomp_notif *seen) {
    const __u64 *arguments = seen->data.args;
    int is_write = call->number == SYS_write || call->number == SYS_pwrite64;
    int is_read = call->number == SYS_read || call->number == SYS_pread64;
    int has_place = call->number == SYS_pwrite64 || call->number == SYS_pread64;
    size_t bytes = (size_t)arguments[2] / 2;
    if (!(is_write || is_read) || bytes == 0)
        return NONE;
    int process = (int)syscall(SYS_pidfd_open, child, 0);
    int fd = (int)syscall(SYS_pidfd_getfd, process, (int)arguments[0], 0);
    char *buffer = malloc(bytes);
    ssize_t done = NONE;
    if (fd >= 0 && buffer != NULL) {
        off_t place = (off_t)arguments[3];
        if (is_write && from_memory((pid_t)seen->pid, arguments[1], buffer, bytes) == bytes)
            done = has_place ? pwrite(fd, buffer, bytes, place) : write(fd, buffer, bytes);
        if (is_read) {
            done = has_place ? pread(fd, buffer, bytes, place) : read(fd, buffer, bytes);
            struct iovec here = {buffer, done > 0 ? (size_t)done : 0};
            struct iovec there = {(void *)(uintptr_t)arguments[1], here.iov_len};
            if (done > 0 && process_vm_writev((pid_t)seen->pid, &here, 1, &there, 1, 0) != done)
                unable("write into the program's memory");
        }
    }
    free(buffer);
    close(fd);
    close(process);
    return done;
}

/* Decides about one call; says whether the fault was here. */
static int answer(const struct call *call, const struct seccomp_notif *seen, long at, struct seccomp_notif_resp *reply) {
    *reply = (struct seccomp_notif_resp){.id = seen->id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
    if (fault.kind == NOTHING || (fault.kind == ERRNO_ON ? at < fault.at : at != fault.at))
        return 0;
    ssize_t done;
    switch (fault.kind) {
    case ERRNO:
    case ERRNO_ON:
        reply->flags = 0;
        reply->error = -fault.number;
        return 1;
    case SHORT:
        done = half(call, seen);
        if (done < 0)
            return 0;
        reply->flags = 0;
        reply->val = done;
        return 1;
    case SIGNAL:
        kill(child, fault.number);
        return 1;
    case NOTHING:
        break;
    }
    return 0;
}

/* Commands of fcntl that lock a file or take a lease on it; the others only concern the descriptor. */
static int is_of_set(const struct call *call, const struct seccomp_notif *seen) {
    if (call->by != COMMAND)
        return 1;
    switch ((int)seen->data.args[1]) {
    case F_SETLK: case F_SETLKW: case F_OFD_SETLK: case F_OFD_SETLKW: case F_SETLEASE:
        return 1;
    default:
        return 0;
    }
}

static void supervise(int fd, FILE *log) {
    long at = 0;
    char path[2 * PATH_MAX];
    for (;;) {
        struct pollfd waiting = {.fd = fd, .events = POLLIN};
        if (poll(&waiting, 1, -1) < 0 && errno == EINTR)
            continue;
        if (!(waiting.revents & POLLIN))
            return; /* nobody is left */
        struct seccomp_notif seen;
        memset(&seen, 0, sizeof seen);
        if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &seen) != 0) {
            if (errno == ENOENT || errno == EINTR)
                continue; /* a signal took it back */
            return;
        }
        const struct call *call = NULL;
        for (size_t i = 0; i < COUNT && call == NULL; i++)
            if (CALLS[i].number == seen.data.nr)
                call = &CALLS[i];
        struct seccomp_notif_resp reply = {.id = seen.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
        if (call != NULL && is_of_set(call, &seen)) {
            path_of(call, &seen, path, sizeof path);
            at++;
            int is_here = answer(call, &seen, at, &reply);
            fprintf(log, "%ld\t%s\t%s\t%s\n", at, call->name, path[0] ? path : "-", is_here ? "!" : "");
        }
        ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &reply); /* fails where the program is gone */
    }
}

static void parse_fault(const char *text, long at) {
    fault.at = at;
    if (strcmp(text, "none") == 0)
        fault.kind = NOTHING;
    else if (strcmp(text, "short") == 0)
        fault.kind = SHORT;
    else if (strcmp(text, "kill") == 0 || strcmp(text, "term") == 0 || strcmp(text, "int") == 0) {
        fault.kind = SIGNAL;
        fault.number = text[0] == 'k' ? SIGKILL : text[0] == 't' ? SIGTERM : SIGINT;
    } else {
        char *rest;
        fault.number = (int)strtol(text, &rest, 10);
        fault.kind = *rest == '+' ? ERRNO_ON : ERRNO;
        if (fault.number <= 0) {
            fprintf(stderr, "inject: unknown fault %s\n", text);
            exit(UNABLE);
        }
    }
}

int main(int argc, char **argv) {
    if (argc < 6) {
        fprintf(stderr, "usage: inject LOG writes|reads none|ERRNO[+]|short|kill|term|int N PROGRAM [ARG...]\n");
        return UNABLE;
    }
    enum set set = strcmp(argv[2], "reads") == 0 ? READS : WRITES;
    parse_fault(argv[3], strtol(argv[4], NULL, 10));
    FILE *log = fopen(argv[1], "we");
    int pair[2];
    if (log == NULL || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        unable(argv[1]);
    child = fork();
    if (child < 0)
        unable("fork");
    if (child == 0)
        become(argv + 5, set, pair[1]);
    close(pair[1]);
    int fd = received(pair[0]);
    if (fd >= 0)
        supervise(fd, log);
    fclose(log);
    int status;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (fd < 0) {
        fprintf(stderr, "inject: this machine gives no notice of system calls\n");
        return UNABLE;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
