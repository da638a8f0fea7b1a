import Delivery
import Notifications
import Storage
import Testing

extension StoreContract {
    static let grantKeyPromises: [Promise] = [
        Promise("a grant has two keys of a kind at most, and keeps the last one", replacesKeys),
        Promise("a key of a grant that has ended is never used again", endedKeyIsNeverUsedAgain),
        Promise("revoking a grant revokes both of its keys", revokesBothKeys),
        Promise("a revoked grant does not count, and is removed", removesRevokedGrants),
        Promise("a grant that is not revoked is not removed", keepsOtherGrants),
    ]

    private static func key(_ text: String) throws -> GrantProviderKey {
        GrantProviderKey(id: try keyID(text), publicKey: Array(text.utf8), made: Samples.later)
    }

    @Sendable
    private static func replacesKeys(_ ports: Ports) async throws {
        let grant = try await grant(ports)
        let (second, client) = (try key("SECOND"), GrantClientKeyEntry(text: "ck_second", made: Samples.later))
        _ = try await ports.accounts.apply(.addGrantKey(grant.id, second))
        var accounts = try await ports.accounts.apply(.addGrantClientKey(grant.id, client))
        #expect(
            accounts.grant(withKey: grant.key)?.id == grant.id && accounts.grant(withKey: second.id)?.id == grant.id)
        #expect(accounts.grant(withClientKey: "ck_one")?.id == grant.id)
        #expect(
            accounts.grant(withClientKey: "ck_second")?.clientKeys.all.map(\.id.rawValue) == [
                "ONEAAAAAAA", "SECONDAAAA",
            ])
        await refuses(ports, .addGrantKey(grant.id, try key("THIRD")), .conflict)
        await refuses(
            ports, .addGrantClientKey(grant.id, GrantClientKeyEntry(text: "ck_third", made: Samples.later)), .conflict)
        await refuses(ports, .endGrantKey(grant.id, try keyID("NONE")), .missing)

        accounts = try await ports.accounts.apply(.endGrantKey(grant.id, grant.key))
        #expect(accounts.grant(withKey: grant.key) == nil)
        #expect(accounts.grants[grant.id]?.providerKeys == GrantKeys(second))
        accounts = try await ports.accounts.apply(.endGrantKey(grant.id, client.id))
        #expect(accounts.grant(withClientKey: "ck_second") == nil && accounts.grant(withClientKey: "ck_one") != nil)
        await refuses(ports, .endGrantKey(grant.id, second.id), .conflict)
        await refuses(ports, .endGrantKey(grant.id, grant.clientKeys.first.id), .conflict)
        #expect(ports.accounts.current.grants[grant.id]?.providerKeys.all == [second])
    }

    private static func refuses(_ ports: Ports, _ change: AccountChange, _ code: StoreError.Code) async {
        await #expect { _ = try await ports.accounts.apply(change) } throws: { ($0 as? StoreError)?.code == code }
    }

    @Sendable
    private static func endedKeyIsNeverUsedAgain(_ ports: Ports) async throws {
        let grant = try await grant(ports)
        _ = try await ports.accounts.apply(.addGrantKey(grant.id, try key("SECOND")))
        _ = try await ports.accounts.apply(.endGrantKey(grant.id, grant.key))
        let again = GrantProviderKey(id: try keyID("AGAIN"), publicKey: grant.publicKey, made: Samples.later)
        await refuses(ports, .addGrantKey(grant.id, again), .exists)
        #expect(ports.accounts.current.revokedKeys.contains(grant.publicKey))
    }

    @Sendable
    private static func revokesBothKeys(_ ports: Ports) async throws {
        let (grant, second) = (try await grant(ports), try key("SECOND"))
        _ = try await ports.accounts.apply(.addGrantKey(grant.id, second))
        let accounts = try await ports.accounts.apply(.revokeGrant(grant.id, at: Samples.later))
        #expect(accounts.grants[grant.id]?.revoked == Samples.later)
        #expect(accounts.revokedKeys.isSuperset(of: [grant.publicKey, second.publicKey]))
        await refuses(ports, .endGrantKey(grant.id, second.id), .conflict)
    }

    @Sendable
    private static func removesRevokedGrants(_ ports: Ports) async throws {
        let grant = try await grant(ports)
        let other = try await newGrant(ports, "two")
        await refuses(ports, .createGrant(other, limit: 1), .conflict)
        _ = try await ports.accounts.apply(.revokeGrant(grant.id, at: Samples.later))
        _ = try await ports.accounts.apply(.createGrant(other, limit: 1))
        let counts = [GrantCount(grant: grant.id, sent: 1, answers: ["200": 1])]
        _ = try await ports.grants.add(counts, on: 100)
        let accounts = try await ports.accounts.apply(.removeRevokedGrants([grant.id, other.id]))
        #expect(accounts.grants == [other.id: other] && accounts.grant(withKey: grant.key) == nil)
        #expect(accounts.revokedKeys.contains(grant.publicKey))
        #expect(try await ports.grants.answers(of: grant.id) == [:])
        #expect(try await ports.grants.sent(on: 100, of: grant.id) == [:])
    }

    @Sendable
    private static func keepsOtherGrants(_ ports: Ports) async throws {
        let grant = try await grant(ports)
        let before = ports.accounts.current
        let after = try await ports.accounts.apply(.removeRevokedGrants([grant.id]))
        #expect(after.grants == before.grants && after.version == before.version)
    }
}
