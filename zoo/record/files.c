/* Programs that read and write, by their first argument. Each checks what it gets itself, and exits with the number of
 * the first check that fails. What `all`, `fork` and `threads` do they count themselves, and say it by system calls that
 * are not recorded: name, calls, bytes.
 *   all FOLDER      each sort of call
 *   fork FOLDER     parent and child write to one file, with fork and with vfork
 *   threads FOLDER  four threads write to a file each
 *   cancel          a thread is cancelled while it reads
 *   handler FOLDER  a signal handler writes while the program allocates and prints
 *   print           formats with many arguments
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition) do { if (!(condition)) _exit(__COUNTER__ + 1); } while (0)

static void say(const char *name, long calls, long bytes)
{
    char line[100];
    int n = snprintf(line, sizeof line, "%s %ld %ld\n", name, calls, bytes);
    syscall(SYS_write, 1, line, n);
}

static const char *in(const char *folder, const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void by_descriptor(const char *folder)
{
    char bytes[1000] = {0};
    struct stat state;
    umask(0);
    errno = 0;
    int file = open(in(folder, "descriptor"), O_RDWR | O_CREAT | O_TRUNC, 0640);
    CHECK(0 <= file && errno == 0);
    CHECK(fstat(file, &state) == 0 && (state.st_mode & 0777) == 0640);
    CHECK(open("/no/such/file", O_RDONLY) == -1 && errno == ENOENT);
    CHECK(write(-1, bytes, 5) == -1 && errno == EBADF);
    CHECK(write(file, bytes, 1000) == 1000 && errno == EBADF);
    CHECK(pwrite(file, bytes, 500, 1000) == 500);
    struct iovec parts[2] = {{bytes, 30}, {bytes, 12}};
    CHECK(writev(file, parts, 2) == 42);
    CHECK(lseek(file, -400, SEEK_END) == 1100);
    CHECK(read(file, bytes, 1000) == 400);
    CHECK(read(file, bytes, 1000) == 0);
    CHECK(pread(file, bytes, 100, 1450) == 50);
    CHECK(lseek(file, 0, SEEK_SET) == 0 && readv(file, parts, 2) == 42);
    CHECK(fsync(file) == 0 && fdatasync(file) == 0);
    int copy = dup(file);
    CHECK(0 <= copy && write(copy, bytes, 7) == 7 && close(copy) == 0);
    CHECK(close(file) == 0 && close(file) == -1 && errno == EBADF);
    int small = open64(in(folder, "descriptor64"), O_WRONLY | O_CREAT, 0600);
    CHECK(0 <= small && write(small, bytes, 3) == 3 && close(small) == 0);
    int at = openat(AT_FDCWD, in(folder, "descriptor64"), O_RDONLY);
    CHECK(0 <= at && read(at, bytes, 10) == 3 && close(at) == 0);
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    CHECK(send(ends[0], bytes, 11, 0) == 11 && recv(ends[1], bytes, 100, 0) == 11);
    CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);
    say("open", 3, 0);
    say("openat", 1, 0);
    say("close", 7, 0);
    say("read", 3, 403);
    say("write", 4, 1010);
    say("pread", 1, 50);
    say("pwrite", 1, 500);
    say("readv", 1, 42);
    say("writev", 1, 42);
    say("send", 1, 11);
    say("recv", 1, 11);
    say("lseek", 2, 0);
    say("fsync", 1, 0);
    say("fdatasync", 1, 0);
    say("dup", 1, 0);
}

static void by_stream(const char *folder)
{
    char bytes[1000];
    memset(bytes, 'x', sizeof bytes);
    errno = 0;
    FILE *file = fopen(in(folder, "stream"), "w+");
    CHECK(file && errno == 0);
    CHECK(fopen64("/no/such/file", "r") == NULL && errno == ENOENT);
    CHECK(fwrite(bytes, 10, 50, file) == 50);
    CHECK(fputs("a line\n", file) >= 0);
    CHECK(fprintf(file, "%d %s %.1f\n", 12, "text", 2.5) == 12);
    CHECK(fflush(file) == 0);
    CHECK(fseek(file, 0, SEEK_SET) == 0 && fread(bytes, 1, 500, file) == 500);
    CHECK(fgets(bytes, sizeof bytes, file) && strcmp(bytes, "a line\n") == 0);
    char *line = NULL;
    size_t room = 0;
    // Headers may make another function of it.
    ssize_t (*volatile get)(char **, size_t *, FILE *) = getline;
    CHECK(get(&line, &room, file) == 12 && strcmp(line, "12 text 2.5\n") == 0);
    free(line);
    CHECK(fread(bytes, 1, 10, file) == 0 && feof(file));
    rewind(file);
    CHECK(fclose(file) == 0);
    file = fopen64(in(folder, "stream"), "r");
    CHECK(file && fread(bytes, 100, 1, file) == 1 && fclose(file) == 0);
    say("fopen", 3, 0);
    say("fclose", 2, 0);
    say("fwrite", 1, 500);
    say("fread", 3, 600);
    say("fputs", 1, 7);
    say("fprintf", 1, 12);
    say("fflush", 1, 0);
    say("fseek", 1, 0);
    say("fgets", 1, 7);
    say("getline", 1, 12);
    say("rewind", 1, 0);
}

static void forks(const char *folder)
{
    char bytes[100] = {0};
    int file = open(in(folder, "forked"), O_WRONLY | O_CREAT, 0600), status;
    CHECK(0 <= file && write(file, bytes, 10) == 10);
    pid_t child = fork();
    if (child == 0) {
        CHECK(write(file, bytes, 20) == 20);
        _exit(0);
    }
    CHECK(0 < child && waitpid(child, &status, 0) == child && status == 0);
    child = vfork();
    if (child == 0) {
        // The child's, which has its parent's memory.
        write(file, bytes, 40);
        close(file);
        _exit(0);
    }
    CHECK(0 < child && waitpid(child, &status, 0) == child && status == 0);
    CHECK(write(file, bytes, 30) == 30 && close(file) == 0);
    say("open", 1, 0);
    say("write", 3, 60);
    say("close", 1, 0);
}

static void *thread(void *path)
{
    int file = open(path, O_WRONLY | O_CREAT, 0600);
    CHECK(0 <= file);
    for (int i = 0; i < 1000; i++)
        CHECK(write(file, "0123456789", 10) == 10);
    CHECK(close(file) == 0);
    return NULL;
}

static void threads(const char *folder)
{
    pthread_t all[4];
    for (int i = 0; i < 4; i++) {
        char name[2] = {(char)('0' + i), 0};
        CHECK(pthread_create(&all[i], NULL, thread, strdup(in(folder, name))) == 0);
    }
    for (int i = 0; i < 4; i++)
        CHECK(pthread_join(all[i], NULL) == 0);
    say("open", 4, 0);
    say("write", 4000, 40000);
    say("close", 4, 0);
}

static int ends[2];

static void *reader(void *unused)
{
    char byte;
    read(ends[0], &byte, 1);
    return unused;
}

static void cancel(void)
{
    pthread_t reading;
    void *result;
    CHECK(pipe(ends) == 0 && pthread_create(&reading, NULL, reader, NULL) == 0);
    usleep(50000);
    CHECK(pthread_cancel(reading) == 0 && pthread_join(reading, &result) == 0);
    CHECK(result == PTHREAD_CANCELED);
}

static int log_file;
static volatile sig_atomic_t n_alarms;

static void alarmed(int signal)
{
    int before = errno;
    if (write(log_file, "alarm\n", 6) == 6)
        n_alarms++;
    errno = before;
}

static void handler(const char *folder)
{
    struct itimerval often = {{0, 200}, {0, 200}};
    log_file = open(in(folder, "log"), O_WRONLY | O_CREAT | O_APPEND, 0600);
    FILE *out = fopen(in(folder, "out"), "w");
    signal(SIGALRM, alarmed);
    CHECK(0 <= log_file && out && setitimer(ITIMER_REAL, &often, NULL) == 0);
    for (long i = 0; n_alarms < 200; i++) {
        char *some = malloc(100 + i % 5000);
        CHECK(some && 0 < fprintf(out, "%ld\n", i));
        free(some);
    }
    memset(&often, 0, sizeof often);
    CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0 && fclose(out) == 0);
}

static int list(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vprintf(format, arguments);
    va_end(arguments);
    return n;
}

static void print(void)
{
    printf("none\n");
    printf("%d %s %ld %c %x %d %d %d %u\n", 1, "two", 3L, '4', 5, 6, 7, 8, 9u);
    printf("%.1f %.1f %.1f %.1f %.1f %.1f %.1f %.1f %.1f %.1f\n", 1., 2., 3., 4., 5., 6., 7., 8., 9., 10.);
    printf("%d %.2f %s %.2f %d %.3Lf\n", 1, 2.5, "mixed", 3.5, 4, 5.5L);
    fprintf(stdout, "%s %d %d %d %d %d %d %.1f\n", "stream", 1, 2, 3, 4, 5, 6, 7.5);
    list("%d %s %.1f\n", 1, "list", 2.5);
    puts("a line");
    fprintf(stderr, "%s\n", "an error");
}

int main(int n, char **words)
{
    const char *what = 1 < n ? words[1] : "", *folder = 2 < n ? words[2] : ".";
    if (strcmp(what, "all") == 0) {
        by_descriptor(folder);
        by_stream(folder);
    } else if (strcmp(what, "fork") == 0) {
        forks(folder);
    } else if (strcmp(what, "threads") == 0) {
        threads(folder);
    } else if (strcmp(what, "cancel") == 0) {
        cancel();
    } else if (strcmp(what, "handler") == 0) {
        handler(folder);
    } else if (strcmp(what, "print") == 0) {
        print();
    } else {
        return 99;
    }
    return 0;
}
