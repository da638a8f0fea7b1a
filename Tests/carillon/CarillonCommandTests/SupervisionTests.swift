import CommonTesting
import Foundation
import Logging
import Synchronization
import Testing

@testable import ServiceTesting
@testable import Supervision

/// What the two servers report to their supervisor: to systemd by its protocol, and to programs by their log.
@Suite(.timeLimit(.minutes(2))) struct SupervisionTests {
    enum Server: String, CaseIterable, Sendable {
        case push
        case provider

        /// The arguments of the command that runs the server on a folder.
        func arguments(_ folder: String) -> [String] {
            switch self {
            case .push: ["serve", "--ports", "ephemeral", "--data", folder + "/data"]
            case .provider: ["provider", "serve", "--listen", "127.0.0.1:0", "--data", folder + "/data"]
            }
        }

        /// The message of the log when the server is ready.
        var ready: String { self == .push ? "The service is ready" : "The provider server is ready" }

        /// How its text for people begins.
        var welcome: String { self == .push ? "Carillon is ready." : "The provider server listens on " }

        func variable(_ name: String) -> String { (self == .push ? "CARILLON_" : "CARILLON_PROVIDER_") + name }
    }

    /// Runs a server until it is ready, ends it, and returns what it printed.
    /// - Parameter shell: what `sh` executes in place of `exec "$0" "$@"`.
    private static func output(
        _ server: Server,
        _ arguments: [String] = [],
        _ environment: [String: String] = [:],
        shell: String = #"exec "$0" "$@""#,
    ) async throws -> ChildProcess.Finished {
        try await withTemporaryFolder { folder in
            try await ChildProcess.with(
                "/bin/sh", ["-c", shell, BuiltCommand.path] + server.arguments(folder) + arguments,
                environment: environment
            ) { child in
                await child.errors.wait(for: server.ready)
                child.signal(SIGTERM)
                return await child.finished()
            }
        }
    }

    @Test(arguments: Server.allCases)
    func `systemd is told that the server is ready, alive and ending`(_ server: Server) async throws {
        try await withTemporaryFolder { folder in
            try await Self.withSystemd(at: folder + "/notify") { messages in
                let environment = ["NOTIFY_SOCKET": folder + "/notify", "WATCHDOG_USEC": "100000"]
                try await ChildProcess.with(
                    BuiltCommand.path, server.arguments(folder), environment: environment
                ) { child in
                    var messages = messages.makeAsyncIterator()
                    #expect(await messages.next() == "READY=1")
                    #expect(await messages.next() == "WATCHDOG=1")
                    #expect(await messages.next() == "WATCHDOG=1")
                    child.signal(SIGTERM)
                    #expect(await child.finished().status == 0)
                    var message = await messages.next()
                    while message == "WATCHDOG=1" { message = await messages.next() }
                    #expect(message == "STOPPING=1")
                }
            }
        }
    }

    @Test(arguments: Server.allCases)
    func `A watchdog that is meant for another process gets no messages`(_ server: Server) async throws {
        try await withTemporaryFolder { folder in
            try await Self.withSystemd(at: folder + "/notify") { messages in
                let environment = [
                    "NOTIFY_SOCKET": folder + "/notify", "WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1",
                ]
                let finished = try await Self.output(server, [], environment)
                #expect(finished.status == 0)
                var messages = messages.makeAsyncIterator()
                #expect(await messages.next() == "READY=1")
                #expect(await messages.next() == "STOPPING=1")
            }
        }
    }

    @Test(arguments: Server.allCases)
    func `When its terminal is closed, a server ends as after SIGTERM`(_ server: Server) async throws {
        try await withTemporaryFolder { folder in
            try await ChildProcess.with(BuiltCommand.path, server.arguments(folder)) { child in
                await child.errors.wait(for: server.ready)
                child.signal(SIGHUP)
                #expect(await child.finished().status == 0)
            }
        }
    }

    @Test(arguments: Server.allCases)
    func `With --log-format json each line of the log is an object, and messages for people are not printed`(
        _ server: Server
    ) async throws {
        for (arguments, environment) in [
            (["--log-format", "json"], [:]), ([], [server.variable("LOG_FORMAT"): "json"]),
        ] as [([String], [String: String])] {
            let finished = try await Self.output(server, arguments, environment)
            #expect(finished.status == 0 && finished.output == "")
            let lines = try finished.errors.split(separator: "\n").map { try FoundationJSON(String($0)) }
            #expect(lines.map { $0["message"] }.contains(.string(server.ready)))
            for line in lines {
                #expect(line.keys.isSuperset(of: ["time", "level", "logger", "message"]))
                #expect(line["level"] == "info")
                #expect(line["time"]?.text?.hasSuffix("Z") == true)
            }
        }
    }

    @Test(arguments: Server.allCases)
    func `In the journal a line begins with its level, and messages for people are not printed`(
        _ server: Server
    ) async throws {
        // As systemd does: standard error is the journal, and a variable names it.
        let finished = try await Self.output(
            server, shell: #"JOURNAL_STREAM=$(stat --dereference --format=%d:%i /dev/stderr) exec "$0" "$@""#)
        #expect(finished.status == 0)
        #expect(finished.errors.split(separator: "\n").contains("<6>\(server.ready)"))
        #expect(finished.output == "")
    }

    @Test(arguments: Server.allCases)
    func `A terminal whose parent writes to the journal is no journal`(_ server: Server) async throws {
        let finished = try await Self.output(server, [], ["JOURNAL_STREAM": "8:12345"])
        #expect(finished.output.hasPrefix(server.welcome))
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

    @Test(arguments: Server.allCases)
    func `With --log-level less important messages are left out`(_ server: Server) async throws {
        for (arguments, environment) in [
            (["--log-level", "warning"], [:]), ([], [server.variable("LOG_LEVEL"): "warning"]),
        ] as [([String], [String: String])] {
            try await withTemporaryFolder { folder in
                let arguments = server.arguments(folder) + arguments + ["--json"]
                try await ChildProcess.with(BuiltCommand.path, arguments, environment: environment) { child in
                    #expect(await child.output.nextLine()?.contains("ready") == true)
                    child.signal(SIGTERM)
                    #expect(await child.finished().errors == "")
                }
            }
        }
    }

    @Test(arguments: Server.allCases, [(name: "format", value: "xml"), (name: "level", value: "loud")])
    func `An unknown format or level ends the start`(
        _ server: Server,
        _ option: (name: String, value: String),
    ) async throws {
        try await withTemporaryFolder { folder in
            let arguments = server.arguments(folder)
            let named = try await BuiltCommand.run(arguments + ["--log-\(option.name)", option.value])
            #expect(named.status == 64)
            #expect(named.errors.contains(option.value))
            let variable = server.variable("LOG_\(option.name.uppercased())")
            let set = try await BuiltCommand.run(arguments, environment: [variable: option.value])
            #expect(set.status != 0)
            #expect(set.errors.contains(option.value) && set.errors.contains("it takes one of "), "\(set.errors)")
        }
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
