import Foundation

/// Ends this process when its standard input ends, in the same way as SIGTERM.
///
/// A program that starts the service keeps the other end of a pipe. The system closes it when that program ends, also if it
/// was killed.
package enum InputEnd {
    /// Begins to watch. A separate thread reads and discards the input until the process ends.
    package static func watch() {
        Thread.detachNewThread {
            waitForEnd(of: STDIN_FILENO)
            kill(getpid(), SIGTERM)
        }
    }

    /// Returns when there is nothing more to read. An input that cannot be read has ended, too.
    static func waitForEnd(of input: Int32) {
        var discarded = [UInt8](repeating: 0, count: 4096)
        while true {
            // The other program may have made the pipe non-blocking.
            var state = pollfd(fd: input, events: Int16(POLLIN), revents: 0)
            guard poll(&state, 1, -1) >= 0 else {
                if errno == EINTR { continue }
                return
            }
            let count = read(input, &discarded, discarded.count)
            guard count <= 0 else { continue }
            if count < 0, errno == EINTR || errno == EAGAIN { continue }
            return
        }
    }
}
