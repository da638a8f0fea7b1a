import Foundation
import HTTP2
import NIOCore
import NIOPosix
import NIOSSL
import Service

/// The administration of a service, by its socket, or over TLS from another machine where the environment says so.
struct AdministrationClient {
    private let address: HTTP2Client.Address
    /// What to say where nobody answers.
    private let silence: String

    /// - Parameter folder: of the service, unless the environment names another machine.
    init(_ folder: DataFolder) throws {
        if let (url, remote) = try Self.remote() {
            address = remote
            silence = "No administration answers at \(url)."
        } else {
            address = .unix(path: try ServiceDescription.read(folder).socket)
            silence = "No service answers on \(folder.path); start one with: carillon serve --data \(folder.path)"
        }
    }

    /// Asks for something in JSON, and reads the JSON of the answer.
    func ask<Answer: Decodable>(
        _ method: String,
        _ path: String,
        _ message: some Encodable = Nothing(),
    ) async throws -> Answer {
        let answer = try await bytes(method, path, JSONEncoder().encode(message))
        return try JSONDecoder().decode(Answer.self, from: answer)
    }

    /// The same with bytes both ways.
    func bytes(_ method: String, _ path: String, _ body: Data = Data()) async throws -> Data {
        let request = HTTP2Request(method, path, body: ByteBuffer(bytes: body))
        let response: HTTP2Response
        do {
            response = try await exchange(request)
        } catch {
            throw CommandError("\(silence) \(error.cause)")
        }
        let data = Data(response.body.readableBytesView)
        guard response.status == 200 else {
            let failure = try? JSONDecoder().decode(AdministrationMessages.Failure.self, from: data)
            throw CommandError(failure?.error ?? "The service refused: status \(response.status).")
        }
        return data
    }

    private func exchange(_ request: HTTP2Request) async throws(HTTP2ClientError) -> HTTP2Response {
        let client = try await HTTP2Client.connect(to: address, group: MultiThreadedEventLoopGroup.singleton)
        let response = try await client.send(request)
        await client.close()
        return response
    }

    private static let urlName = "CARILLON_ADMINISTRATION_URL"
    private static let identityName = "CARILLON_ADMINISTRATOR"
    private static let authorityName = "CARILLON_CA"

    /// - Returns: nil where the environment names no other machine.
    private static func remote() throws -> (url: String, address: HTTP2Client.Address)? {
        let environment = ProcessInfo.processInfo.environment
        guard let url = environment[urlName] else { return nil }
        guard let identity = environment[identityName], let authority = environment[authorityName] else {
            throw CommandError("\(urlName) goes with \(identityName) and \(authorityName).")
        }
        let server = try HostAndPort(url)
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        tls.applicationProtocols = ["h2"]
        tls.trustRoots = .file(authority)
        do {
            tls.certificateChain = try NIOSSLCertificate.fromPEMFile(identity).map { .certificate($0) }
            tls.privateKey = .privateKey(try NIOSSLPrivateKey(file: identity, format: .pem))
            let context = try NIOSSLContext(configuration: tls)
            return (url, .tcp(host: server.host, port: server.port, tls: context))
        } catch {
            throw CommandError("\(identity) and \(authority) are no certificates in PEM that can be used: \(error)")
        }
    }
}

/// An empty JSON dictionary.
struct Nothing: Codable {}
