import CommonTesting
import Connections
import Foundation
import HTTP2
import NIOCore
import NIOPosix
import NIOSSL
import Testing

/// Servers and connections over real TLS on 127.0.0.1, on ports that the system chooses.
enum Loopback {
    static let group = MultiThreadedEventLoopGroup.singleton

    /// Runs our server while `body` runs.
    static func withServer(
        _ configuration: HTTP2Configuration = HTTP2Configuration(),
        _ body: (_ port: Int) async throws -> Void
    ) async throws {
        let tls = try await Certificate.shared.value.serverContext()
        let server = try await ServerBootstrap(group: group)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    let application = EchoApplication(loop: channel.eventLoop)
                    let session = HTTP2Session(
                        role: .server, configuration: configuration, application: application)
                    session.buffers = try TLSBuffers.add(NIOSSLServerHandler(context: tls), to: channel)
                    try pipeline.addHandler(session)
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(server.localAddress?.port)
        try await withCleanUp {
            try await body(port)
        } cleanUp: {
            try await server.close()
        }
    }

    /// Calls `body` while `nghttpd` serves the files.
    static func withNghttpd(_ files: [String: String], _ body: (_ port: Int) async throws -> Void) async throws {
        let certificate = try await Certificate.shared.value
        let folder = certificate.folder.appendingPathComponent("nghttpd-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for (name, text) in files {
            try Data(text.utf8).write(to: folder.appendingPathComponent(name))
        }
        let arguments = [
            "-v", "-a", "127.0.0.1", "-d", folder.path, "0", certificate.key, certificate.certificate,
        ]
        try await ChildProcess.with("nghttpd", arguments) { server in
            // Its first line says that it listens, but not on which port.
            _ = await server.output.nextLine()
            // On a busy machine the line may come before the system shows the port.
            let port = try await firstValue {
                let port = try listeningPort(of: server.processID)
                try #require(port != nil || server.isRunning)
                return port
            }
            try await body(port)
        }
    }

    /// The port of a process's listening socket, from the kernel's lists.
    private static func listeningPort(of process: Int32) throws -> Int? {
        let descriptors = "/proc/\(process)/fd"
        let sockets = try FileManager.default.contentsOfDirectory(atPath: descriptors).compactMap {
            name -> Substring? in
            // A descriptor that is gone by now is not the listening one.
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(descriptors)/\(name)")
            guard let target, target.hasPrefix("socket:[") else { return nil }
            return target.dropFirst(8).dropLast()
        }
        // Read to the end: such a file has no size, so Foundation would read only its first page.
        let table = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/net/tcp"))
        let text = String(decoding: try table.readToEnd() ?? Data(), as: UTF8.self)
        for line in text.split(separator: "\n").dropFirst() {
            let columns = line.split(separator: " ")
            guard columns.count > 9, columns[3] == "0A", sockets.contains(columns[9]) else { continue }
            return columns[1].split(separator: ":").last.flatMap { Int($0, radix: 16) }
        }
        return nil
    }

    /// Connects our client to a port.
    static func connect(port: Int, configuration: HTTP2Configuration = .init()) async throws -> TestClient {
        try await connect(SocketAddress(ipAddress: "127.0.0.1", port: port), configuration)
    }

    /// Connects our client to a socket in the file system.
    static func connect(path: String) async throws -> TestClient {
        try await connect(SocketAddress(unixDomainSocketPath: path), .init())
    }

    /// Connects on the connection's event loop.
    private static func connect(
        _ address: SocketAddress, _ configuration: HTTP2Configuration
    ) async throws -> TestClient {
        let tls = try await Certificate.shared.value.clientContext()
        return try await ClientBootstrap(group: group)
            .connect(to: address) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let client = TestClient(loop: channel.eventLoop)
                    let pipeline = channel.pipeline.syncOperations
                    let session = HTTP2Session(
                        role: .client, configuration: configuration, application: client.responses)
                    session.buffers = try TLSBuffers.add(
                        NIOSSLClientHandler(context: tls, serverHostname: "localhost"), to: channel)
                    try pipeline.addHandler(session)
                    return client
                }
            }
    }
}
