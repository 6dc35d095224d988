/*
 * A filesystem of one file that stops answering: mounted at DIR, it shows DIR/prog with the bytes of FILE until SIGUSR1 comes, and after
 * that takes requests and answers none; SIGUSR2: it answers all but reads; SIGCONT: it answers again:
 *	fuse_hold FILE DIR [SECONDS]
 * Prints "ready" when it is mounted and "holding" for each request that is held. Its end frees everybody, and comes after a minute (or
 * SECONDS) of holding: whoever else looks at the file meanwhile (other recorders) is held up as well.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NODE = 2, ROOM = 1 << 18 };

static volatile sig_atomic_t hold, hold_reads;
static unsigned hold_seconds = 60;
static const char *data;
static size_t size;

static void on_signal(int signo)
{
	hold = signo == SIGUSR1;
	hold_reads = signo == SIGUSR2;
	(void)alarm(signo == SIGCONT ? 0 : hold_seconds);
}

static struct fuse_attr attr_of(uint64_t node)
{
	struct fuse_attr a = { .ino = node, .nlink = 1, .blksize = 4096 };
	a.mode = node == NODE ? S_IFREG | 0755 : S_IFDIR | 0755;
	a.size = node == NODE ? size : 0;
	return a;
}

static void reply(int fd, const struct fuse_in_header *in, int err, const void *body, size_t len)
{
	static char buf[ROOM];
	struct fuse_out_header out = { .len = (uint32_t)(sizeof(out) + len),
				       .error = err,
				       .unique = in->unique };
	memcpy(buf, &out, sizeof(out));
	if (len)
		memcpy(buf + sizeof(out), body, len);
	if (write(fd, buf, sizeof(out) + len) < 0)
		perror("fuse_hold");
}

static void answer_read(int fd, const struct fuse_in_header *in, const struct fuse_read_in *r)
{
	size_t at = r->offset < size ? r->offset : size;
	size_t len = r->size < size - at ? r->size : size - at;
	reply(fd, in, 0, data + at, len);
}

static void answer(int fd, const struct fuse_in_header *in, const void *body)
{
	struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION,
				      .minor = FUSE_KERNEL_MINOR_VERSION,
				      .max_write = 1 << 16 };
	struct fuse_entry_out entry = { .nodeid = NODE, .attr = attr_of(NODE) };
	struct fuse_attr_out attr = { .attr = attr_of(in->nodeid) };
	struct fuse_open_out open = { .fh = 1 };
	struct fuse_statfs_out fs = { .st = { .bsize = 4096, .namelen = 255 } };
	switch (in->opcode) {
	case FUSE_INIT: reply(fd, in, 0, &init, sizeof(init)); break;
	case FUSE_LOOKUP:
		if (strcmp(body, "prog"))
			reply(fd, in, -ENOENT, NULL, 0);
		else
			reply(fd, in, 0, &entry, sizeof(entry));
		break;
	case FUSE_GETATTR: reply(fd, in, 0, &attr, sizeof(attr)); break;
	case FUSE_OPEN: reply(fd, in, 0, &open, sizeof(open)); break;
	case FUSE_READ: answer_read(fd, in, body); break;
	case FUSE_STATFS: reply(fd, in, 0, &fs, sizeof(fs)); break;
	case FUSE_RELEASE:
	case FUSE_FLUSH: reply(fd, in, 0, NULL, 0); break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT: break;
	default: reply(fd, in, -ENOSYS, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	static char buf[ROOM] __attribute__((aligned(8)));
	char options[128];
	struct stat st;
	int file = argc >= 3 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (file < 0 || fd < 0 || fstat(file, &st))
		return 77;
	size = (size_t)st.st_size;
	data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
	if (argc > 3)
		hold_seconds = (unsigned)atoi(argv[3]);
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	(void)sigaction(SIGUSR1, &sa, NULL);
	(void)sigaction(SIGUSR2, &sa, NULL);
	(void)sigaction(SIGCONT, &sa, NULL);
	(void)snprintf(options, sizeof(options),
		       "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fd);
	if (data == MAP_FAILED ||
	    mount("sonde-test", argv[2], "fuse", MS_NOSUID | MS_NODEV, options))
		return 77;
	(void)!write(STDOUT_FILENO, "ready\n", 6);
	for (;;) {
		ssize_t n = read(fd, buf, sizeof(buf));
		const struct fuse_in_header *in = (const void *)buf;
		if (n < 0 && errno != EINTR && errno != ENOENT)
			return 0; /* unmounted */
		if (n < (ssize_t)sizeof(*in))
			continue;
		if (!hold && !(hold_reads && in->opcode == FUSE_READ))
			answer(fd, in, buf + sizeof(*in));
		else if (in->opcode != FUSE_FORGET && in->opcode != FUSE_INTERRUPT)
			(void)!write(STDOUT_FILENO, "holding\n", 8);
	}
}
