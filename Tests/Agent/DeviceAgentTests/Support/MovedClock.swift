import CommonTesting
import Foundation

@testable import ServiceTesting

/// The clock of a program, which a test moves while the program runs: a small library in C takes the place of the system's
/// functions that say what time it is. The clocks that do not jump (CLOCK_MONOTONIC, CLOCK_BOOTTIME) stay the system's.
struct MovedClock: Sendable {
    static let isPossible = ChildProcess.isInstalled("cc")

    /// The variables of a program with this clock.
    let environment: [String: String]
    private let file: String

    init(_ folder: String) async throws {
        file = folder + "/clock"
        try Data(count: 8).write(to: URL(fileURLWithPath: file))
        try Data(Self.source.utf8).write(to: URL(fileURLWithPath: folder + "/clock.c"))
        let library = folder + "/clock.so"
        let made = try await ChildProcess.run("cc", ["-shared", "-fPIC", "-O1", "-o", library, folder + "/clock.c"])
        guard made.status == 0 else { throw AgentRig.Refused(status: 0, detail: made.errors) }
        environment = ["LD_PRELOAD": library, "MOVED_CLOCK": file]
    }

    /// Lets the clock differ by so many seconds from the system's, from now on.
    func move(to seconds: Int64) throws {
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: file))
        try handle.write(contentsOf: withUnsafeBytes(of: seconds) { Data($0) })
        try handle.close()
    }

    private static let source = """
        #define _GNU_SOURCE
        #include <fcntl.h>
        #include <stdint.h>
        #include <stdlib.h>
        #include <sys/mman.h>
        #include <sys/syscall.h>
        #include <sys/time.h>
        #include <time.h>
        #include <unistd.h>

        static volatile int64_t none, *seconds = &none;

        __attribute__((constructor)) static void begin(void) {
            const char *path = getenv("MOVED_CLOCK");
            int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
            if (file < 0) return;
            void *place = mmap(0, 8, PROT_READ, MAP_SHARED, file, 0);
            if (place != MAP_FAILED) seconds = place;
            close(file);
        }

        int clock_gettime(clockid_t clock, struct timespec *time) {
            int result = (int)syscall(SYS_clock_gettime, clock, time);
            if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += *seconds;
            return result;
        }

        int gettimeofday(struct timeval *time, void *zone) {
            struct timespec now;
            if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
            time->tv_sec = now.tv_sec;
            time->tv_usec = now.tv_nsec / 1000;
            return 0;
        }

        time_t time(time_t *place) {
            struct timespec now;
            if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
            if (place) *place = now.tv_sec;
            return now.tv_sec;
        }
        """
}
