import Crypto
import Delivery
import Foundation
import Notifications
import SQLiteStore
import Storage
import Testing
import Trust
import Upstream

@testable import Service
@testable import ServiceTesting

/// The accounts that each start of an instance's own service makes and corrects.
struct InstanceStartTests {
    private let store: SQLiteStore
    private let vault: UpstreamVault
    private let teamID: TeamID
    private let bundleID: BundleID

    init() throws {
        store = try .inMemory()
        vault = UpstreamVault(try #require(CredentialSeal(key: CredentialSeal.makeKey())))
        teamID = try #require(TeamID(rawValue: "ABCDE12345"))
        bundleID = try #require(BundleID(rawValue: "com.example.chat"))
    }

    private func start(
        _ folder: String,
        _ gateways: [Notifications.Environment: String],
        _ key: (id: String, pem: String),
        bundleID: BundleID? = nil,
        teamID: TeamID? = nil,
    ) async throws {
        let instance = InstanceSettings(
            teamID: teamID ?? self.teamID, keyID: try #require(KeyID(rawValue: key.id)),
            bundleID: bundleID ?? self.bundleID, privateKey: key.pem, gateways: gateways, authority: nil)
        _ = try await InstanceStart(
            accounts: store, folder: DataFolder(folder), vault: vault, instance: instance
        ).prepare()
    }

    private static func key(_ id: String) -> (id: String, pem: String) {
        (id, P256.Signing.PrivateKey().pemRepresentation)
    }

    /// The URLs that are forwarded to, by app and environment.
    private var urls: [String: String] {
        Dictionary(
            uniqueKeysWithValues: store.current.upstreams.map { place, upstream in
                ("\(place.bundleID.rawValue) \(place.environment.rawValue)", upstream.url)
            })
    }

    @Test func `An environment that is no longer named is no longer forwarded`() async throws {
        try await withTemporaryFolder { folder in
            let (one, two) = (Self.key("GRANTKEY01"), Self.key("GRANTKEY02"))
            let (production, development) = ("https://127.0.0.1:1", "https://127.0.0.1:2")
            try await start(folder, [.production: production, .development: development], one)
            #expect(
                urls == ["com.example.chat production": production, "com.example.chat development": development])
            try await start(folder, [.development: development], two)
            #expect(urls == ["com.example.chat development": development])
            let upstream = try #require(store.current.upstreams.values.first)
            let keyID = try #require(KeyID(rawValue: two.id))
            #expect(upstream.credentials == .key(team: teamID, key: keyID))
        }
    }

    @Test func `The app of an earlier grant is no longer forwarded`() async throws {
        try await withTemporaryFolder { folder in
            let otherApp = try #require(BundleID(rawValue: "org.example.other"))
            let otherTeam = try #require(TeamID(rawValue: "OTHER12345"))
            try await start(folder, [.production: "https://127.0.0.1:1"], Self.key("GRANTKEY01"))
            try await start(
                folder, [.production: "https://127.0.0.1:3"], Self.key("GRANTKEY02"), bundleID: otherApp,
                teamID: otherTeam)
            #expect(urls == ["org.example.other production": "https://127.0.0.1:3"])
        }
    }

    @Test func `What the operator forwards with a key of his own stays`() async throws {
        try await withTemporaryFolder { folder in
            let key = Self.key("GRANTKEY01")
            try await start(folder, [.production: "https://127.0.0.1:1"], key)
            var proposal = UpstreamVault.Proposal(
                place: UpstreamPlace(bundleID: bundleID, environment: .development))
            proposal.url = "https://127.0.0.1:9"
            proposal.credentials = .key(
                teamID: "OPERATOR01", keyID: "OPERATOR02", privateKey: P256.Signing.PrivateKey().pemRepresentation)
            _ = try await store.apply(.setUpstream(try vault.make(proposal, replacing: nil)))
            try await start(folder, [.production: "https://127.0.0.1:1"], key)
            #expect(urls["com.example.chat development"] == "https://127.0.0.1:9" && urls.count == 2)
        }
    }

    @Test func `A replaced key is good until it is revoked, and then its file is deleted`() async throws {
        try await withTemporaryFolder { folder in
            let (one, two) = (Self.key("GRANTKEY01"), Self.key("GRANTKEY02"))
            let gateways: [Notifications.Environment: String] = [.production: "https://127.0.0.1:1"]
            func hasFile(_ key: (id: String, pem: String)) -> Bool {
                FileManager.default.fileExists(atPath: "\(folder)/AuthKey_\(key.id).p8")
            }
            try await start(folder, gateways, one)
            try await start(folder, gateways, two)
            #expect(store.current.keys.values.filter { $0.revoked == nil }.count == 2)
            #expect(hasFile(one) && hasFile(two))
            let former = try #require(KeyID(rawValue: one.id))
            _ = try await store.apply(.revokeKey(former, at: Timestamp(milliseconds: 1)))
            try await start(folder, gateways, two)
            #expect(!hasFile(one) && hasFile(two))
            // The former grant.json says why it does not work.
            let error = await #expect(throws: ServiceError.self) { try await start(folder, gateways, one) }
            #expect(error.map { "\($0)".contains("revoked") } == true, "\(String(describing: error))")
            #expect(!hasFile(one))
        }
    }
}
