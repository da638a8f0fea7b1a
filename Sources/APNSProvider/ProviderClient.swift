import Foundation
import HTTP2
package import NIOCore
import NIOSSL
import Notifications
import Synchronization

/// A provider's connection to the service.
package final class ProviderClient: Sendable {
    private let connection: HTTP2Client
    private let credentials: ProviderCredentials
    private let token = Mutex<Token?>(nil)

    private struct Token {
        var text: String
        var issued: UInt64
    }

    /// In seconds. A provider token is good for an hour (Guide, 2.3.1) and may be renewed once in twenty minutes.
    static let tokenLife: UInt64 = 40 * 60

    /// Connects.
    /// - Parameters:
    ///   - serverName: what the TLS handshake asks for; the host's name by default.
    ///   - authorityFile: the root certificate that the service is known by, PEM; nil for the system's.
    package init(
        host: String,
        port: Int,
        serverName: String? = nil,
        authorityFile: String?,
        credentials: ProviderCredentials,
        group: any EventLoopGroup,
    ) async throws(ProviderClientError) {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        tls.applicationProtocols = ["h2"]
        if let authorityFile { tls.trustRoots = .file(authorityFile) }
        let context: NIOSSLContext
        do {
            context = try NIOSSLContext(configuration: tls)
        } catch {
            throw ProviderClientError(
                .badCredentials, "The authority's certificate \(authorityFile ?? "") cannot be read: \(error)")
        }
        do {
            connection = try await HTTP2Client.connect(
                to: .tcp(host: host, port: port, tls: context, serverName: serverName), group: group)
        } catch {
            throw ProviderClientError(.disconnected, error.cause)
        }
        self.credentials = credentials
    }

    /// Sends one notification, and gives the service's answer to it.
    package func send(_ push: PushRequest) async throws(ProviderClientError) -> PushOutcome {
        var headers = [(name: "authorization", value: "bearer \(try currentToken())")]
        let optional = [
            ("apns-topic", push.topic), ("apns-id", push.id), ("apns-expiration", push.expiration),
            ("apns-priority", push.priority), ("apns-collapse-id", push.collapseID), ("apns-push-type", push.pushType),
        ]
        for case (let name, let value?) in optional { headers.append((name, value)) }
        let response: HTTP2Response
        do {
            response = try await connection.send(
                HTTP2Request(
                    "POST", "/3/device/\(push.deviceToken)", headers: headers, body: ByteBuffer(bytes: push.payload)))
        } catch {
            throw ProviderClientError(.disconnected, error.cause)
        }
        let body = JSONObject(Array(response.body.readableBytesView))
        return PushOutcome(
            status: response.status,
            apnsID: response.headers["apns-id"],
            reason: body?[plain: "reason"],
            timestamp: body?[number: "timestamp"],
            detail: body?[plain: "detail"],
        )
    }

    /// Ends the connection.
    package func close() async { await connection.close() }

    private func currentToken() throws(ProviderClientError) -> String {
        let now = UInt64(Date().timeIntervalSince1970)
        return try token.withLock { token throws(ProviderClientError) in
            if let token, now < token.issued + Self.tokenLife { return token.text }
            let fresh = Token(text: try credentials.token(at: now), issued: now)
            token = fresh
            return fresh.text
        }
    }
}
