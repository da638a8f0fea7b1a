import APNSProvider
import CommonTesting
import Crypto
import Delivery
import Foundation
import Management
import ProviderTesting
import Service
import Testing

@testable import ServiceTesting

/// A service that forwards, with an upstream that does what a script says.
struct GatewayRig {
    let gateway: TestService
    let upstream: ScriptedServer
    let client: WireClient
    /// The client's provider token, the same for all requests.
    let authorization: String

    /// A device token of the upstream, which this service cannot open.
    static let token = String(repeating: "5a", count: 32)

    /// - Parameters:
    ///   - wrap: replaces the store by one that wraps it.
    ///   - set: changes the document with which the upstream is set.
    static func run(
        _ options: ScriptedServer.Options = .init(),
        script: @escaping ScriptedServer.Script = { request, connection in connection.answer(request.stream) },
        wrapping wrap: @Sendable (any Store) -> any Store = { $0 },
        settings: (inout Settings) -> Void = { _ in },
        set: (inout ManagementMessages.NewUpstream) throws -> Void = { _ in },
        _ body: (GatewayRig) async throws -> Void,
    ) async throws {
        try await ScriptedServer.run(options, script: script) { server in
            try await TestService.runWrapping(wrap, settings) { gateway in
                var document = ManagementMessages.NewUpstream(
                    url: "https://127.0.0.1:\(server.port)", authority: try TestAuthority.rootPEM(),
                    credentials: try ownKey())
                try set(&document)
                try await gateway.setUpstream(document)
                let client = try await gateway.connectProvider()
                try await body(
                    GatewayRig(
                        gateway: gateway, upstream: server, client: client, authorization: try gateway.providerToken()))
                await client.close()
            }
        }
    }

    /// A signing key of the gateway's own.
    static func ownKey(_ keyID: String = "GATEWAY001") throws -> ManagementMessages.NewCredentials {
        .init(
            kind: "key", teamID: "PUBLISHER1", keyID: keyID, privateKey: P256.Signing.PrivateKey().pemRepresentation)
    }

    func headers(_ token: String = Self.token, id: String? = nil) throws -> ProviderHeaders {
        let headers = ProviderHeaders(token, token: authorization)
        return id.map { headers.with("apns-id", $0) } ?? headers
    }

    func send(
        _ change: (inout ProviderHeaders) -> Void = { _ in },
        body: String = #"{"aps":{"alert":"Hello"}}"#,
    ) async throws -> WireClient.Answer {
        var headers = try headers()
        change(&headers)
        return try await client.send(headers.fields, body: body)
    }

    /// The names of the events of a notification in the delivery log, when there are this many.
    func events(of id: String, count: Int) async throws -> [[String: Any]] {
        try await firstValue {
            let text = try await gateway.ask("GET", "/v1/log?id=\(id)").text
            let lines = try text.split(separator: "\n").map {
                try #require(JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
            }
            return lines.count >= count ? lines : nil
        }
    }
}

extension TestService {
    func setUpstream(
        _ document: ManagementMessages.NewUpstream,
        of bundleID: String? = nil,
    ) async throws {
        let _: ManagementMessages.Upstream = try await administer(
            "PUT", "/v1/apps/\(bundleID ?? self.bundleID)/upstreams/\(environment.rawValue)", document)
    }
}
