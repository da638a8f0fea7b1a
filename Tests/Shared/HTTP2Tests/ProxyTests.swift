import CommonTesting
import Foundation
import HTTP2
import Testing

/// Other people's proxies between our client and our server, with HTTP/2 over TLS on both sides. A proxy that is not
/// installed is skipped.
@Suite(.startsPrograms) struct ProxyTests {
    /// A proxy's configuration for a socket in `folder`, with our server at `port`.
    private typealias Configuration = @Sendable (_ folder: URL, _ port: Int, _ certificate: Certificate) -> String

    /// nginx calls HTTP/2 servers only with `grpc_pass`, which passes on any request. The paths keep it away from the
    /// machine's own folders.
    private static let nginx: Configuration = { folder, port, certificate in
        """
        daemon off;
        master_process off;
        pid pid;
        error_log stderr notice;
        events {}
        http {
            access_log off;
            client_body_temp_path body;
            proxy_temp_path proxy;
            fastcgi_temp_path fastcgi;
            uwsgi_temp_path uwsgi;
            scgi_temp_path scgi;
            upstream server {
                server 127.0.0.1:\(port);
                keepalive 10;
            }
            server {
                listen unix:\(folder.path)/socket ssl http2;
                ssl_certificate \(certificate.certificate);
                ssl_certificate_key \(certificate.key);
                location / {
                    grpc_pass grpcs://server;
                    grpc_ssl_protocols TLSv1.2 TLSv1.3;
                }
            }
        }

        """
    }

    private static let haproxy: Configuration = { folder, port, certificate in
        """
        defaults
            mode http
            timeout connect 60s
            timeout client 60s
            timeout server 60s
        listen all
            bind unix@\(folder.path)/socket ssl crt \(folder.path)/pem alpn h2
            server server 127.0.0.1:\(port) ssl verify none alpn h2

        """
    }

    /// Calls `body` with our client behind the proxy, whose server is ours.
    /// - Parameter command: the program and its arguments; its folder and its configuration take the places of FOLDER
    ///   and CONFIGURATION.
    private func withProxy(
        _ command: [String], _ configuration: Configuration, _ body: (TestClient) async throws -> Void
    ) async throws {
        let certificate = try await Certificate.shared.value
        // A socket's path has at most 107 bytes.
        let folder = certificate.folder.appendingPathComponent(String(UUID().uuidString.prefix(8)))
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        let pem =
            try String(contentsOfFile: certificate.certificate, encoding: .utf8)
            + String(contentsOfFile: certificate.key, encoding: .utf8)
        try Data(pem.utf8).write(to: folder.appendingPathComponent("pem"))
        let file = folder.appendingPathComponent("configuration")
        let arguments = command.dropFirst()
            .map { ["FOLDER": folder.path, "CONFIGURATION": file.path][$0] ?? $0 }
        try await Loopback.withServer { port in
            try Data(configuration(folder, port, certificate).utf8).write(to: file)
            try await ChildProcess.with(command[0], arguments) { proxy in
                try await body(connect(to: folder.appendingPathComponent("socket"), of: proxy))
            }
        }
    }

    /// Connects as soon as the proxy listens.
    private func connect(to socket: URL, of proxy: ChildProcess) async throws -> TestClient {
        try await firstValue {
            do {
                return try await Loopback.connect(path: socket.path)
            } catch {
                try #require(proxy.isRunning, "\(proxy.errors.text)")
                return nil
            }
        }
    }

    private func exchange(_ client: TestClient) async throws {
        let responses = try await client.postMany(100, "/echo", body: "{}")
        #expect(responses == (0..<100).map { .init(status: "200", id: "\($0)", body: "{}") })
        let long = String(repeating: "x", count: 100_000)
        #expect(try await client.post("/echo", id: "long", body: long).body == long)
        #expect(try await client.post("/large", id: "large").body.utf8.count == EchoApplication.largeBytes)
        #expect(try await client.post("/lines", id: "lines").body == "line 1\nline 2\nline 3\n")
        // The server ends the proxy's connections, and no request is lost.
        let last = try await client.postMany(100, "/drain", body: "{}")
        #expect(last == (0..<100).map { .init(status: "200", id: "\($0)", body: "{}") })
        _ = try await client.end { $0.close() }
    }

    @Test(.enabled(if: ChildProcess.isInstalled("nginx"), "nginx is not installed"))
    func `Nginx between our client and our server`() async throws {
        try await withProxy(["nginx", "-p", "FOLDER", "-c", "CONFIGURATION"], Self.nginx) { client in
            // HAProxy passes this answer on and then cancels the stream, which the test's client takes for an error.
            let early = try await client.post("/early", id: "early", body: String(repeating: "x", count: 100_000))
            #expect(early == .init(status: "413", id: "early", body: "too large"))
            try await exchange(client)
        }
    }

    @Test(.enabled(if: ChildProcess.isInstalled("haproxy"), "HAProxy is not installed"))
    func `HAProxy between our client and our server`() async throws {
        try await withProxy(["haproxy", "-db", "-f", "CONFIGURATION"], Self.haproxy, exchange)
    }
}
