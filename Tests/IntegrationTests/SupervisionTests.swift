import Foundation
import Testing

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

    @Test func `In the journal a line begins with its level`() async throws {
        try await CarillonProcess.with(environment: ["JOURNAL_STREAM": "8:12345"]) { service in
            let finished = await service.stop()
            #expect(finished.errors.split(separator: "\n").contains("<6>The service is ready"))
        }
    }

    @Test(arguments: [["CARILLON_LOG_FORMAT": "json"], ["JOURNAL_STREAM": "8:12345"]])
    func `Messages for people are not printed into the log`(_ environment: [String: String]) async throws {
        let arguments = ["serve", "--store", "memory", "--ports", "ephemeral"]
        let service = try ChildProcess(BuiltCommand.path, arguments, environment: environment)
        await service.errors.wait(for: "The service is ready")
        service.signal(SIGTERM)
        let finished = await service.finished()
        #expect(finished.status == 0)
        #expect(finished.output == "")
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
