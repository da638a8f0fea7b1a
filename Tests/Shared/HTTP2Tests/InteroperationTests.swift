import CommonTesting
import Foundation
import HTTP2
import Testing

/// The session, tested with other implementations and with itself, over real TLS.
@Suite(.startsPrograms) struct InteroperationTests {
    private func curl(
        _ port: Int, _ path: String, _ more: [String] = [], input: String = ""
    ) async throws -> ChildProcess.Finished {
        try await ChildProcess.run(
            "curl",
            ["--http2", "-sS", "-k", "--max-time", "30", "-w", "|%{http_code} %{http_version}"] + more
                + ["https://127.0.0.1:\(port)\(path)"],
            input: Array(input.utf8))
    }

    @Test func `Curl posts`() async throws {
        try await Loopback.withServer { port in
            let command = try await curl(port, "/echo", ["-d", "{\"aps\":{}}"])
            #expect(command.output == "{\"aps\":{}}|200 2")
            #expect(command.status == 0)
        }
    }

    @Test func `Curl reads a header`() async throws {
        try await Loopback.withServer { port in
            let command = try await curl(port, "/echo", ["-H", "apns-id: 42", "-d", "x", "-o", "/dev/null", "-D", "-"])
            #expect(command.output.contains("apns-id: 42"))
        }
    }

    @Test func `Curl reads a long body`() async throws {
        try await Loopback.withServer { port in
            let command = try await curl(port, "/large", ["-o", "/dev/null", "-w", "%{size_download}"])
            #expect(command.output.hasSuffix("\(EchoApplication.largeBytes)"))
        }
    }

    @Test func `Curl reads a response that stays open`() async throws {
        try await Loopback.withServer { port in
            let command = try await curl(port, "/lines", ["-N"])
            #expect(command.output == "line 1\nline 2\nline 3\n|200 2")
        }
    }

    @Test func `Curl posts a long body`() async throws {
        try await Loopback.withServer { port in
            let body = String(repeating: "0123456789", count: 30_000)
            let command = try await curl(
                port, "/echo", ["--data-binary", "@-", "-o", "/dev/null", "-w", "%{size_download}"], input: body)
            #expect(command.output.hasSuffix("300000"))
        }
    }

    @Test func `Curl is told that its body is too large`() async throws {
        var configuration = HTTP2Configuration()
        configuration.maxBodyBytes = 4_096
        try await Loopback.withServer(configuration) { port in
            let body = String(repeating: "x", count: 5_000)
            let command = try await curl(port, "/echo", ["--data-binary", "@-"], input: body)
            #expect(command.output == "too large|413 2", "\(command.errors)")
        }
    }

    /// curl 7.88 drops the answer if RST_STREAM with NO_ERROR arrives with it, which RFC 9113, 8.1, forbids.
    @Test(arguments: [1, 30]) func `Curl takes an answer before its body has ended`(uploads: Int) async throws {
        var configuration = HTTP2Configuration()
        configuration.earlyReset = .onceRead
        try await Loopback.withServer(configuration) { port in
            let file = try await Certificate.shared.value.folder.appendingPathComponent("long-body-\(uploads)")
            try Data(repeating: 120, count: 300_000).write(to: file)
            let upload = [
                "--http2", "-sS", "-k", "--max-time", "30", "--data-binary", "@\(file.path)", "-o", "/dev/null", "-w",
                "%{http_code} %{size_download},", "https://127.0.0.1:\(port)/early",
            ]
            let arguments = [upload] + Array(repeating: ["--next"] + upload, count: uploads - 1)
            let command = try await ChildProcess.run("curl", ["--parallel"] + arguments.flatMap { $0 })
            #expect(command.output == String(repeating: "413 9,", count: uploads), "\(command.errors)")
        }
    }

    @Test func `Nghttp takes an answer before its body has ended`() async throws {
        try await Loopback.withServer { port in
            let file = try await Certificate.shared.value.folder.appendingPathComponent("long-body")
            try Data(repeating: 120, count: 300_000).write(to: file)
            let command = try await ChildProcess.run("nghttp", ["-d", file.path, "https://127.0.0.1:\(port)/early"])
            #expect(command.output.contains("too large"))
        }
    }

