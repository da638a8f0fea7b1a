import Credentials
import Crypto
import Delivery
import HTTPAPI
import Notifications
import Trust

// Creates and revokes the signing keys of teams.
extension ManagementAPI {
    func createKey(_ request: ManagementMessages.NewKey) async throws -> ManagementMessages.KeyMade {
        let (publicKey, made) = try Self.publicKey(of: request)
        let environments = try request.environment.map { [try environment($0)] } ?? Environment.allCases
        var random = SystemRandomNumberGenerator()
        let key = TeamKey(
            id: try request.keyID.map { try new($0, at: "/keyID") } ?? KeyID.random(using: &random),
            team: try teamID(request.team),
            publicKey: Array(publicKey.x963Representation),
            environments: Set(environments),
            bundleIDs: try request.bundleIDs.map { Set(try $0.map(bundleID)) },
        )
        if let reason = refusal(of: key.id, of: key.team, publicKey) { throw Problem(409, reason) }
        _ = try await accounts.apply(.createKey(key))
        return ManagementMessages.KeyMade(keyID: key.id.rawValue, privateKey: made?.pemRepresentation)
    }

    /// Why a key cannot be created with this identifier: provider tokens with it were accepted unverified
    /// (`carillon serve --accept any`), and another key has signed them; nil if it can.
    func refusal(of id: KeyID, of team: TeamID, _ publicKey: P256.Signing.PublicKey) -> String? {
        guard let unknown = parts.testing?.unknownKeys, !unknown.match(id, of: team, publicKey) else { return nil }
        return
            "The team \(team) has sent with provider tokens of the key \(id), which another key has signed. Create that "
            + "one, choose another identifier, or delete the team first."
    }

    /// The public half of the key in the request, or of a new key.
    private static func publicKey(
        of request: ManagementMessages.NewKey
    ) throws -> (P256.Signing.PublicKey, made: P256.Signing.PrivateKey?) {
        switch (request.publicKey, request.privateKey) {
        case (nil, nil):
            let key = P256.Signing.PrivateKey()
            return (key.publicKey, key)
        case (nil, let pem?):
            return (try privateKey(in: pem, at: "/privateKey").publicKey, nil)
        case (let text?, nil):
            return (try publicKey(in: text), nil)
        case (_?, _?):
            throw Problem.invalid("/privateKey", "The request takes one half of the key, not both.")
        }
    }

    static func privateKey(in pem: String, at pointer: String) throws(Problem) -> P256.Signing.PrivateKey {
        do {
            return try PEM(pem).signingKey
        } catch {
            throw Problem.invalid(
                pointer, "The value has to be a P-256 private key in PEM, as a .p8 file holds it. \(error.reason)")
        }
    }

    static func publicKey(in text: String) throws(Problem) -> P256.Signing.PublicKey {
        do {
            return try SigningKey.publicKey(in: text)
        } catch {
            throw Problem.invalid(
                "/publicKey",
                "The value has to be a P-256 public key: in PEM, or its uncompressed point (X9.63) in Base64. "
                    + error.reason)
        }
    }

    func revokeKey(_ name: String) async throws -> ManagementMessages.KeyRevoked {
        let id = try keyID(name)
        _ = try await accounts.apply(.revokeKey(id, at: now))
        return ManagementMessages.KeyRevoked(keyID: id.rawValue)
    }

    func key(_ name: String) throws -> ManagementMessages.Key {
        let id = try keyID(name)
        return message(try present(accounts.current.keys[id], "key", id))
    }

    func message(_ key: TeamKey) -> ManagementMessages.Key {
        ManagementMessages.Key(
            keyID: key.id.rawValue,
            teamID: key.team.rawValue,
            environments: key.environments.map(\.rawValue).sorted(),
            bundleIDs: key.bundleIDs?.map(\.rawValue).sorted(),
            revoked: key.revoked?.milliseconds,
        )
    }
}
