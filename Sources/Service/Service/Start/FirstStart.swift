import Credentials
import Crypto
import Delivery
import Foundation
import Notifications
import Storage

/// Makes a team, an app and a signing key at the first start, so that the next command can send a notification. A
/// file in the data folder records their names.
struct FirstStart {
    static let teamName = "Development"
    static let bundleID = "com.example.app"

    let accounts: any Accounts
    let folder: DataFolder

    /// The contents of the record file.
    private struct Record: Codable {
        var teamID: String
        var keyID: String
    }

    private var recordFile: String { folder.path + "/development.json" }

    /// Makes what is missing, and returns the key that `carillon send` signs with. An interrupted first start is
    /// completed at the next one. A revoked key is replaced.
    func prepare() async throws(ServiceError) -> ServiceDescription.DevelopmentKey? {
        guard var record = try readRecord(), let team = TeamID(rawValue: record.teamID) else { return nil }
        // If somebody has changed the accounts since, they are in use. Then do not make deleted items again.
        let version = accounts.current.version
        guard version == 0 || accounts.current.teams[team] != nil else { return nil }
        do throws(StoreError) {
            if accounts.current.teams[team] == nil {
                // Of several nodes that start at once with an empty store, only one makes a team. If each did, only one
                // of the teams would get the app, and the other nodes' keys could not send anything.
                _ = try await accounts.apply(.createTeam(Team(id: team, name: Self.teamName)), to: version)
            }
            if version <= 1, !accounts.current.apps.values.contains(where: { $0.team == team }),
                let bundleID = BundleID(rawValue: Self.bundleID), accounts.current.apps[bundleID] == nil
            {
                _ = try await accounts.apply(.createApp(bundleID: bundleID, team: team))
            }
        } catch {
            guard case .conflict = error.code else { throw ServiceError(.store, error.cause) }
            // The record's team does not exist. Without a record, this folder is as if it had come later.
            try? FileManager.default.removeItem(atPath: recordFile)
            return nil
        }
        try await registerKey(record.keyID, of: team)
        if !isGood(record.keyID) { record.keyID = try await makeKey(of: team) }
        let apps = accounts.current.apps.values.filter { $0.team == team }.sorted { $0.id.rawValue < $1.id.rawValue }
        return ServiceDescription.DevelopmentKey(
            teamID: record.teamID,
            keyID: record.keyID,
            path: path(record.keyID),
            bundleID: apps.first?.bundleID.rawValue,
        )
    }

    /// Reads the record, or makes a new one if there is no team at all, which means that this is the first start.
    private func readRecord() throws(ServiceError) -> Record? {
        if let data = FileManager.default.contents(atPath: recordFile) {
            do {
                return try JSONValue.decode(data)
            } catch {
                throw ServiceError(
                    .dataFolder,
                    "\(recordFile) cannot be read: \(DataFolder.reason(error)). Fix it, or remove it to do without.")
            }
        }
        guard accounts.current.teams.isEmpty else { return nil }
        var random = SystemRandomNumberGenerator()
        let record = Record(teamID: TeamID.random(using: &random).rawValue, keyID: "")
        try write(record)
        return record
    }

    private func write(_ record: Record) throws(ServiceError) {
        let text = #"{"teamID":"\#(record.teamID)","keyID":"\#(record.keyID)"}"#
        try DataFolder.write(text + "\n", to: recordFile)
    }

    /// Whether the key is registered and not revoked, and the folder has its private half.
    private func isGood(_ name: String) -> Bool {
        guard let id = KeyID(rawValue: name), let key = accounts.current.keys[id] else { return false }
        return key.revoked == nil && FileManager.default.fileExists(atPath: path(name))
    }

    /// Registers the folder's key with a store that has forgotten it, such as one in memory, so that providers can
    /// still use the key file.
    private func registerKey(_ name: String, of team: TeamID) async throws(ServiceError) {
        guard let id = KeyID(rawValue: name), accounts.current.keys[id] == nil,
            let data = FileManager.default.contents(atPath: path(name)),
            // If the file is not a valid key, a new key will replace it.
            let key = try? PEM(data).signingKey
        else { return }
        try await register(id, key.publicKey, of: team)
    }

    private func register(
        _ id: KeyID,
        _ publicKey: P256.Signing.PublicKey,
        of team: TeamID,
    ) async throws(ServiceError) {
        let key = TeamKey(
            id: id, team: team, publicKey: Array(publicKey.x963Representation), environments: Set(Environment.allCases))
        do {
            _ = try await accounts.apply(.createKey(key))
        } catch {
            throw ServiceError(.store, error.cause)
        }
    }

    /// Makes a key. The file is written before the key is registered, because a registered key without its private
    /// half is useless.
    private func makeKey(of team: TeamID) async throws(ServiceError) -> String {
        var random = SystemRandomNumberGenerator()
        let key = SigningKey.create(using: &random)
        try DataFolder.write(key.pem, to: path(key.id.rawValue))
        try write(Record(teamID: team.rawValue, keyID: key.id.rawValue))
        try await register(key.id, key.privateKey.publicKey, of: team)
        return key.id.rawValue
    }

    private func path(_ keyID: String) -> String { folder.path + "/AuthKey_\(keyID).p8" }
}