    @Test func `Curl with one stream announced`() async throws {
        var configuration = HTTP2Configuration()
        configuration.limits.announcedConcurrentStreams = 1
        try await Loopback.withServer(configuration) { port in
            let urls = (1...5).map { "https://127.0.0.1:\(port)/echo?\($0)" }
            let command = try await ChildProcess.run(
                "curl", ["--http2", "-sS", "-k", "--parallel", "--max-time", "30", "-d", "x"] + urls)
            #expect(command.output == "xxxxx")
            #expect(command.status == 0)
        }
    }

    @Test func `Nghttp gets`() async throws {
        try await Loopback.withServer { port in
            let command = try await ChildProcess.run("nghttp", ["-nv", "https://127.0.0.1:\(port)/lines"])
            #expect(command.status == 0)
            #expect(command.output.contains(":status: 200"))
            #expect(command.output.contains("SETTINGS_MAX_CONCURRENT_STREAMS(0x03):1000"))
            #expect(!command.output.contains("PROTOCOL_ERROR"))
        }
    }

    @Test func `Nghttp gets many times with trailers and continuations`() async throws {
        // The headers that make nghttp send CONTINUATION are 24 KB.
        var configuration = HTTP2Configuration()
        configuration.limits.maxHeaderListBytes = 32_768
        try await Loopback.withServer(configuration) { port in
            let file = try await Certificate.shared.value.certificate
            let command = try await ChildProcess.run(
                "nghttp",
                ["-nv", "-m", "20", "--continuation", "--trailer", "checksum: 1", "-d", file]
                    + ["https://127.0.0.1:\(port)/echo"])
            #expect(command.output.split(separator: ":status: 200").count == 21)
        }
    }

    @Test func `Nghttp with a small window`() async throws {
        try await Loopback.withServer { port in
            let command = try await ChildProcess.run(
                "nghttp", ["-n", "-s", "-w", "10", "-W", "10", "https://127.0.0.1:\(port)/large"])
            #expect(command.status == 0)
            #expect(command.output.contains(" 200 "))
        }
    }

    @Test func `Our client and our server`() async throws {
        try await Loopback.withServer { port in
            let client = try await Loopback.connect(port: port)
            let responses = try await client.postMany(100, "/echo", body: "{}")
            #expect(responses == (0..<100).map { .init(status: "200", id: "\($0)", body: "{}") })
            #expect(try await client.end { $0.drain() } == "drained")
        }
    }

    @Test func `Our client reads a long body`() async throws {
        try await Loopback.withServer { port in
            let client = try await Loopback.connect(port: port)
            let response = try await client.post("/large")
            #expect(response.body.utf8.count == EchoApplication.largeBytes)
            #expect(try await client.end { $0.close() } == "closed")
        }
    }

    @Test func `Our client takes an answer before its body has ended`() async throws {
        try await Loopback.withServer { port in
            let client = try await Loopback.connect(port: port)
            let response = try await client.post("/early", body: String(repeating: "x", count: 200_000))
            #expect(response.status == "413")
            #expect(response.body == "too large")
            _ = try await client.end { $0.close() }
        }
    }

    @Test func `Our client and nghttpd`() async throws {
        try await Loopback.withNghttpd(["file": "hello"]) { port in
            let client = try await Loopback.connect(port: port)
            let responses = try await client.postMany(100, "/file", body: "")
            #expect(responses.allSatisfy { $0.status == "200" && $0.body == "hello" })
            #expect(try await client.post("/none").status == "404")
            #expect(try await client.end { $0.drain() } == "drained")
        }
    }

    @Test func `A server told to speak HTTP 1 says so`() async throws {
        try await Loopback.withServer { port in
            // Without ALPN curl speaks HTTP/1.1; the session closes at once.
            let command = try await curl(port, "/echo", ["--http1.1", "--no-alpn"])
            #expect(command.status != 0)
        }
    }
}
