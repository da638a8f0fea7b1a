import Crypto
import Foundation
import Management
import Notifications
import Service

/// An instance with a grant.
struct TestInstance: Sendable {
    let grant: String
    let clientKey: String
    let provider: Provider

    init(_ made: ManagementMessages.GrantMade, key: P256.Signing.PrivateKey) {
        grant = made.grant
        clientKey = made.clientKey
        provider = Provider(teamID: made.teamID, keyID: made.keyID ?? "", key: key)
    }

    /// A provider token of the grant.
    func token() throws -> String { try provider.token() }

    /// A code for the registration of a handle.
    func code(
        _ identifier: String = UUID().uuidString,
        life: Int = 600,
        issuedSecondsAgo age: Int = 0,
        teamID: String? = nil,
        keyID: String? = nil,
        key: P256.Signing.PrivateKey? = nil,
    ) throws -> String {
        let provider = provider.with(teamID: teamID, keyID: keyID, key: key)
        let issued = Provider.now - age
        return try provider.token(
            claims: #"{"iss":"\#(provider.teamID)","iat":\#(issued),"exp":\#(issued + life),"jti":"\#(identifier)"}"#)
    }
}

extension TestService {
    /// Makes a grant.
    /// - Parameter change: sets its limits.
    func makeGrant(
        _ name: String = "instance",
        _ change: (inout ManagementMessages.GrantBounds) -> Void = { _ in },
    ) async throws -> TestInstance {
        let key = P256.Signing.PrivateKey()
        var grant = ManagementMessages.NewGrant(
            bundleID: bundleID, name: name, publicKey: key.publicKey.pemRepresentation)
        change(&grant.limits)
        return TestInstance(try await administer("POST", "/v1/grants", grant), key: key)
    }

    /// Gives a grant a second key.
    func addKey(to instance: TestInstance) async throws -> Provider {
        let key = P256.Signing.PrivateKey()
        let made: ManagementMessages.GrantKeyMade = try await administer(
            "POST", "/v1/grants/\(instance.grant)/keys",
            ManagementMessages.NewGrantKey(kind: "provider", publicKey: key.publicKey.pemRepresentation))
        return instance.provider.with(keyID: made.keyID, key: key)
    }

    func grant(_ id: String) async throws -> ManagementMessages.Grant {
        try await administer("GET", "/v1/grants/\(id)")
    }

    /// Changes a grant by a document.
    func change(_ grant: String, _ document: String) async throws -> ManagementMessages.Grant {
        let answer = try await ask("PATCH", "/v1/grants/\(grant)", body: document)
        guard answer.status == 200 else { throw Refusal(status: answer.status, body: answer.text) }
        return try JSONDecoder().decode(ManagementMessages.Grant.self, from: answer.body)
    }

    /// Sends a request about handles or grants, as a phone or an instance does.
    func askGateway(
        _ method: String,
        _ path: String,
        clientKey: String? = nil,
        body: String = "",
    ) async throws -> WireClient.Answer {
        var fields = [
            (":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path),
            ("user-agent", "phone/1.0"),
        ]
        if let clientKey { fields.append(("authorization", "Bearer \(clientKey)")) }
        let client = try await connectProvider()
        let answer = try await client.send(fields, body: body)
        await client.close()
        return answer
    }

    func askForHandle(
        _ token: String, _ clientKey: String, code: String? = nil,
    ) async throws -> WireClient.Answer {
        let code = code.map { #","code":"\#($0)""# } ?? ""
        return try await askGateway(
            "POST", "/1/handles", clientKey: clientKey,
            body: #"{"bundleID":"\#(bundleID)","environment":"\#(environment.rawValue)","token":"\#(token)"\#(code)}"#)
    }

    /// Makes a handle of a device token.
    func makeHandle(_ token: String, _ clientKey: String, code: String? = nil) async throws -> String {
        let answer = try await askForHandle(token, clientKey, code: code)
        guard answer.status == 200 else { throw Refusal(status: answer.status, body: answer.body) }
        return try JSONDecoder().decode([String: String].self, from: Data(answer.body.utf8))["handle"] ?? ""
    }
}
