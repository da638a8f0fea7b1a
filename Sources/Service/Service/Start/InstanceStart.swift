import Credentials
import Crypto
import Delivery
import Foundation
import Notifications
import Storage
import Upstream

/// Makes the team, the app, the key and the upstreams of an instance at each start, as far as they are missing, and removes the
/// upstreams that the options no longer name. The product on this machine signs with the grant's key, which this service
/// knows, and which it forwards with.
struct InstanceStart {
    static let teamName = "Instance"

    let accounts: any Accounts
    let folder: DataFolder
    let vault: UpstreamVault
    let instance: InstanceSettings

    /// - Returns: the key, which the data folder has a copy of for the product and for `carillon send`.
    func prepare() async throws(ServiceError) -> ServiceDescription.DevelopmentKey {
        let publicKey: [UInt8]
        do {
            publicKey = Array(try PEM(instance.privateKey).signingKey.publicKey.x963Representation)
        } catch {
            throw ServiceError(.badSetting, "The grant's key \(instance.keyID) is not a P-256 private key in PEM.")
        }
        do throws(StoreError) {
            try await makeAccounts(publicKey)
            try await removeFormerUpstreams()
        } catch {
            throw ServiceError(.store, error.cause)
        }
        let path = keyFile(instance.keyID)
        if FileManager.default.contents(atPath: path) != Data(instance.privateKey.utf8) {
            try DataFolder.write(instance.privateKey, to: path)
        }
        for (environment, url) in instance.gateways { try await forward(environment, to: url) }
        removeFilesOfRevokedKeys()
        return ServiceDescription.DevelopmentKey(
            teamID: instance.teamID.rawValue, keyID: instance.keyID.rawValue, path: path,
            bundleID: instance.bundleID.rawValue)
    }

    private func keyFile(_ key: KeyID) -> String { folder.path + "/AuthKey_\(key.rawValue).p8" }

    /// Removes the upstreams of earlier starts whose environment or app the options no longer name. Otherwise the service would
    /// go on forwarding with a key that the publisher may have ended.
    private func removeFormerUpstreams() async throws(StoreError) {
        let present = accounts.current
        for (place, upstream) in present.upstreams where isOwn(upstream, present) {
            guard place.bundleID != instance.bundleID || instance.gateways[place.environment] == nil else { continue }
            do throws(StoreError) {
                _ = try await accounts.apply(.removeUpstream(place))
            } catch {
                // Another node of the cluster may have removed it.
                guard error.code == .missing else { throw error }
            }
        }
    }

    /// Whether a start of this command has made an upstream, and not the operator: it has a key of the grant's team, or of the
    /// team of an earlier grant.
    private func isOwn(_ upstream: AppUpstream, _ present: AccountsSnapshot) -> Bool {
        guard case .key(let team, let key) = upstream.credentials else { return false }
        if team == instance.teamID { return true }
        return present.teams[team]?.name == Self.teamName && present.keys[key]?.team == team
    }

    /// The product cannot use them any more.
    private func removeFilesOfRevokedKeys() {
        for key in accounts.current.keys.values where key.team == instance.teamID && key.revoked != nil {
            // Most are gone already.
            try? FileManager.default.removeItem(atPath: keyFile(key.id))
        }
    }

    private func makeAccounts(_ publicKey: [UInt8]) async throws(StoreError) {
        let present = accounts.current
        if present.teams[instance.teamID] == nil {
            _ = try await accounts.apply(.createTeam(Team(id: instance.teamID, name: Self.teamName)))
        }
        if let app = present.apps[instance.bundleID] {
            guard app.team == instance.teamID else {
                throw StoreError(
                    .conflict,
                    "The app \(instance.bundleID) belongs to the team \(app.team), and the grant to \(instance.teamID): use "
                        + "another data folder.")
            }
        } else {
            _ = try await accounts.apply(.createApp(bundleID: instance.bundleID, team: instance.teamID))
        }
        if let known = present.keys[instance.keyID], known.publicKey == publicKey {
            guard known.revoked == nil else {
                throw StoreError(
                    .conflict,
                    "The grant's key \(instance.keyID) was revoked here, and a revoked key is never good again. The publisher "
                        + "makes another one with carillon grant key add.")
            }
            return
        }
        _ = try await accounts.apply(
            .createKey(
                TeamKey(
                    id: instance.keyID, team: instance.teamID, publicKey: publicKey,
                    environments: Set(Environment.allCases))))
    }

    /// The credentials are encrypted anew at each start, so that a new key or authority is used at once.
    private func forward(_ environment: Environment, to url: String) async throws(ServiceError) {
        let place = UpstreamPlace(bundleID: instance.bundleID, environment: environment)
        var proposal = UpstreamVault.Proposal(place: place)
        let present = accounts.current.upstreams[place]
        proposal.url = url
        proposal.authority = instance.authority
        proposal.credentials = .key(
            teamID: instance.teamID.rawValue, keyID: instance.keyID.rawValue, privateKey: instance.privateKey)
        // What the operator has chosen stays.
        proposal.proxy = present?.proxy
        proposal.hold = present?.hold ?? 0
        proposal.captures = present?.captures ?? false
        proposal.compares = present?.compares ?? false
        let upstream: AppUpstream
        do throws(UpstreamError) {
            upstream = try vault.make(proposal, replacing: present)
        } catch {
            throw ServiceError(.badSetting, "The gateway \(url) cannot be used: \(error.cause)")
        }
        do throws(StoreError) {
            _ = try await accounts.apply(.setUpstream(upstream))
        } catch {
            throw ServiceError(.store, error.cause)
        }
    }
}
