import Crypto
import Delivery
import Foundation
import Notifications
import Trust

/// What makes a new service useful at once: a team, an app and a signing key, so that somebody can send a notification
/// with the next command.
struct FirstStart {
    static let teamName = "Development"
    static let bundleID = "com.example.app"

    let accounts: any Accounts
    let folder: DataFolder

    /// Makes what is missing, and tells which key `carillon send` signs with. What a first start left half done, the
    /// next one finishes.
    func prepare() async throws(ServiceError) -> ServiceDescription.DevelopmentKey? {
        do throws(StoreError) {
            let team = try await team()
            guard let team else { return developmentKey() }
            if !accounts.current.apps.values.contains(where: { $0.team == team }),
                let bundleID = BundleID(rawValue: Self.bundleID), accounts.current.apps[bundleID] == nil
            {
                _ = try await accounts.apply(.createApp(bundleID: bundleID, team: team))
            }
            if !accounts.current.keys.values.contains(where: { $0.team == team }) {
                let key = newKey()
                do {
                    // The file first: a key that nobody can sign with is of no use.
                    try DataFolder.write(key.pem, to: path(key.id))
                } catch {
                    throw StoreError(.unavailable, error.cause)
                }
                let publicKey = Array(key.privateKey.publicKey.x963Representation)
                _ = try await accounts.apply(
                    .createKey(
                        TeamKey(id: key.id, team: team, publicKey: publicKey, environments: Set(Environment.allCases))
                    ))
            }
            return developmentKey()
        } catch {
            throw ServiceError(.store, error.cause)
        }
    }

    /// The development team: made when there is no team at all.
    private func team() async throws(StoreError) -> TeamID? {
        let teams = accounts.current.teams
        if teams.isEmpty {
            var random = SystemRandomNumberGenerator()
            let team = Team(id: .random(using: &random), name: Self.teamName)
            _ = try await accounts.apply(.createTeam(team))
            return team.id
        }
        return teams.values.first { $0.name == Self.teamName }?.id
    }

    private func newKey() -> SigningKey {
        var random = SystemRandomNumberGenerator()
        return SigningKey.create(using: &random)
    }

    private func path(_ id: KeyID) -> String { folder.path + "/AuthKey_\(id).p8" }

    /// A good key whose private half is in the data folder.
    private func developmentKey() -> ServiceDescription.DevelopmentKey? {
        let snapshot = accounts.current
        let good = snapshot.keys.values.filter { $0.revoked == nil }.sorted { $0.id.rawValue < $1.id.rawValue }
        guard let key = good.first(where: { FileManager.default.fileExists(atPath: path($0.id)) }) else { return nil }
        let apps = snapshot.apps.values.filter { $0.team == key.team }.sorted { $0.id.rawValue < $1.id.rawValue }
        return ServiceDescription.DevelopmentKey(
            teamID: key.team.rawValue,
            keyID: key.id.rawValue,
            path: path(key.id),
            bundleID: apps.first?.bundleID.rawValue,
        )
    }
}
