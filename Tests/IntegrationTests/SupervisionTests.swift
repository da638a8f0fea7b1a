import Foundation
import Logging
import Synchronization
import Testing

@testable import carillon

/// What a service reports to its supervisor: to systemd by its protocol, and to programs by its log.
@Suite(.timeLimit(.minutes(2))) struct SupervisionTests {
    @Test func `systemd is told that the service is ready, alive and ending`() async throws {
        try await withTemporaryFolder { folder in
            try await Self.withSystemd(at: folder + "/notify") { messages in
                let environment = ["NOTIFY_SOCKET": folder + "/notify", "WATCHDOG_USEC": "100000"]
                try await CarillonProcess.with(environment: environment) { service in
                    var messages = messages.makeAsyncIterator()
                    #expect(await messages.next() == "READY=1")
                    #expect(await messages.next() == "WATCHDOG=1")
                    #expect(await messages.next() == "WATCHDOG=1")
                    #expect(await service.stop().status == 0)
                    var message = await messages.next()
                    while message == "WATCHDOG=1" { message = await messages.next() }
                    #expect(message == "STOPPING=1")
                }
            }
        }
    }

    @Test func `A watchdog that is meant for another process gets no messages`() async throws {
        try await withTemporaryFolder { folder in
            try await Self.withSystemd(at: folder + "/notify") { messages in
                let environment = [
                    "NOTIFY_SOCKET": folder + "/notify", "WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1",
                ]
                try await CarillonProcess.with(environment: environment) { service in
                    _ = await service.stop()
                    var messages = messages.makeAsyncIterator()
                    #expect(await messages.next() == "READY=1")
                    #expect(await messages.next() == "STOPPING=1")
                }
            }
        }
    }

    @Test func `With --log-format json each line of the log is an object`() async throws {
        try await CarillonProcess.with(["--log-format", "json"]) { service in
            let finished = await service.stop()
            let lines = try finished.errors.split(separator: "\n").map { try JSONValue(String($0)) }
            #expect(lines.map { $0["message"] }.contains("The service is ready"))
            for line in lines {
                #expect(line.keys.isSuperset(of: ["time", "level", "logger", "message"]))
                #expect(line["level"] == "info")
                #expect(line["time"]?.text?.hasSuffix("Z") == true)
            }
        }
    }

    /// The arguments of a shell that runs a service as systemd does: standard error is the journal, and a variable names it.
    private static let inJournal = [
        "-c", #"JOURNAL_STREAM=$(stat --dereference --format=%d:%i /dev/stderr) exec "$0" "$@""#, BuiltCommand.path,
        "serve", "--store", "memory", "--ports", "ephemeral",
    ]

    /// Starts a service, ends it when it is ready, and returns what it printed.
    private static func output(
        _ program: String,
        _ arguments: [String],
        _ environment: [String: String] = [:],
    ) async throws -> ChildProcess.Finished {
        try await ChildProcess.with(program, arguments, environment: environment) { service in
            await service.errors.wait(for: "The service is ready")
            service.signal(SIGTERM)
            return await service.finished()
        }
    }

    @Test func `In the journal a line begins with its level, and messages for people are not printed`() async throws {
        let finished = try await Self.output("/bin/sh", Self.inJournal)
        #expect(finished.status == 0)
        #expect(finished.errors.split(separator: "\n").contains("<6>The service is ready"))
        #expect(finished.output == "")
    }

    @Test func `With JSON messages for people are not printed`() async throws {
        let finished = try await Self.output(
            BuiltCommand.path, ["serve", "--store", "memory", "--ports", "ephemeral", "--log-format", "json"])
        #expect(finished.status == 0)
        #expect(finished.output == "")
    }

    @Test func `A terminal whose parent writes to the journal is no journal`() async throws {
        let finished = try await Self.output(
            BuiltCommand.path, ["serve", "--store", "memory", "--ports", "ephemeral"], ["JOURNAL_STREAM": "8:12345"])
        #expect(finished.output.hasPrefix("Carillon is ready."))
        #expect(!finished.errors.contains("<6>"))
    }

    @Test(arguments: ["\n", "\r\n", "\r", "\0", "\u{1B}[2J", "\u{85}"])
    func `In the journal a value with control characters stays on its line`(_ end: String) {
        let written = Mutex("")
        let logger = Logger(label: "test") { label in
            LineLogHandler(.journal, label: label, write: { text in written.withLock { $0 += text } })
        }
        logger.warning("A name", metadata: ["name": "a\(end)<0>b"])
        let line = written.withLock { $0 }
        #expect(line.unicodeScalars.count { $0.properties.generalCategory == .control } == 1)
        #expect(line.hasPrefix("<4>A name name=a ") && line.hasSuffix("<0>b\n"))
    }

    @Test func `With --log-level less important messages are left out`() async throws {
        try await CarillonProcess.with(environment: ["CARILLON_LOG_LEVEL": "warning"]) { service in
            #expect(await service.stop().errors == "")
        }
    }

    @Test(arguments: [["--log-format", "xml"], ["--log-level", "loud"]])
    func `An unknown format or level ends the start`(_ arguments: [String]) async throws {
        let finished = try await BuiltCommand.run(["serve"] + arguments)
        #expect(finished.status == 64)
        #expect(finished.errors.contains(arguments[1]))
    }

    /// Plays systemd's part: returns the datagrams that arrive at a Unix socket.
    private static func withSystemd(
        at path: String,
        _ body: (AsyncStream<String>) async throws -> Void,
    ) async throws {
        let number = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        try #require(number >= 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let bound = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(number, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(bound == 0)
        let (messages, message) = AsyncStream.makeStream(of: String.self)
        let reader = Thread {
            var bytes = [UInt8](repeating: 0, count: 256)
            while case let count = recv(number, &bytes, bytes.count, 0), count > 0 {
                message.yield(String(decoding: bytes.prefix(count), as: UTF8.self))
            }
            message.finish()
            close(number)
        }
        reader.start()
        // Wakes the reader, which then closes it.
        defer { shutdown(number, Int32(SHUT_RD)) }
        try await body(messages)
    }
}
