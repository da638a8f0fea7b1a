import CommonTesting
import Foundation
import HTTP2
import Testing

/// The session with the HTTP/2 of other languages: clients that send 100 requests at once, a long body, and read a long
/// answer, and servers that answer the same. The programs are in `Programs`. A program that is not installed is skipped.
@Suite(.startsPrograms) struct OtherProgramsTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("Programs")

    private static func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

    /// Debian's libnetty-java. Its TLS answers close_notify only with the first option.
    private static let netty = [
        "java", "-Djdk.tls.acknowledgeCloseNotify=true", "-cp",
        ["buffer", "codec", "codec-http", "codec-http2", "common", "handler", "resolver", "transport"]
            .map { "/usr/share/java/netty-\($0).jar" }.joined(separator: ":"),
        path("Netty.java"),
    ]

    private static let hasNetty =
        ChildProcess.isInstalled("javac")
        && FileManager.default.fileExists(atPath: "/usr/share/java/netty-codec-http2.jar")

    /// - Parameter command: the program and its arguments before the port and the certificate.
    private func runClient(_ command: [String]) async throws {
        try await Loopback.withServer { port in
            let certificate = try await Certificate.shared.value.certificate
            let arguments = command.dropFirst() + ["\(port)", certificate]
            let client = try await ChildProcess.run(command[0], Array(arguments))
            #expect(client.output == "100 100000 1000000\n", "\(client.errors)")
            #expect(client.status == 0)
        }
    }

    /// - Parameter command: the program, which prints its port, and its arguments before the certificate and the key.
    private func runServer(_ command: [String]) async throws {
        let certificate = try await Certificate.shared.value
        let arguments = command.dropFirst() + [certificate.certificate, certificate.key]
        try await ChildProcess.with(command[0], Array(arguments)) { server in
            let line = await server.output.nextLine()
            let port = try #require(line.flatMap { Int($0) }, "\(server.errors.text)")
            let client = try await Loopback.connect(port: port)
            let responses = try await client.postMany(100, "/echo", body: "{}")
            #expect(responses == (0..<100).map { .init(status: "200", id: "\($0)", body: "{}") })
            let long = String(repeating: "x", count: 100_000)
            #expect(try await client.post("/echo", id: "long", body: long).body == long)
            #expect(try await client.post("/large", id: "large").body.utf8.count == 1_000_000)
            _ = try await client.end { $0.close() }
        }
    }

    @Test(.enabled(if: ChildProcess.isInstalled("node"), "node is not installed"))
    func `The client of node`() async throws {
        try await runClient(["node", Self.path("client.mjs")])
    }

    @Test(.enabled(if: ChildProcess.isInstalled("go"), "Go is not installed"))
    func `The client of Go's net/http`() async throws {
        try await runClient(["go", "run", Self.path("client.go")])
    }

    @Test(.enabled(if: ChildProcess.isInstalled("python3"), "Python is not installed"))
    func `The client of python-h2, which checks what it gets`() async throws {
        try await runClient(["python3", Self.path("client.py")])
    }

    @Test(.enabled(if: ChildProcess.isInstalled("javac"), "Java's compiler is not installed"))
    func `The client of Java`() async throws {
        try await runClient(["java", Self.path("Client.java")])
    }

    @Test(.enabled(if: hasNetty, "netty is not installed"))
    func `The client of netty`() async throws {
        try await runClient(Self.netty + ["client"])
    }

    @Test(.enabled(if: hasNetty, "netty is not installed"))
    func `The server of netty`() async throws {
        try await runServer(Self.netty + ["server"])
    }

    @Test(.enabled(if: ChildProcess.isInstalled("node"), "node is not installed"))
    func `The server of node`() async throws {
        try await runServer(["node", Self.path("server.mjs")])
    }

    @Test(.enabled(if: ChildProcess.isInstalled("go"), "Go is not installed"))
    func `The server of Go's net/http`() async throws {
        // `go run` would leave the server behind when it is killed.
        let program = try await Certificate.shared.value.folder.appendingPathComponent("server-\(UUID().uuidString)")
            .path
        let build = try await ChildProcess.run("go", ["build", "-o", program, Self.path("server.go")])
        try #require(build.status == 0, "\(build.errors)")
        try await runServer([program])
    }
}
