import Credentials
import Crypto
import Delivery
import Foundation
import Notifications
import Storage
import Upstream

/// Makes the team, the app, the key and the upstreams of an instance at each start, as far as they are missing. The product on
/// this machine signs with the grant's key, which this service knows, and which it forwards with.
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
        let path = folder.path + "/AuthKey_\(instance.keyID.rawValue).p8"
        if FileManager.default.contents(atPath: path) != Data(instance.privateKey.utf8) {
            try DataFolder.write(instance.privateKey, to: path)
        }
        do throws(StoreError) {
            try await makeAccounts(publicKey)
        } catch {
            throw ServiceError(.store, error.cause)
        }
        for (environment, url) in instance.gateways { try await forward(environment, to: url) }
        return ServiceDescription.DevelopmentKey(
            teamID: instance.teamID.rawValue, keyID: instance.keyID.rawValue, path: path,
            bundleID: instance.bundleID.rawValue)
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
        guard present.keys[instance.keyID]?.publicKey != publicKey else { return }
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
