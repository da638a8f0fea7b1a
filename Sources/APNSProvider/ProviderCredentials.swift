import Crypto
import Foundation
package import Notifications
package import Trust

/// What authorises a provider: its team's signing key, from which it makes its provider tokens (Guide, 2.3.1).
package struct ProviderCredentials: Sendable {
    package var team: TeamID
    package var key: SigningKey

    package init(team: TeamID, key: SigningKey) {
        self.team = team
        self.key = key
    }

    /// Reads a `.p8` file.
    package init(keyFile: String, keyID: String, teamID: String) throws(ProviderClientError) {
        guard let team = TeamID(rawValue: teamID) else {
            throw ProviderClientError(.badCredentials, "The team ID has ten capital letters and digits, not \(teamID).")
        }
        guard let id = KeyID(rawValue: keyID) else {
            throw ProviderClientError(.badCredentials, "The key ID has ten capital letters and digits, not \(keyID).")
        }
        guard let data = FileManager.default.contents(atPath: keyFile), data.count <= SigningKey.maximumBytes else {
            throw ProviderClientError(.badCredentials, "The signing key \(keyFile) cannot be read.")
        }
        do {
            key = try SigningKey(id: id, pem: String(decoding: data, as: UTF8.self))
        } catch {
            throw ProviderClientError(.badCredentials, "\(keyFile): \(error.reason)")
        }
        self.team = team
    }

    /// A new provider token: what follows `bearer ` in the `authorization` header.
    /// - Parameter moment: when it is issued, in seconds since 1970.
    package func token(at moment: UInt64) throws(ProviderClientError) -> String {
        do {
            return try ProviderToken.sign(key: key.privateKey, keyID: key.id, teamID: team, issuedAt: moment)
        } catch {
            throw ProviderClientError(.badCredentials, error.reason)
        }
    }
}
