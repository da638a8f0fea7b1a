import Foundation
import Synchronization

/// The output of a program, line by line. A thread reads it at once, so the program never waits because a pipe is full.
package final class OutputText: Sendable {
    private let lines: AsyncStream<String>
    private let ended: AsyncStream<Void>
    private let state = Mutex(State())

    private struct State {
        var bytes: [UInt8] = []
        var waiting: [(isFound: @Sendable (String) -> Bool, found: AsyncStream<Void>.Continuation)] = []
        var isEnded = false
    }

    /// - Parameter descriptor: where the output comes from. It is closed at the end.
    package init(reading descriptor: Int32) {
        let (lines, line) = AsyncStream.makeStream(of: String.self)
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        self.lines = lines
        self.ended = ended
        Thread.detachNewThread { [self] in
            var rest: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = read(descriptor, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                // A failed read counts as the end.
                guard count > 0 else { break }
                append(buffer[..<count])
                rest += buffer[..<count]
                while let index = rest.firstIndex(of: UInt8(ascii: "\n")) {
                    line.yield(String(decoding: rest[..<index], as: UTF8.self))
                    rest.removeSubrange(...index)
                }
            }
            close(descriptor)
            if !rest.isEmpty { line.yield(String(decoding: rest, as: UTF8.self)) }
            finish()
            line.finish()
            end.finish()
        }
    }

    /// Everything that was written so far.
    package var text: String { state.withLock { String(decoding: $0.bytes, as: UTF8.self) } }

    /// The next line that was not returned yet.
    /// - Returns: nil if the program has closed its output, or if the task was cancelled.
    package func nextLine() async -> String? {
        for await line in lines { return line }
        return nil
    }

    /// Waits until the output contains the text, or is closed.
    package func wait(for text: String) async { await wait { $0.contains(text) } }

    /// Waits until the output is as the condition says, or is closed.
    package func wait(until isFound: @escaping @Sendable (String) -> Bool) async {
        let (found, continuation) = AsyncStream.makeStream(of: Void.self)
        state.withLock { state in
            if state.isEnded || isFound(String(decoding: state.bytes, as: UTF8.self)) {
                continuation.finish()
            } else {
                state.waiting.append((isFound, continuation))
            }
        }
        for await _ in found {}
    }

    /// Waits until the output is closed.
    package func end() async {
        for await _ in ended {}
    }

    private func append(_ data: ArraySlice<UInt8>) {
        state.withLock { state in
            state.bytes += data
            guard !state.waiting.isEmpty else { return }
            let text = String(decoding: state.bytes, as: UTF8.self)
            state.waiting.removeAll { waiting in
                guard waiting.isFound(text) else { return false }
                waiting.found.finish()
                return true
            }
        }
    }

    private func finish() {
        state.withLock { state in
            state.isEnded = true
            for waiting in state.waiting { waiting.found.finish() }
            state.waiting.removeAll()
        }
    }
}
