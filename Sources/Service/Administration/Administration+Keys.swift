import Crypto
import Delivery
import Foundation
import Notifications
import Trust

// The keys with which teams sign, and the one that seals device tokens.
extension Administration {
    func createKey(_ request: AdministrationMessages.NewKey) async throws -> AdministrationAnswer {
        // Why it is none, nobody has to know.
        guard let bytes = Data(base64Encoded: request.publicKey),
            let point = try? P256.Signing.PublicKey(x963Representation: bytes)
        else { throw AdministrationError("The public key is not a point on P-256 in X9.63 form and Base64.") }
        let environments = try request.environment.map { [try environment($0)] } ?? Environment.allCases
        if let count = request.bundleIDs?.count, !(1...TeamKey.maximumBundleIDs).contains(count) {
            throw AdministrationError(
                "A key is for 1 to \(TeamKey.maximumBundleIDs) apps, or for all where none is named.")
        }
        var random = SystemRandomNumberGenerator()
        let key = TeamKey(
            id: .random(using: &random),
            team: try teamID(request.team),
            publicKey: Array(point.x963Representation),
            environments: Set(environments),
            bundleIDs: try request.bundleIDs.map { Set(try $0.map(bundleID)) },
        )
        _ = try await accounts.apply(.createKey(key))
        return try .success(AdministrationMessages.KeyMade(keyID: key.id.rawValue))
    }

    func revokeKey(_ name: String) async throws -> AdministrationAnswer {
        let id = try keyID(name)
        _ = try await accounts.apply(.revokeKey(id, at: clock()))
        return try .success(AdministrationMessages.KeyMade(keyID: id.rawValue))
    }

    func key(_ name: String) throws -> AdministrationMessages.Key {
        let id = try keyID(name)
        return message(try present(accounts.current.keys[id], "key", id))
    }

    func message(_ key: TeamKey) -> AdministrationMessages.Key {
        AdministrationMessages.Key(
            keyID: key.id.rawValue,
            teamID: key.team.rawValue,
            environments: key.environments.map(\.rawValue).sorted(),
            bundleIDs: key.bundleIDs?.map(\.rawValue).sorted(),
            revoked: key.revoked?.milliseconds,
        )
    }

    private func keyID(_ name: String) throws -> KeyID {
        guard let id = KeyID(rawValue: name) else {
            throw AdministrationError("\(name.debugDescription) is not a key ID: ten capital letters and digits.")
        }
        return id
    }

    func rotateTokenKey() async throws -> AdministrationAnswer {
        try .success(AdministrationMessages.TokenKey(tokenKeyID: try await tokenKeys.rotate().rawValue))
    }
}
